//! The page of one template: its machines, what it asks for, and the way to deploy it (`deploy`).
use super::{
    about::about_facts,
    catalog::{LIST, ON, seen_here},
    deploy, item, lease,
    sizes::{cpu_words, disk_words, memory_words, unless_unknown},
    vm_media,
};
use crate::{
    code,
    parts::*,
    portal::{Place, Routes, Sheet, Visit},
    shell::Crumb,
};
use domain::catalog;
use leptos::prelude::*;
use model::{
    Action, Error, Kind, Result, can,
    template::{ItemKind, Template},
};

pub fn routes(r: Routes) -> Routes {
    r.both("/templates/{id}", page).both_form("/templates/{id}/deploy", deploy::page, deploy::act).both_look(
        "/templates/{id}/deploy/preview",
        deploy::previewed,
        deploy::preview,
    )
}

pub(super) fn href(visit: &Visit, t: &Template, rest: &str) -> String {
    visit.at(format!("/templates/{}{rest}", t.id))
}

pub(super) fn crumbs(visit: &Visit, t: &Template) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::new(t.catalog_name.clone(), visit.at(format!("{LIST}/{}", t.catalog)))]
}

/// The template of the address, if its catalog can be seen here.
pub(super) async fn find(visit: &Visit) -> Result<Template> {
    let t = catalog::template(visit.domain(), &visit.actor, visit.id()).await?;
    let c = catalog::get(visit.domain(), &visit.actor, t.catalog).await.map_err(|e| match e {
        Error::NotFound(_) => Error::NotFound(Kind::Template),
        other => other,
    })?;
    seen_here(visit, &c, Kind::Template)?;
    Ok(t)
}

/// The same to change it: what is shared here stays as it is.
pub(super) async fn find_to(visit: &Visit, action: Action) -> Result<Template> {
    let t = visit.domain().store.template(&visit.actor, action, visit.id()).await?.into_inner();
    visit.within(t.org, Kind::Template)?;
    Ok(t)
}

pub(super) fn state(visit: &Visit, t: &Template) -> AnyView {
    // a silent hub keeps what it said last
    let usable = !t.deprecated && t.obstacle.is_empty();
    if let Some(at) = t.as_of.filter(|_| usable) {
        let more = format!("as of {} ago", span(visit.now - at));
        view! { <Badge shape=Shape::Stale word="Available" more /> }.into_any()
    } else if t.vanished() {
        view! { <Badge shape=Shape::Missing tone=Tone::Warn word="Vanished" more="gone from its hubs" plate=true /> }
            .into_any()
    } else if t.deprecated {
        view! { <Badge shape=Shape::Clock tone=Tone::Warn word="Deprecated" more="its hub says so" plate=true /> }
            .into_any()
    } else if !t.obstacle.is_empty() {
        view! { <Badge shape=Shape::Missing tone=Tone::Warn word="Not deployable" more="its page says why" plate=true /> }
            .into_any()
    } else if t.expired {
        view! { <Badge shape=Shape::Clock tone=Tone::Warn word="Expired" more="its lease has ended" plate=true /> }
            .into_any()
    } else if t.blank() {
        view! { <Badge shape=Shape::Clock tone=Tone::Busy word="Empty" more="nothing is in it yet" /> }.into_any()
    } else {
        view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Available" /> }.into_any()
    }
}

async fn page(visit: Visit) -> Result<Sheet> {
    let t = find(&visit).await?;
    let media = t.kind == ItemKind::Media;
    let deploy = (super::vapp::may_create(&visit) && !media).then(|| match can::template(&t, Action::VappCreate) {
        Ok(()) => {
            let to = href(&visit, &t, "/deploy");
            view! { <a class="btn primary" href=to><Icon name=Icon::Plus />"Deploy"</a> }.into_any()
        }
        Err(_) => view! { <button type="button" class="btn" aria-disabled="true">"Deploy"</button> }.into_any(),
    });
    let (menu, history) = (item::menu(&visit, &t), item::history(&visit, &t).await?);
    let acts = view! { {menu} {deploy} };
    let vanished = can::template(&t, Action::VappCreate).err().filter(|_| !media).map(|why| {
        let text = format!(" {why} vApps made from it stay as they are.");
        view! { <Note tone=Tone::Warn><b>"It can't be deployed."</b> {text}</Note> }
    });
    let by = t.by_instance.then(|| {
        view! { <Note>"The hub makes its VMs as they are here; what it asks for stands below. Sizes can be changed later."</Note> }
    });
    let inserted = if media { vm_media::inserted_into(&visit, &t).await? } else { ().into_any() };
    let lease = lease::template_facts(&visit, &t).await?;
    let sub = format!("{} in {}", t.kind.key(), t.catalog_name);
    let sub = if t.title.is_empty() { sub } else { format!("{}, {sub}", t.title) };
    let body = view! {
        <PageHead
            title=t.name.clone()
            sub=sub
            lede=t.description.clone()
            icon=t.icon.clone()
            acts=acts.into_any()
            says=state(&visit, &t)
        />
        {vanished}
        {by}
        {(!media && !t.blank()).then(|| machines(&t))}
        {parameters(&t)}
        {inserted}
        {history}
    }
    .into_any();
    let mut crumbs = crumbs(&visit, &t);
    crumbs.push(Crumb::here(t.name.clone()));
    let code = code::item::thing(&visit.site(), &t, visit.actor.provider || visit.actor.org == t.org);
    Ok(Sheet::new(t.name.clone(), ON, crumbs, body).margin(margin(&visit, &t, lease)).code(code))
}

