//! What people uploaded: the history of an item on its page, and the pages before it or a version is deleted.
use super::{catalog::ON, template, upload};
use crate::{
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::item;
use leptos::prelude::*;
use model::{
    Action, Result, can,
    template::{Template, Version},
    upload::UploadState,
};

pub fn routes(r: Routes) -> Routes {
    r.both_form("/templates/{id}/delete", delete_page, delete).both_form(
        "/templates/{id}/versions/delete",
        version_page,
        delete_version,
    )
}

fn may(visit: &Visit, t: &Template, action: Action) -> bool {
    visit.org().is_none_or(|here| here == t.org) && visit.actor.may(action, t.resource(&visit.actor, action))
}

/// Upload and delete, for who may.
pub(super) fn menu(visit: &Visit, t: &Template) -> AnyView {
    if !t.source.is_empty() {
        return ().into_any();
    }
    let upload = may(visit, t, Action::TemplateUpload)
        .then(|| view! { <MenuItem icon=Icon::Plus title="Upload a new version…" href=template::href(visit, t, "/upload") /> });
    let delete = may(visit, t, Action::TemplateDelete).then(
        || view! { <MenuItem icon=Icon::Trash title="Delete…" href=template::href(visit, t, "/delete") danger=true /> },
    );
    if upload.is_none() && delete.is_none() {
        return ().into_any();
    }
    view! { <Menu label="Actions">{upload} {delete}</Menu> }.into_any()
}

/// Its versions, and what is on its way.
pub(super) async fn history(visit: &Visit, t: &Template) -> Result<AnyView> {
    if !t.source.is_empty() {
        return Ok(().into_any());
    }
    let versions = item::versions(visit.domain(), &visit.actor, t.id).await?;
    let under_way = match may(visit, t, Action::TemplateUpload) {
        true => item::uploads(visit.domain(), &visit.actor, t.id).await?,
        false => Vec::new(),
    };
    let notes = under_way.iter().take(3).filter(|u| u.state != UploadState::Cancelled).map(|u| {
        let (to, badge) = (upload::href(visit, u.id, ""), upload::state(u));
        let tone = if u.state == UploadState::Failed { Tone::Bad } else { Tone::Busy };
        let text = if u.problem.is_empty() { String::new() } else { format!(" {}", u.problem) };
        view! { <Note tone>{badge} {text} " " <a href=to>"See the upload"</a></Note> }
    });
    let notes = notes.collect_view();
    let deletes = may(visit, t, Action::VersionDelete);
    let heads = vec![
        Head::new("Version"),
        Head::new("What is new"),
        Head::new("Size").number(),
        Head::new("On hubs"),
        Head::new("Uploaded").number(),
        Head::hidden("Actions"),
    ];
    let newest = versions.first().map(|v| v.number);
    let rows = versions.iter().map(|v| row(visit, t, v, newest == Some(v.number), deletes)).collect_view();
    let table = match versions.is_empty() {
        true => view! { <Empty title="No version yet">"It has one as soon as an upload has ended."</Empty> }.into_any(),
        false => view! { <Table caption="Versions" heads>{rows}</Table> }.into_any(),
    };
    let sub = plural(versions.len() as u64, "version", "versions");
    Ok(view! { {notes} <Section title="Versions" sub>{table}</Section> }.into_any())
}

fn row(visit: &Visit, t: &Template, v: &Version, newest: bool, deletes: bool) -> impl IntoView + use<> {
    let name = if newest { format!("{} · newest", v.number) } else { v.number.to_string() };
    let (note, size, at, by, now) =
        (v.note.clone(), upload::bytes_words(v.size), v.created_at, v.created_by.clone(), visit.now);
    let note = if note.is_empty() { "–".to_owned() } else { note };
    // a single image needs no name
    let sums = v.sums.iter().map(|(name, sum)| match v.sums.len() {
        1 => format!("SHA-256 {sum}"),
        _ => format!("{name}: SHA-256 {sum}"),
    });
    let sums = sums.map(|line| view! { <span class="sum">{line}</span> }).collect_view();
    let hubs = match v.hubs.len() as u64 {
        0 => "none yet".to_owned(),
        n => plural(n, "hub", "hubs"),
    };
    let deploy = (!newest && !v.vms.is_empty() && super::vapp::may_create(visit)).then(|| {
        let to = template::href(visit, t, &format!("/deploy?version={}", v.number));
        let label = format!("Deploy version {}", v.number);
        view! { <a class="btn small" href=to aria-label=label>"Deploy"</a> }
    });
    let delete = deletes.then(|| {
        let to = template::href(visit, t, &format!("/versions/delete?number={}", v.number));
        let label = format!("Delete version {}", v.number);
        view! { <a class="btn small" href=to aria-label=label>"Delete…"</a> }
    });
    let cells = view! {
        <NameCell name why=by />
        <Cell label="What is new" wraps=true>{note} {sums}</Cell>
        <Cell label="Size" number=true>{size}</Cell>
        <Cell label="On hubs">{hubs}</Cell>
        <Cell label="Uploaded" number=true><Time at now /></Cell>
        <RowActs>{deploy} {delete}</RowActs>
    };
    view! { <Row id=format!("version-{}", v.number)>{cells}</Row> }
}

fn crumbs(visit: &Visit, t: &Template) -> Vec<Crumb> {
    let mut crumbs = template::crumbs(visit, t);
    crumbs.extend([Crumb::new(t.name.clone(), template::href(visit, t, "")), Crumb::here("Delete")]);
    crumbs
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let t = template::find_to(&visit, Action::TemplateDelete).await?;
    let refused = refused(&visit, &t, Action::TemplateDelete);
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec![
            "all its versions, and their files".to_owned(),
            "its copies on hubs; VMs made from it stay as they are".to_owned(),
        ],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete {}?", t.name)
            verb=format!("Delete {}", t.name)
            keep_href=template::href(&visit, &t, "")
            lost
            refused
        />
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", t.name), ON, crumbs(&visit, &t), body).still())
}

fn refused(visit: &Visit, t: &Template, action: Action) -> Option<String> {
    let failure = visit.fill().failure().map(ToString::to_string);
    failure.or_else(|| can::template(t, action).err().map(|why| format!("Not now: {why}")))
}

async fn delete(visit: Visit, _: Values) -> Result<Done> {
    let action = Action::TemplateDelete;
    let t = visit.domain().attempt(&visit.actor, action, template::find_to(&visit, action)).await?;
    item::delete(visit.domain(), &visit.actor, t.id).await?;
    Ok(Done::new(visit.at(format!("/catalogs/{}", t.catalog)), format!("{} is deleted.", t.name)))
}

/// Which version: from the address, or from the form. What is no number is no version.
fn number(visit: &Visit, values: Option<&Values>) -> i32 {
    let given = values.map(|v| v.get("number")).filter(|n| !n.is_empty()).unwrap_or(visit.ask.query("number"));
    given.parse().unwrap_or(0)
}

async fn version_page(visit: Visit) -> Result<Sheet> {
    let t = template::find_to(&visit, Action::VersionDelete).await?;
    let n = number(&visit, None);
    let versions = item::versions(visit.domain(), &visit.actor, t.id).await?;
    let gone = (!versions.iter().any(|v| v.number == n)).then(|| format!("Not now: there is no version {n} of it."));
    let used = versions.iter().find(|v| v.number == n).and_then(|v| can::version(v, Action::VersionDelete).err());
    let used = used.map(|why| format!("Not now: {why}"));
    let refused = refused(&visit, &t, Action::VersionDelete).or(gone).or(used);
    let lost = match (&refused, versions.len()) {
        (Some(_), _) => Vec::new(),
        (None, 1) => vec!["the only version there is: nothing can be deployed until another is uploaded".to_owned()],
        (None, _) => vec!["its file, and its copies on hubs; VMs made from it stay as they are".to_owned()],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete version {n} of {}?", t.name)
            verb=format!("Delete version {n}")
            keep_href=template::href(&visit, &t, "")
            lost
            refused
        />
    }
    .into_any();
    Ok(Sheet::new(format!("Delete version {n}"), ON, crumbs(&visit, &t), body).still())
}

async fn delete_version(visit: Visit, values: Values) -> Result<Done> {
    let action = Action::VersionDelete;
    let t = visit.domain().attempt(&visit.actor, action, template::find_to(&visit, action)).await?;
    let n = number(&visit, Some(&values));
    item::delete_version(visit.domain(), &visit.actor, t.id, n).await?;
    Ok(Done::new(template::href(&visit, &t, ""), format!("Version {n} of {} is deleted.", t.name)))
}
