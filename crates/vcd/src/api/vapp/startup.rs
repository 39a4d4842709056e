//! In which order the machines of a vApp start, and what is done to each of them then and when it stops.
use super::{Shown, nothing};
use crate::{
    answer::Answer,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, link},
        media,
    },
};
use domain::{
    recompose::{self, Place},
    vapp,
};
use model::{
    Error, Kind, Result,
    vm::{StartAction, StopAction, Turn, Vm},
};
use std::fmt::Display;
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.get("/api/vApp/vapp-{id}/startupSection", get).put("/api/vApp/vapp-{id}/startupSection", set)
}

pub(crate) fn section(w: &mut Writer, ask: &Ask, shown: &Shown) {
    let href = format!("{}/startupSection/", ask.base().vapp(shown.vapp.id));
    let attributes: [(&str, &dyn Display); 2] = [("vcloud:href", &href), ("vcloud:type", &media::STARTUP)];
    w.el("ovf:StartupSection", &attributes, |w| content(w, &href, &shown.vms));
}

fn content(w: &mut Writer, href: &str, vms: &[Vm]) {
    w.text("ovf:Info", "VApp startup section");
    for vm in vms {
        let turn = &vm.besides.turn;
        w.empty(
            "ovf:Item",
            &[
                ("ovf:id", &vm.name),
                ("ovf:order", &vm.start_order),
                ("ovf:startAction", &start_word(turn.start)),
                ("ovf:startDelay", &vm.start_delay_s),
                ("ovf:stopAction", &stop_word(turn.stop)),
                ("ovf:stopDelay", &turn.stop_delay_s),
            ],
        );
    }
    link(w, "edit", href, media::STARTUP);
}

fn start_word(action: StartAction) -> &'static str {
    match action {
        StartAction::PowerOn => "powerOn",
        StartAction::Nothing => "none",
    }
}

fn stop_word(action: StopAction) -> &'static str {
    match action {
        StopAction::PowerOff => "powerOff",
        StopAction::Shutdown => "guestShutdown",
        StopAction::Suspend => "suspend",
    }
}

/// What is done to a machine with its vApp; what is left out stays.
fn turn(item: &Element, now: Turn) -> Result<Turn> {
    let no = |what: &str, word: &str, known: &str| {
        Error::BadRequest(format!("“{}” is no {what}: {known}.", crate::ask::shown(word)))
    };
    let start = match item.attr("startAction") {
        None => now.start,
        Some("powerOn") => StartAction::PowerOn,
        Some("none") => StartAction::Nothing,
        Some(other) => return Err(no("startAction", other, "powerOn or none")),
    };
    let stop = match item.attr("stopAction") {
        None => now.stop,
        Some("powerOff") => StopAction::PowerOff,
        Some("guestShutdown" | "shutdown") => StopAction::Shutdown,
        Some("suspend") => StopAction::Suspend,
        Some(other) => return Err(no("stopAction", other, "powerOff, guestShutdown or suspend")),
    };
    Ok(Turn { start, stop, stop_delay_s: item.number("stopDelay")?.unwrap_or(now.stop_delay_s) })
}

async fn get(ask: Ask) -> Result<Answer> {
    let (v, vms) = vapp::with_vms(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    let href = format!("{}/startupSection/", ask.base().vapp(v.id));
    let text = document("ovf:StartupSection", &[("vcloud:href", &href), ("vcloud:type", &media::STARTUP)], |w| {
        content(w, &href, &vms);
    });
    Ok(Answer::xml(media::STARTUP, text))
}

async fn set(ask: Ask) -> Result<Answer> {
    let body = ask.xml("StartupSection")?;
    let (v, vms) = vapp::with_vms(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    let one = |item: &Element| -> Result<Place> {
        let name = item.attr("id").unwrap_or_default();
        let vm = vms.iter().find(|vm| vm.name == name && !vm.deleted);
        let vm =
            vm.ok_or_else(|| Error::BadRequest(format!("There is no VM {} in the vApp.", crate::ask::shown(name))))?;
        Ok(Place {
            vm: vm.id,
            order: item.number("order")?.unwrap_or(vm.start_order),
            delay_s: item.number("startDelay")?.unwrap_or(vm.start_delay_s),
            turn: Some(turn(item, vm.besides.turn)?),
        })
    };
    let order = body.all("Item").map(one).collect::<Result<Vec<_>>>()?;
    let changed = |to: &Place| {
        let now = vms.iter().find(|vm| vm.id == to.vm);
        now.is_some_and(|vm| {
            (vm.start_order, vm.start_delay_s, Some(vm.besides.turn)) != (to.order, to.delay_s, to.turn)
        })
    };
    if order.iter().any(changed) {
        recompose::set_start_order(ask.d(), &ask.actor, v.id, order).await?;
    }
    nothing(&ask, &v).await
}