fn machines(t: &Template) -> impl IntoView + use<> {
    let mut heads = vec![Head::new("Name"), Head::new("Guest")];
    heads.extend(["CPU", "Memory", "Disk"].map(|label| Head::new(label).number()));
    let rows = t.vms.iter().map(|m| {
        let os = if m.os.is_empty() { t.os.clone() } else { m.os.clone() };
        let kind = Some(m.instance_type.as_str()).filter(|k| !k.is_empty());
        let what = kind.into_iter().chain(m.hardware.words()).collect::<Vec<_>>().join(", ");
        let said = |n: i64| (n != 0).then_some(n);
        let (cpus, memory) =
            (unless_unknown(said(m.cpus.into()), cpu_words), unless_unknown(said(m.memory_mb), memory_words));
        let sized = m.disks.iter().all(|d| d.size_mb != 0);
        let disk = if sized { disk_words(&m.disks) } else { "unknown".to_owned() };
        let cells = view! {
            <NameCell name=m.name.clone() why=what />
            <Cell label="Guest">{os}</Cell>
            <Cell label="CPU" number=true>{cpus}</Cell>
            <Cell label="Memory" number=true>{memory}</Cell>
            <Cell label="Disk" number=true>{disk}</Cell>
        };
        view! { <Row id=format!("machine-{}", m.name)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let table = view! { <Table caption="VMs of this template" heads>{rows}</Table> };
    view! { <Section title="VMs" sub=plural(t.vms.len() as u64, "VM", "VMs")>{table}</Section> }
}

fn parameters(t: &Template) -> Option<AnyView> {
    let heads = ["Parameter", "What it is", "If nothing is given"].map(Head::new).to_vec();
    let rows = t.parameters.iter().map(|p| {
        let name = if p.label.is_empty() { p.name.clone() } else { p.label.clone() };
        let what = p.description.clone();
        let otherwise = match p.value.as_str() {
            _ if p.generated => "made up".to_owned(),
            "" if p.needed() => "it is needed".to_owned(),
            "" if p.size => "the size is asked for".to_owned(),
            "" => "nothing".to_owned(),
            _ if p.secret => "the template's own, not shown".to_owned(),
            value => value.to_owned(),
        };
        let cells = view! {
            <NameCell name />
            <Cell label="What it is" wraps=true>{what}</Cell>
            <Cell label="If nothing is given" wraps=true>{otherwise}</Cell>
        };
        view! { <Row id=format!("parameter-{}", p.name)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    (!t.parameters.is_empty()).then(|| {
        let table = view! { <Table caption="What it asks for" heads top=true>{rows}</Table> };
        view! { <Section title="Parameters">{table}</Section> }.into_any()
    })
}

fn margin(visit: &Visit, t: &Template, lease: Option<AnyView>) -> AnyView {
    let catalog = super::vm::linked(t.catalog_name.clone(), Some(visit.at(format!("{LIST}/{}", t.catalog))));
    let uploaded = (!t.uploaded_by.is_empty()).then(|| {
        let by = t.uploaded_by.clone();
        view! { <Fact name="Uploaded by">{by}</Fact> }
    });
    let of_provider = (visit.place == Place::Provider && !t.source.is_empty()).then(|| {
        let hubs = listed(t.hubs.iter().map(ToString::to_string).collect()).unwrap_or_else(|| "none".into());
        let source = t.source.clone();
        view! {
            <Fact name="Hubs">{hubs}</Fact>
            <Fact name="There it is"><Copy value=source what="source" /></Fact>
        }
    });
    let own = visit.org().is_none_or(|here| here == t.org);
    let facts = view! {
        <Fact name="Catalog">{catalog}</Fact>
        {uploaded}
        {lease}
        {of_provider}
        {own.then(|| super::metadata::fact(visit, &format!("/templates/{}", t.id)))}
        {about_facts(visit, (t.created_at, t.updated_at, ""), t.id.urn())}
    };
    view! { <Section title="About"><Facts>{facts}</Facts></Section> }.into_any()
}
