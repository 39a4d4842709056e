//! A VDC's sizes: the section on its page, and for the provider the form with the policies it may use.
use super::{
    form_error::form_error,
    vdc::{ON, crumbs_below, find, find_to, href},
};
use crate::{
    parts::*,
    portal::{Done, Place, Routes, Sheet, Values, Visit},
};
use domain::sizing;
use leptos::prelude::*;
use model::{Action, Error, Result, SizingId, sizing::size_words, vdc::Vdc};

const LABELS: &[(&str, &str)] = &[("sizes", "Policies"), ("default_size", "Default")];

pub(super) fn routes(r: Routes) -> Routes {
    r.form("/provider/vdcs/{id}/sizing", edit_page, edit)
}

pub(super) async fn section(visit: &Visit, v: &Vdc) -> Result<AnyView> {
    let all = sizing::choices(visit.domain(), &[v.id]).await?;
    let changes = visit.place == Place::Provider && visit.may(Action::VdcSizing);
    if all.is_empty() && !changes {
        return Ok(().into_any());
    }
    let acts = changes.then(|| view! { <a href=href(visit, v.id, "/sizing")>"Change"</a> }).into_any();
    let rows = all.iter().map(|p| {
        let (size, vms) = (size_words(p.cpus, p.memory_mb), num(p.vms.unsigned_abs()));
        let why = if p.is_default { "offered first".to_owned() } else { p.description.clone() };
        let cells = view! {
            <NameCell name=p.name.clone() why />
            <Cell label="Size">{size}</Cell>
            <Cell label="VMs" number=true>{vms}</Cell>
        };
        view! { <Row id=format!("sizing-{}", p.id)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let inside = match all.is_empty() {
        true => view! { <p class="muted">"None: VMs are sized by CPU and memory."</p> }.into_any(),
        false => {
            let heads = vec![Head::new("Sizing policy"), Head::new("Size"), Head::new("VMs").number()];
            view! { <Table caption="Sizing policies" heads>{rows}</Table> }.into_any()
        }
    };
    Ok(view! { <Section title="Sizes" sub="what its VMs may be chosen to have" acts>{inside}</Section> }.into_any())
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VdcSizing).await?;
    let now = sizing::choices(visit.domain(), &[v.id]).await?;
    let all = sizing::names(visit.domain(), &visit.actor).await?;
    let fill = visit.fill();
    let known = |id: SizingId| now.iter().find(|p| p.id == id);
    let is_ticked = |id: SizingId| fill.checked("sizes", &id.to_string(), known(id).is_some());
    let ticked = all.iter().filter(|(id, _)| is_ticked(*id)).map(|(id, _)| id.to_string()).collect();
    let used =
        |n: i64| if n == 0 { String::new() } else { format!("{} have it", plural(n.unsigned_abs(), "VM", "VMs")) };
    let choices: Vec<Choice> = all
        .iter()
        .map(|(id, name)| {
            Choice::new(id.to_string(), name.clone()).more(known(*id).map(|p| used(p.vms)).unwrap_or_default())
        })
        .collect();
    let default = now.iter().find(|p| p.is_default).map(|p| p.id.to_string()).unwrap_or_default();
    let value = fill.value("default_size", default);
    let mut defaults = vec![Choice::new("", "None")];
    defaults.extend(all.iter().map(|(id, name)| Choice::new(id.to_string(), name.clone())));
    let (wrong, wrong_default) = (fill.error("sizes"), fill.error("default_size"));
    let title = format!("Sizes of {}", v.name);
    let form = match all.is_empty() {
        true => {
            let acts = visit
                .may(Action::SizingCreate)
                .then(|| view! { <a class="btn primary" href="/provider/sizing/new">"New policy"</a> })
                .into_any();
            view! { <Empty title="No sizing policies yet" acts>"Make one first."</Empty> }.into_any()
        }
        false => {
            let fields = view! {
                <ChecksField name="sizes" label="Policies" choices ticked error=wrong hint="" />
                <SelectField
                    name="default_size"
                    label="Default"
                    choices=defaults
                    value
                    error=wrong_default
                    hint="Offered first where a VM is added."
                    width=Width::Half
                />
            };
            view! {
                <form method="post" class="form" novalidate>
                    {form_error(&fill, LABELS)}
                    <FormSection title="What it may use">{fields}</FormSection>
                    <FormEnd submit="Save" cancel_href=href(&visit, v.id, "") />
                </form>
            }
            .into_any()
        }
    };
    let body = view! { <PageHead title=title.clone() /> {form} }.into_any();
    Ok(Sheet::new(title, ON, crumbs_below(&visit, &v, "Sizes"), body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VdcSizing).await?;
    let read = |word: &str, field| word.parse().map_err(|_| Error::field(field, "Choose from those that are listed."));
    let wanted = values.all("sizes").map(|word| read(word, "sizes")).collect::<Result<Vec<SizingId>>>()?;
    let default = match values.get("default_size") {
        "" => None,
        word => Some(read(word, "default_size")?),
    };
    sizing::set_for_vdc(visit.domain(), &visit.actor, v.id, wanted, default).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The sizes of {} are saved.", v.name)))
}
