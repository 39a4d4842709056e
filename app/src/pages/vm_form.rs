//! Forms about one VM: its name, its size, and the page before it is deleted.
use super::{
    form_error::form_error,
    limits::asked_meters,
    sizes::{cpu_words, gb, lost_words, memory_words, read_cpus, read_gb, staying_words},
    sizing::{choice, read_choice},
    vm::{LIST, ON, crumbs_below, find, find_to, href},
};
use crate::{
    parts::*,
    portal::{Done, Fill, Routes, Sheet, Values, Visit, with_problems},
};
use domain::{sizing, vdc, vm};
use leptos::prelude::*;
use model::{
    Action, Problems, Result, can,
    quota::Amount,
    vm::{Vm, check_size},
};

const LABELS: &[(&str, &str)] =
    &[("name", "Name"), ("description", "Description"), ("cpus", "CPU"), ("memory", "Memory"), ("sizing", "Size")];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vms/{id}/edit", edit_page, edit).both_form("/vms/{id}/resize", resize_page, resize).both_form(
        "/vms/{id}/delete",
        delete_page,
        delete,
    )
}

/// Name and description, the same for a VM and a vApp.
pub(super) fn name_fields(fill: &Fill, name: &str, description: &str, hint: &'static str) -> AnyView {
    view! {
        <TextField
            name="name"
            label="Name"
            value=fill.value("name", name)
            error=fill.error("name")
            hint
            autocomplete="off"
            width=Width::Half
        />
        <TextArea
            name="description"
            label="Description"
            value=fill.value("description", description)
            error=fill.error("description")
            optional=true
        />
    }
    .into_any()
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmEdit).await?;
    let fill = visit.fill();
    let names = name_fields(&fill, &v.name, &v.description, "Unique in its vApp. The guest keeps its host name.");
    let body = view! {
        <PageHead title=format!("Edit {}", v.name) />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(v.version) />
            <FormSection title="VM">{names}</FormSection>
            <FormEnd submit="Save" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Edit {}", v.name), ON, crumbs_below(&visit, &v, "Edit"), body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let id = find_to(&visit, Action::VmEdit).await?.id;
    let (name, text) = (values.get("name"), values.get("description"));
    let saved = vm::edit(visit.domain(), &visit.actor, id, values.version()?, name, text).await?;
    Ok(Done::new(href(&visit, id, ""), format!("VM {} is saved.", saved.name)))
}

async fn resize_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmResize).await?;
    let fill = visit.fill();
    let refused = can::vm(&v, Action::VmResize).err().filter(|_| fill.failure().is_none()).map(|why| {
        let text = format!("Not now: {why}");
        view! { <Note tone=Tone::Warn>{text}</Note> }
    });
    let has = |seen: Option<String>| seen.map(|seen| format!("It has {seen} now.")).unwrap_or_default();
    let fields = view! {
        <NumberField
            name="cpus"
            label="CPU"
            value=fill.value("cpus", v.cpus.to_string())
            unit="vCPU"
            error=fill.error("cpus")
            hint=has(v.seen_cpus.map(cpu_words))
            width=Width::Third
        />
        <NumberField
            name="memory"
            label="Memory"
            value=fill.value("memory", gb(v.memory_mb))
            unit="GB"
            error=fill.error("memory")
            hint=has(v.seen_memory_mb.map(memory_words))
            width=Width::Third
        />
    };
    let all = sizing::choices(visit.domain(), &[v.vdc]).await?;
    let now = v.sizing.as_ref().map(|(id, _)| *id);
    let policy = choice(&fill, &all, "Its own, as below", now, "With a policy the numbers below do not count.");
    let lede = "More takes effect at once where its hub can do that; else, and for less, it waits for the next start.";
    let body = view! {
        <PageHead title=format!("Resize {}", v.name) />
        {refused}
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <FormSection title="Size" lede>{policy} {fields}</FormSection>
            <FormEnd submit="Resize" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    let sheet = Sheet::new(format!("Resize {}", v.name), ON, crumbs_below(&visit, &v, "Resize"), body).still();
    Ok(match quota(&visit, &v).await {
        Some(margin) => sheet.margin(margin),
        None => sheet,
    })
}

