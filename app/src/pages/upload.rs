//! Uploads: the forms that begin one, and the page where the file is chosen and followed. With scripts it is sent in parts and
//! gone on with after anything; without, the browser sends it as one form.
use super::{
    catalog::{LIST, ON},
    form_error::form_error,
    template,
    vm_form::name_fields,
};
use crate::{
    code,
    islands::Sending,
    parts::*,
    portal::{Done, Fill, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::{catalog, upload};
use leptos::prelude::*;
use model::{
    Action, Kind, Result, UploadId, can,
    catalog::Catalog,
    template::ItemKind,
    upload::{Upload, UploadSpec, UploadState},
};

const LABELS: &[(&str, &str)] =
    &[("name", "Name"), ("description", "Description"), ("note", "Note"), ("sha256", "SHA-256"), ("file", "File")];

pub fn routes(r: Routes) -> Routes {
    r.both_form("/catalogs/{id}/upload", new_page, begin)
        .both_form("/templates/{id}/upload", version_page, begin_version)
        .both("/uploads/{id}", page)
        .both_form("/uploads/{id}/cancel", cancel_page, cancel)
}

pub(super) fn href(visit: &Visit, id: UploadId, rest: &str) -> String {
    visit.at(format!("/uploads/{id}{rest}"))
}

/// The catalog of the address, to put something into it.
async fn find_catalog(visit: &Visit) -> Result<Catalog> {
    let c = visit.domain().store.catalog(&visit.actor, Action::TemplateUpload, visit.id()).await?.into_inner();
    visit.within(c.org, Kind::Catalog)?;
    Ok(c)
}

fn below(visit: &Visit, catalog: model::CatalogId, name: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::new(name.to_owned(), visit.at(format!("{LIST}/{catalog}")))]
}

async fn new_page(visit: Visit) -> Result<Sheet> {
    let c = find_catalog(&visit).await?;
    let fill = visit.fill();
    let names = name_fields(&fill, "", "", "Unique in its catalog.");
    let choices = vec![
        Choice::new("template", "A template: an OVA, an OVF with its disks, or one disk as qcow2, VMDK or raw"),
        Choice::new("media", "Media: an ISO image to put into VMs"),
    ];
    let kind = fill.value("kind", "template");
    let fields = view! {
        {names}
        <RadioField name="kind" label="What it is" choices value=kind />
        {sum_field(&fill)}
    };
    let body = view! {
        <PageHead title=format!("Upload to {}", c.name) lede="The file is chosen on the next page." />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <FormSection title="Item">{fields}</FormSection>
            <FormEnd submit="Go on" cancel_href=visit.at(format!("{LIST}/{}", c.id)) />
        </form>
    }
    .into_any();
    let mut crumbs = below(&visit, c.id, &c.name);
    crumbs.push(Crumb::here("Upload"));
    let code = code::item::upload(&visit.site(), &c, &read(&fill.typed()));
    Ok(Sheet::new(format!("Upload to {}", c.name), ON, crumbs, body).still().code(code))
}

/// What the file's sum must be, if whoever offers it says so.
fn sum_field(fill: &Fill) -> impl IntoView + use<> {
    view! {
        <TextField
            name="sha256"
            label="SHA-256"
            value=fill.value("sha256", "")
            error=fill.error("sha256")
            hint="As it was published beside the file. When all of it has come, the file is held against it."
            autocomplete="off"
            optional=true
        />
    }
}

fn read(values: &Values) -> UploadSpec {
    UploadSpec {
        name: values.text("name"),
        description: values.text("description"),
        kind: ItemKind::parse(values.get("kind")).unwrap_or_default(),
        note: String::new(),
        sha256: values.text("sha256"),
    }
}

async fn begin(visit: Visit, values: Values) -> Result<Done> {
    let d = visit.domain();
    let c = d.attempt(&visit.actor, Action::TemplateUpload, find_catalog(&visit)).await?;
    let id = upload::begin(d, &visit.actor, c.id, read(&values)).await?;
    Ok(Done::new(href(&visit, id, ""), "Choose the file now."))
}

async fn version_page(visit: Visit) -> Result<Sheet> {
    let t = template::find_to(&visit, Action::TemplateUpload).await?;
    let fill = visit.fill();
    let note = view! {
        <TextArea
            name="note"
            label="What is new"
            value=fill.value("note", "")
            error=fill.error("note")
            hint="Stands beside the version in its history."
            optional=true
        />
    };
    let sum = sum_field(&fill);
    let body = view! {
        <PageHead
            title=format!("New version of {}", t.name)
            lede="Earlier versions stay until somebody deletes them. The file is chosen on the next page."
        />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <FormSection title="Version">{note} {sum}</FormSection>
            <FormEnd submit="Go on" cancel_href=template::href(&visit, &t, "") />
        </form>
    }
    .into_any();
    let mut crumbs = template::crumbs(&visit, &t);
    crumbs.extend([Crumb::new(t.name.clone(), template::href(&visit, &t, "")), Crumb::here("New version")]);
    Ok(Sheet::new(format!("New version of {}", t.name), ON, crumbs, body).still().code(code::item::version()))
}

async fn begin_version(visit: Visit, values: Values) -> Result<Done> {
    let t = visit
        .domain()
        .attempt(&visit.actor, Action::TemplateUpload, template::find_to(&visit, Action::TemplateUpload))
        .await?;
    let id =
        upload::begin_version(visit.domain(), &visit.actor, t.id, values.text("note"), values.text("sha256")).await?;
    Ok(Done::new(href(&visit, id, ""), "Choose the file now."))
}

async fn find(visit: &Visit, action: Action) -> Result<Upload> {
    let u = visit.domain().store.upload(&visit.actor, action, visit.id()).await?.into_inner();
    visit.within(u.org, Kind::Upload)?;
    Ok(u)
}

pub(super) fn state(u: &Upload) -> AnyView {
    let (shape, tone) = match u.state {
        UploadState::Open => (Shape::Clock, Tone::Busy),
        UploadState::Checking => (Shape::Half, Tone::Busy),
        UploadState::Done => (Shape::Disc, Tone::Ok),
        UploadState::Failed => (Shape::Diamond, Tone::Bad),
        UploadState::Cancelled => (Shape::Ring, Tone::Plain),
    };
    let word = match (u.state, u.percent()) {
        (UploadState::Open, Some(percent)) => format!("{percent} % has come"),
        (state, _) => state.label().to_owned(),
    };
    view! { <Badge shape tone word /> }.into_any()
}

async fn page(visit: Visit) -> Result<Sheet> {
    let u = find(&visit, Action::UploadView).await?;
    let item = catalog::template(visit.domain(), &visit.actor, u.template).await.ok();
    let to = visit.at(format!("/templates/{}", u.template));
    // its item keeps its name, and takes another file
    let anew = match item {
        Some(_) => format!("{to}/upload"),
        None => visit.at(format!("{LIST}/{}/upload", u.catalog)),
    };
    let again = view! { <a href=anew>"Upload another file"</a> };
    let says = match u.state {
        UploadState::Failed => {
            let text = format!(" {} ", u.problem);
            view! { <Note tone=Tone::Bad><b>"It was refused."</b> {text} {again}</Note> }.into_any()
        }
        UploadState::Checking => {
            view! { <Note tone=Tone::Busy>"All of it has come, and it is being checked. This page can be left."</Note> }
                .into_any()
        }
        UploadState::Done => {
            let link = item.as_ref().map(|_| view! { <a href=to.clone()>{format!("Go to {}", u.name)}</a> });
            view! { <Note tone=Tone::Ok>"It is there. " {link}</Note> }.into_any()
        }
        UploadState::Cancelled => view! { <Note>"It was cancelled. " {again}</Note> }.into_any(),
        UploadState::Open => choose(&visit, &u),
    };
    let acts = can::upload(&u, Action::UploadCancel)
        .is_ok()
        .then(|| view! { <a class="btn" href=href(&visit, u.id, "/cancel")>"Cancel the upload"</a> }.into_any());
    let body = view! {
        <PageHead
            title=format!("Upload of {}", u.name)
            sub=format!("to {}", u.catalog_name)
            acts=acts.unwrap_or_else(|| ().into_any())
            says=state(&u)
        />
        {says}
        {files(&u)}
    }
    .into_any();
    let mut crumbs = below(&visit, u.catalog, &u.catalog_name);
    if item.is_some() {
        crumbs.push(Crumb::new(u.name.clone(), to));
    }
    crumbs.push(Crumb::here("Upload"));
    let code = code::item::upload_thing(&visit.site(), &u);
    let sheet = Sheet::new(format!("Upload of {}", u.name), ON, crumbs, body).code(code);
    // while a file is chosen the page stays as it is
    Ok(if u.state == UploadState::Open { sheet.still() } else { sheet })
}

fn choose(visit: &Visit, u: &Upload) -> AnyView {
    let action = format!("/transfer/{}?back={}", u.link, href(visit, u.id, ""));
    let (title, hint) = match u.kind {
        ItemKind::Template => ("The file", "An OVA, or one disk as qcow2, single-file VMDK or raw."),
        ItemKind::Media => ("The file", "An ISO image."),
    };
    let gone_on = (u.received() > 0).then(|| {
        let text = "A part of it has come already. Choose the same file again, and it goes on where it stopped.";
        view! { <Note tone=Tone::Busy>{text}</Note> }
    });
    let ends = lasts(visit, u);
    let inner = view! {
        <form method="post" action=action enctype="multipart/form-data" class="form" data-transfer=format!("/transfer/{}/", u.link)>
            <div class="field">
                <label class="label" for="file">"File"</label>
                <input class="input" type="file" id="file" name="file" required />
                <p class="hint">{hint} " " {ends}</p>
            </div>
            <div class="form-end">
                <button class="btn primary">"Upload"</button>
            </div>
        </form>
        <Sending />
    };
    view! { {gone_on} <Section title>{inner}</Section> }.into_any()
}

/// For how long the link is good.
fn lasts(visit: &Visit, u: &Upload) -> String {
    format!("There are {} left to send it.", span(u.ends_at - visit.now))
}

fn files(u: &Upload) -> Option<AnyView> {
    let heads = vec![Head::new("File"), Head::new("Size").number(), Head::new("Has come").number()];
    let rows = u.files.iter().map(|f| {
        let (size, come) = (bytes_words(f.size), bytes_words(f.received));
        let cells = view! {
            <NameCell name=f.name.clone() />
            <Cell label="Size" number=true>{size}</Cell>
            <Cell label="Has come" number=true>{come}</Cell>
        };
        view! { <Row id=format!("file-{}", f.id)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    (!u.files.is_empty()).then(|| {
        let table = view! { <Table caption="Files of this upload" heads>{rows}</Table> };
        view! { <Section title="Files">{table}</Section> }.into_any()
    })
}

/// "3.2 GB", as people say it.
pub(super) fn bytes_words(bytes: i64) -> String {
    let mut n = bytes as f64;
    for unit in ["bytes", "KB", "MB", "GB"] {
        if n < 1024.0 {
            return if unit == "bytes" { format!("{n:.0} bytes") } else { format!("{n:.1} {unit}") };
        }
        n /= 1024.0;
    }
    format!("{n:.1} TB")
}

async fn cancel_page(visit: Visit) -> Result<Sheet> {
    let u = find(&visit, Action::UploadCancel).await?;
    let refused = visit
        .fill()
        .failure()
        .map(ToString::to_string)
        .or_else(|| can::upload(&u, Action::UploadCancel).err().map(|why| format!("Not now: {why}")));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec![format!("{} that have come", bytes_words(u.received())), "the link to send it to".to_owned()],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Cancel the upload of {}?", u.name)
            verb="Cancel the upload"
            keep_href=href(&visit, u.id, "")
            lost
            refused
        />
    }
    .into_any();
    let mut crumbs = below(&visit, u.catalog, &u.catalog_name);
    crumbs.push(Crumb::here("Cancel"));
    Ok(Sheet::new("Cancel the upload", ON, crumbs, body).still())
}

async fn cancel(visit: Visit, _: Values) -> Result<Done> {
    let u = visit.domain().attempt(&visit.actor, Action::UploadCancel, find(&visit, Action::UploadCancel)).await?;
    upload::cancel(visit.domain(), &visit.actor, u.id).await?;
    Ok(Done::new(visit.at(format!("{LIST}/{}", u.catalog)), format!("The upload of {} is cancelled.", u.name)))
}
