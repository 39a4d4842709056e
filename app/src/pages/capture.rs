//! The form that makes a template of a vApp.
use super::{
    form_error::form_error,
    vapp::{LIST, ON, href},
    vm_form::name_fields,
};
use crate::{
    code,
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::{catalog, item};
use leptos::prelude::*;
use model::{
    Action, CatalogId, Error, Kind, Result, can,
    catalog::Catalog,
    list::{CATALOGS, ListQuery},
    upload::UploadSpec,
    vapp::Vapp,
};

const LABELS: &[(&str, &str)] = &[("name", "Name"), ("description", "Description"), ("catalog", "Catalog")];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vapps/{id}/capture", page, act)
}

async fn find(visit: &Visit) -> Result<Vapp> {
    let v = visit.domain().store.vapp(&visit.actor, Action::VappCapture, visit.id()).await?.into_inner();
    visit.within(v.org, Kind::Vapp)?;
    Ok(v)
}

/// Catalogs of the vApp's organization that the visitor may add to.
async fn catalogs(visit: &Visit, v: &Vapp) -> Result<Vec<Catalog>> {
    let all = catalog::list(visit.domain(), &visit.actor, Some(v.org), &ListQuery::first(&CATALOGS)).await?.items;
    let fits = |c: &Catalog| {
        c.org == v.org
            && !c.from_hubs
            && visit.actor.may(Action::CatalogAdd, c.resource(&visit.actor, Action::CatalogAdd))
    };
    Ok(all.into_iter().filter(fits).collect())
}

async fn page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit).await?;
    let fill = visit.fill();
    let catalogs = catalogs(&visit, &v).await?;
    let back = || view! { <a class="btn" href=href(&visit, v.id, "")>"Back"</a> }.into_any();
    let form = match can::vapp(&v, Action::VappCapture) {
        Err(why) if !fill.returned() => {
            let text = format!("Not now: {why}");
            view! { <Note tone=Tone::Warn acts=back()>{text}</Note> }.into_any()
        }
        _ if catalogs.is_empty() => {
            let text = "The organization has no catalog of its own to put it into. Make one first.";
            view! { <Note tone=Tone::Warn acts=back()>{text}</Note> }.into_any()
        }
        _ => {
            let names = name_fields(&fill, &v.name, &v.description, "Unique in its catalog.");
            let choices: Vec<_> = catalogs.iter().map(|c| Choice::new(c.id.to_string(), c.name.clone())).collect();
            let (value, error) = (fill.value("catalog", catalogs[0].id.to_string()), fill.error("catalog"));
            let fields = view! {
                {names}
                <SelectField name="catalog" label="Catalog" choices value error width=Width::Half />
            };
            view! {
                <form method="post" class="form" novalidate>
                    {form_error(&fill, LABELS)}
                    <FormSection title="Template">{fields}</FormSection>
                    <FormEnd submit="Capture" cancel_href=href(&visit, v.id, "") />
                </form>
            }
            .into_any()
        }
    };
    let body = view! {
        <PageHead
            title=format!("Capture {}", v.name)
            lede="Its disks are copied on its hub, the only one where the template can be deployed. Keep it off until that is done."
        />
        {form}
    }
    .into_any();
    let crumbs = vec![
        Crumb::new(ON, visit.at(LIST)),
        Crumb::new(v.name.clone(), href(&visit, v.id, "")),
        Crumb::here("Capture"),
    ];
    let chosen = fill.value("catalog", "");
    let into = catalogs.iter().find(|c| c.id.to_string() == chosen).or(catalogs.first());
    let (name, text) = (fill.value("name", &v.name), fill.value("description", &v.description));
    let code = into.map(|c| code::item::capture(&visit.site(), &v, c, &name, &text));
    Ok(Sheet::new(format!("Capture {}", v.name), ON, crumbs, body).still().code(code))
}

async fn act(visit: Visit, values: Values) -> Result<Done> {
    let d = visit.domain();
    let v = d.attempt(&visit.actor, Action::VappCapture, find(&visit)).await?;
    let catalog: CatalogId = values.get("catalog").parse().map_err(|_| Error::field("catalog", "Choose a catalog."))?;
    let spec =
        UploadSpec { name: values.text("name"), description: values.text("description"), ..UploadSpec::default() };
    let name = spec.name.trim().to_owned();
    let template = item::capture(d, &visit.actor, v.id, catalog, spec).await?;
    Ok(Done::new(
        visit.at(format!("/templates/{template}")),
        format!("{name} is asked for: its disks are being copied."),
    ))
}