/// What is left of its VDC, for those who may see that, with what was typed.
async fn quota(visit: &Visit, v: &Vm) -> Option<AnyView> {
    let of = vdc::get(visit.domain(), &visit.actor, v.vdc).await.ok()?;
    let (fill, mut ignored) = (visit.fill(), Problems::default());
    let cpus = read_cpus(&fill.value("cpus", ""), &mut ignored).unwrap_or(v.cpus);
    let memory_mb = read_gb(&fill.value("memory", ""), "memory", &mut ignored).unwrap_or(v.memory_mb);
    let asked = Amount {
        cpus: (i64::from(cpus) - i64::from(v.cpus)).max(0),
        memory_mb: (memory_mb - v.memory_mb).max(0),
        ..Amount::default()
    };
    let meters = asked_meters(&of.used, &of.limits, &asked);
    let meters = view! { <div class="meters">{meters}</div> };
    Some(view! { <Section title=format!("Quota of {}", of.name)>{meters}</Section> }.into_any())
}

async fn resize(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmResize).await?;
    let mut problems = Problems::default();
    if let Some(policy) = read_choice(values.get("sizing"), &mut problems) {
        vm::resize_to(visit.domain(), &visit.actor, v.id, policy).await?;
        return Ok(Done::new(href(&visit, v.id, ""), format!("Another size is asked for {}.", v.name)));
    }
    let cpus = read_cpus(values.get("cpus"), &mut problems).unwrap_or_default();
    // as shown is as it was, whatever the rounding
    let memory = match values.get("memory").trim() {
        same if same == gb(v.memory_mb) => v.memory_mb,
        typed => read_gb(typed, "memory", &mut problems).unwrap_or_default(),
    };
    let mut sizes = Problems::default();
    check_size(cpus, memory, &mut sizes);
    with_problems(problems, sizes.done())?;
    vm::resize(visit.domain(), &visit.actor, v.id, cpus, memory).await?;
    let asked = format!("{} and {} are asked for {}.", cpu_words(cpus), memory_words(memory), v.name);
    Ok(Done::new(href(&visit, v.id, ""), asked))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmDelete).await?;
    let refused = visit
        .fill()
        .failure()
        .map(ToString::to_string)
        .or_else(|| can::vm(&v, Action::VmDelete).err().map(|why| format!("Not now: {why}")));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => lost(&v),
    };
    let stays = staying_words(std::slice::from_ref(&v)).map(|words| view! { <p>{words}</p> });
    let body = view! {
        <ConfirmPage
            title=format!("Delete VM {}?", v.name)
            verb=format!("Delete {}", v.name)
            keep_href=href(&visit, v.id, "")
            lost
            refused
        >
            {stays}
        </ConfirmPage>
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", v.name), ON, crumbs_below(&visit, &v, "Delete"), body).still())
}

fn lost(v: &Vm) -> Vec<String> {
    let mut lost = vec![format!("the VM: {}", lost_words(v))];
    match v.disks.iter().filter(|d| d.media.is_none() && !d.independent).count() as u64 {
        0 => {}
        1 => lost.push("its disk with all that is on it".to_owned()),
        disks => lost.push(format!("{disks} disks with all that is on them")),
    }
    if v.seen.on() {
        lost.push("what runs in it now: it is powered off first".to_owned());
    }
    lost
}

async fn delete(visit: Visit, _: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmDelete).await?;
    vm::delete(visit.domain(), &visit.actor, v.id).await?;
    Ok(Done::new(visit.at(LIST), format!("VM {} is being deleted.", v.name)))
}
