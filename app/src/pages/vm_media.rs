//! The discs of a VM: the section on its page, and the form to insert one.
use super::{
    form_error::form_error,
    upload::bytes_words,
    vm::{ON, crumbs_below, find, find_to, href, linked, may, not_now},
    vm_disks::{disk_badge, refused},
};
use crate::{
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit},
};
use domain::media;
use leptos::prelude::*;
use model::{
    Action, Error, Result, TemplateId, can,
    template::Template,
    vm::{Disk, Vm},
};

const LABELS: &[(&str, &str)] = &[("media", "Media")];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vms/{id}/media/insert", insert_page, insert).both_act("/vms/{id}/media/eject", eject)
}

pub(super) fn section(visit: &Visit, v: &Vm) -> AnyView {
    let acts = may(visit, v, Action::VmMediaInsert).then(|| match can::vm(v, Action::VmMediaInsert) {
        Ok(()) => view! { <a href=href(visit, v.id, "/media/insert")>"Insert"</a> }.into_any(),
        Err(why) => not_now(v, "None can be inserted now:", &why),
    });
    let acts = acts.into_any();
    if v.discs().next().is_none() {
        return view! { <Section title="Media" acts><p>"There is no disc in it."</p></Section> }.into_any();
    }
    let heads = vec![
        Head::new("Name"),
        Head::new("State"),
        Head::new("Drive"),
        Head::new("Size").number(),
        Head::hidden("Actions"),
    ];
    let rows = v.discs().map(|d| row(visit, v, d)).collect_view();
    let table = view! { <Table caption="Media" heads>{rows}</Table> };
    view! { <Section title="Media" acts>{table}</Section> }.into_any()
}

fn state(d: &Disk) -> AnyView {
    match d.waits && !d.leaving {
        true => view! { <Badge shape=Shape::Next tone=Tone::Busy word="At next start" /> }.into_any(),
        false => disk_badge(d),
    }
}

fn row(visit: &Visit, v: &Vm, d: &Disk) -> impl IntoView + use<> {
    let (state, drive, size) = (state(d), d.name.clone(), bytes_words(d.size_mb << 20));
    let to = d.media.filter(|_| visit.may(Action::TemplateView)).map(|id| visit.at(format!("/templates/{id}")));
    let ejects = may(visit, v, Action::VmMediaEject) && !d.leaving;
    let eject = d.media.filter(|_| ejects).map(|id| {
        let label = format!("Eject {}", d.media_name);
        match can::vm(v, Action::VmMediaEject) {
            Ok(()) => view! {
                <form method="post" action=href(visit, v.id, "/media/eject")>
                    <HiddenFields fields=vec![("media", id.to_string())] />
                    <button class="btn small" aria-label=label>"Eject"</button>
                </form>
            }
            .into_any(),
            Err(why) => {
                let (label, title) = (format!("{label}. Not now: {why}"), format!("Not now: {why}"));
                view! {
                    <button type="button" class="btn small" aria-disabled="true" aria-label=label title=title>"Eject"</button>
                }
                .into_any()
            }
        }
    });
    let cells = view! {
        <NameCell name=d.media_name.clone() href=to.unwrap_or_default() />
        <StateCell>{state}</StateCell>
        <Cell label="Drive">{drive}</Cell>
        <Cell label="Size" number=true>{size}</Cell>
        <RowActs>{eject}</RowActs>
    };
    view! { <Row id=format!("disc-{}", d.name)>{cells}</Row> }
}

async fn insert_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmMediaInsert).await?;
    let mut all = match visit.may(Action::CatalogList) {
        true => media::choices(visit.domain(), &visit.actor, &v).await?,
        false => Vec::new(),
    };
    all.retain(|t| !v.discs().any(|d| d.media == Some(t.id) && !d.leaving));
    let fill = visit.fill();
    let form = if all.is_empty() {
        let text = "No catalog that you see has a disc that is not in it already. Upload an ISO image as media first.";
        view! { <Empty title="There is no disc to insert">{text}</Empty> }.into_any()
    } else {
        let choice = |t: &Template| Choice::new(t.id.to_string(), format!("{}, in {}", t.name, t.catalog_name));
        let choices = all.iter().map(choice).collect();
        let (value, error) = (fill.value("media", visit.ask.query("media")), fill.error("media"));
        let field = view! { <SelectField name="media" label="Media" choices value error width=Width::Half /> };
        let lede = "The VM gets a copy of its own, which counts as storage until it is ejected. A VM that runs has it from its next start on.";
        view! {
            <form method="post" class="form" novalidate>
                {form_error(&fill, LABELS)}
                <FormSection title="Disc" lede>{field}</FormSection>
                <FormEnd submit="Insert" cancel_href=href(&visit, v.id, "") />
            </form>
        }
        .into_any()
    };
    let body = view! {
        <PageHead title=format!("Insert media into {}", v.name) />
        {refused(&visit, &v, Action::VmMediaInsert)}
        {form}
    }
    .into_any();
    let crumbs = crumbs_below(&visit, &v, "Insert media");
    Ok(Sheet::new(format!("Insert media into {}", v.name), ON, crumbs, body).still())
}

fn named(values: &Values) -> Result<TemplateId> {
    values.get("media").parse().map_err(|_| Error::field("media", "Choose a disc."))
}

async fn insert(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmMediaInsert).await?;
    media::insert(visit.domain(), &visit.actor, v.id, named(&values)?).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The disc is being put into {}.", v.name)))
}

async fn eject(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmMediaEject).await?;
    media::eject(visit.domain(), &visit.actor, v.id, named(&values)?).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The disc is being taken out of {}.", v.name)))
}

/// On the page of a disc: the VMs that have it in them.
pub(super) async fn inserted_into(visit: &Visit, t: &Template) -> Result<AnyView> {
    let vms = match visit.may(Action::VappList) {
        true => media::inserted_into(visit.domain(), &visit.actor, visit.org(), t.id).await?,
        false => Vec::new(),
    };
    let others = t.used_by.len().saturating_sub(vms.len()) as u64;
    if vms.is_empty() && others == 0 {
        return Ok(view! { <Section title="Inserted into"><p>"It is in no VM."</p></Section> }.into_any());
    }
    let rows = vms.iter().map(|v| {
        let (disc, vapp) = (v.discs().find(|d| d.media == Some(t.id)).map(state), v.vapp_name.clone());
        let vapp = linked(vapp, Some(visit.at(format!("/vapps/{}", v.vapp))));
        let cells = view! {
            <NameCell name=v.name.clone() href=href(visit, v.id, "") />
            <StateCell>{disc}</StateCell>
            <Cell label="vApp" wraps=true>{vapp}</Cell>
        };
        view! { <Row id=format!("vm-{}", v.id)>{cells}</Row> }
    });
    let (rows, heads) = (rows.collect_view(), ["VM", "State", "vApp"].map(Head::new).to_vec());
    let table = (!vms.is_empty()).then(|| view! { <Table caption="VMs that have it" heads>{rows}</Table> });
    let more = (others > 0).then(|| {
        let text = format!("It is in {} that you do not see.", plural(others, "VM", "VMs"));
        view! { <p>{text}</p> }
    });
    Ok(view! { <Section title="Inserted into">{table} {more}</Section> }.into_any())
}
