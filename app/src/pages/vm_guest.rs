//! What the guest of one VM is told: a section of its page, and the form that changes it and shows it beforehand.
use super::{
    form_error::form_error,
    guest_fields::{self, preview_section},
    vm::{ON, crumbs_below, find, find_to, href, may},
};
use crate::{
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit},
};
use domain::guest::{self, Preview};
use leptos::prelude::*;
use model::{
    Action, Problems, Result, can,
    guest::{GuestSettings, filled},
    vm::Vm,
};

/// Before the names of the fields of its properties.
const AT: &str = "property.";

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vms/{id}/guest", page, save).both_look("/vms/{id}/guest/preview", previewed, preview)
}

pub(super) async fn section(visit: &Visit, v: &Vm) -> Result<AnyView> {
    if v.by_template {
        return Ok(().into_any());
    }
    let (_, g) = guest::get(visit.domain(), &visit.actor, v.id).await?;
    let edits = may(visit, v, Action::VmGuest) && can::vm(v, Action::VmGuest).is_ok();
    let acts = edits.then(|| view! { <a href=href(visit, v.id, "/guest")>"Change"</a> }).into_any();
    let given = |there: bool, yes: &str| if there { yes.to_owned() } else { "none".to_owned() };
    let password = match (g.set_password, g.password.is_empty()) {
        (false, _) => "as the image has it".into_any(),
        (true, true) => "set".into_any(),
        (true, false) => {
            let value = g.password.clone();
            view! { <details class="reveal"><summary>"Show"</summary><Copy value what="password" /></details> }
                .into_any()
        }
    };
    let keys = match g.ssh_keys.len() {
        0 => "none".to_owned(),
        1 => "1 key".to_owned(),
        n => format!("{n} keys"),
    };
    let knows = may(visit, v, Action::VmGuest);
    let inner = knows.then(|| {
        let (script, init) =
            (given(!g.script.trim().is_empty(), "given"), given(!g.user_data.trim().is_empty(), "given"));
        view! {
            <Fact name="Script">{script}</Fact>
            <Fact name="cloud-init">{init}</Fact>
        }
    });
    let properties = g.properties.iter().map(|p| {
        let name = p.label().to_owned();
        let value = match (p.password, p.value.as_str()) {
            (true, _) => "not shown".to_owned(),
            (_, "") => "–".to_owned(),
            (_, value) => value.to_owned(),
        };
        view! { <Fact name>{value}</Fact> }
    });
    let properties = properties.collect_view();
    let host = v.computer_name.clone();
    let facts = view! {
        <Fact name="Computer name">{host}</Fact>
        <Fact name="Administrator">{password}</Fact>
        <Fact name="SSH keys">{keys}</Fact>
        {inner}
        {properties}
    };
    let unnamed = v.restart_needed && v.waiting().is_empty();
    let sub = if unnamed { "what changed comes at the next start" } else { "" };
    Ok(view! { <Section title="What its guest is told" sub acts><Facts>{facts}</Facts></Section> }.into_any())
}

async fn page(visit: Visit) -> Result<Sheet> {
    previewed(visit, None).await
}

async fn previewed(visit: Visit, files: Option<Vec<Preview>>) -> Result<Sheet> {
    let v = find(&visit, Action::VmGuest).await?;
    let (_, g) = guest::get(visit.domain(), &visit.actor, v.id).await?;
    let fill = visit.fill();
    let refused = can::vm(&v, Action::VmGuest).err().filter(|_| fill.failure().is_none()).map(|why| {
        let text = format!("Not now: {why}");
        view! { <Note tone=Tone::Warn>{text}</Note> }
    });
    let shown = files.map(|files| preview_section(&[(v.name.clone(), files)]));
    let (enabled, sid) = (fill.checked("enabled", "on", g.enabled), fill.checked("change_sid", "on", g.change_sid));
    let computer = view! {
        <CheckField name="enabled" label="Bring name, password and script into the guest" checked=enabled />
        <TextField
            name="computer_name"
            label="Computer name"
            value=fill.value("computer_name", &v.computer_name)
            error=fill.error("computer_name")
            hint="Small letters, digits, hyphens. Windows takes the first 15."
            autocomplete="off"
            width=Width::Half
        />
        <CheckField name="change_sid" label="A new security id (Windows)" checked=sid />
    };
    let fields = guest_fields::fields(&visit, &fill, &g, &v.os);
    let properties = (!g.properties.is_empty()).then(|| {
        let fields = guest_fields::properties(&fill, AT, g.properties.iter());
        view! { <FormSection title="Properties" lede="What its template asks for.">{fields}</FormSection> }
    });
    let lede = "It is told at its next start. A guest does each change once.";
    let to = href(&visit, v.id, "/guest");
    let preview = format!("{to}/preview");
    let body = view! {
        <PageHead title=format!("Guest of {}", v.name) lede />
        {refused}
        {shown}
        <form method="post" action=to class="form" novalidate>
            {form_error(&fill, &guest_fields::LABELS)}
            <input type="hidden" name="version" value=fill.version(v.version) />
            <FormSection title="Computer">{computer}</FormSection>
            <FormSection title="Guest">{fields}</FormSection>
            {properties}
            <div class="form-end acts">
                <button class="btn primary">"Save"</button>
                <button class="btn" formaction=preview>"Preview"</button>
                <a class="btn" href=href(&visit, v.id, "")>"Cancel"</a>
            </div>
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Guest of {}", v.name), ON, crumbs_below(&visit, &v, "Guest"), body).still())
}

fn read(values: &Values, now: &GuestSettings, passwords: bool) -> Result<GuestSettings> {
    let mut problems = Problems::default();
    let mut g = guest_fields::read(values, &mut problems);
    if !passwords {
        // who may not set one has no field for it
        g = GuestSettings {
            set_password: now.set_password,
            auto_password: now.auto_password,
            reset_password: now.reset_password,
            auto_logons: now.auto_logons,
            ..g
        };
    }
    let properties = filled(&now.properties, |p| guest_fields::given(values, AT, p))?;
    problems.done()?;
    Ok(GuestSettings { enabled: values.has("enabled"), change_sid: values.has("change_sid"), properties, ..g })
}

async fn save(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmGuest).await?;
    let (_, now) = guest::get(visit.domain(), &visit.actor, v.id).await?;
    let wished = read(&values, &now, may(&visit, &v, Action::VmPassword))?;
    let name = values.get("computer_name");
    guest::set(visit.domain(), &visit.actor, v.id, values.version()?, name, wished).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The guest of {} is told at its next start.", v.name)))
}

async fn preview(visit: Visit, values: Values) -> Result<Vec<Preview>> {
    let v = find_to(&visit, Action::VmGuest).await?;
    let (_, now) = guest::get(visit.domain(), &visit.actor, v.id).await?;
    let wished = read(&values, &now, may(&visit, &v, Action::VmPassword))?;
    let name = values.get("computer_name").trim();
    guest::preview_of(visit.domain(), &visit.actor, &v, name, &guest::as_saved(&now, wished)).await
}
