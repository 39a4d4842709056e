//! What a simulated hub can be told to do wrong: faults to switch, and what somebody does to its VMs by hand.
use super::hub::{href, id};
use crate::{
    parts::*,
    portal::{Done, Values, Visit},
};
use domain::simulator::{self, Deed, Fault, FaultOf};
use leptos::prelude::*;
use model::{Action, Result, hub::Hub};

/// Nothing for a real hub.
pub(super) fn fault_section(visit: &Visit, h: &Hub) -> Option<impl IntoView + use<>> {
    let faults = simulator::faults(visit.domain(), &h.id)?;
    let may = visit.may(Action::HubFault);
    let lines = |of| faults.iter().filter(|f| f.of == of).map(|f| line(h, f, may)).collect_view();
    let (answers, machines) = (lines(FaultOf::Answers), lines(FaultOf::Machines));
    let answers = view! { <div id="faults"><Todos>{answers}</Todos></div> };
    let machines = view! { <Todos>{machines}</Todos> };
    let hands = may.then(|| hands(h, &simulator::deeds(visit.domain(), &h.id)));
    Some(view! {
        <Section title="Faults" sub="this hub is simulated, and can be told to misbehave">{answers}</Section>
        <Section title="Trouble with VMs" sub="for all VMs on this hub">{machines}</Section>
        {hands}
    })
}

fn line(h: &Hub, f: &Fault, may: bool) -> impl IntoView + use<> {
    let (shape, tone) = if f.on { (Shape::Disc, Tone::Bad) } else { (Shape::Ring, Tone::Plain) };
    let mark = view! { <Shape name=shape tone /> }.into_any();
    let title = format!("{}: {}", f.about, if f.on { "on" } else { "off" }).into_any();
    let label = if f.on { "Switch off" } else { "Switch on" };
    let fields = vec![("fault", f.name.clone()), ("on", (!f.on).to_string())];
    let action = href(&h.id, "/faults");
    let acts = may.then(|| {
        view! { <PostButton label=format!("{label} {}", f.name) action class="btn small" fields /> }.into_any()
    });
    view! { <Todo mark title text=f.name.clone() acts /> }
}

fn hands(h: &Hub, deeds: &[Deed]) -> impl IntoView + use<> {
    let action = href(&h.id, "/by-hand");
    let buttons = deeds
        .iter()
        .map(|deed| view! { <button class="btn" name="deed" value=deed.name.clone()>{deed.about.clone()}</button> })
        .collect_view();
    let form = view! {
        <form class="form" id="by-hand" method="post" action=action>
            <TextField
                name="vm"
                label="VM"
                value=""
                hint="Its name here or on the hub. Empty: the first one there is."
                optional=true
                width=Width::Half
            />
            <div class="form-end acts">{buttons}</div>
        </form>
    };
    view! { <Section title="By hand" sub="what somebody with kubectl does past us, once">{form}</Section> }
}

pub(super) async fn set(visit: Visit, values: Values) -> Result<Done> {
    let (id, on) = (id(&visit), values.get("on") == "true");
    let fault = values.get("fault");
    simulator::set_fault(visit.domain(), &visit.actor, &id, fault, on).await?;
    let state = if on { "on" } else { "off" };
    Ok(Done::new(href(&id, "#faults"), format!("Fault {fault} of {id} is {state}.")))
}

pub(super) async fn by_hand(visit: Visit, values: Values) -> Result<Done> {
    let (id, deed) = (id(&visit), values.get("deed"));
    let vm = simulator::by_hand(visit.domain(), &visit.actor, &id, deed, values.get("vm").trim()).await?;
    let done = if deed == "delete-vm" { "deleted" } else { "edited" };
    Ok(Done::new(href(&id, "#by-hand"), format!("VM {vm} was {done} on {id} by hand.")))
}
