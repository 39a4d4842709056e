//! Security tags: all of them with the VMs that have them, and the form with those of one VM.
use super::{
    form_error::form_error,
    vm::{LIST, ON, crumbs_below, find, find_to, href, may},
};
use crate::{
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::tag;
use leptos::prelude::*;
use model::{Action, Result, vm::Vm};

const LABELS: &[(&str, &str)] = &[("tags", "Tags")];

pub fn routes(r: Routes) -> Routes {
    r.both("/tags", list).both_form("/vms/{id}/tags", page, set)
}

fn of_list(visit: &Visit, tag: &str) -> String {
    Query::new(visit.at(LIST), [("tag".to_owned(), tag.to_owned())]).href()
}

async fn list(visit: Visit) -> Result<Sheet> {
    let all = tag::list(visit.domain(), &visit.actor, visit.org()).await?;
    let rows = all.iter().map(|t| {
        let vms = plural(t.vms.unsigned_abs(), "VM", "VMs");
        let cells = view! {
            <NameCell name=t.tag.clone() href=of_list(&visit, &t.tag) />
            <Cell label="VMs" number=true>{vms}</Cell>
        };
        view! { <Row id=format!("tag-{}", t.tag)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let inside = match all.is_empty() {
        true => view! {
            <Empty title="No tags yet">"A tag is a word on VMs, by which they are found together. It is given on a VM's page."</Empty>
        }
        .into_any(),
        false => {
            let heads = vec![Head::new("Tag"), Head::new("VMs").number()];
            view! { <Table caption="Tags" heads>{rows}</Table> }.into_any()
        }
    };
    let body = view! { <PageHead title="Tags" sub=num(all.len() as u64) /> {inside} }.into_any();
    Ok(Sheet::new("Tags", ON, vec![Crumb::new(ON, visit.at(LIST)), Crumb::here("Tags")], body))
}

/// In the margin of a VM's page.
pub(super) async fn facts(visit: &Visit, v: &Vm) -> Result<AnyView> {
    let tags = tag::of_vm(visit.domain(), &visit.actor, v.id).await?;
    let none = tags.is_empty().then_some("none");
    let links = tags.into_iter().map(|t| {
        let to = of_list(visit, &t);
        view! { <a href=to>{t}</a> " " }
    });
    let links = links.collect_view();
    // the macro keeps no blank between two braces
    let change = may(visit, v, Action::VmTags).then(|| view! { " · " <a href=href(visit, v.id, "/tags")>"Change"</a> });
    Ok(view! { <Fact name="Tags">{links} {none} {change}</Fact> }.into_any())
}

async fn page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmTags).await?;
    let fill = visit.fill();
    let now = tag::of_vm(visit.domain(), &visit.actor, v.id).await?.join(", ");
    let title = format!("Tags of {}", v.name);
    let hint = "Separated by commas: web, tier:1. Capital letters count as small ones.";
    let body = view! {
        <PageHead title=title.clone() />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <FormSection title="Tags">
                <TextField name="tags" label="Tags" value=fill.value("tags", &now) error=fill.error("tags") hint optional=true autocomplete="off" />
            </FormSection>
            <FormEnd submit="Save" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(title, ON, crumbs_below(&visit, &v, "Tags"), body).still())
}

async fn set(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmTags).await?;
    let tags = values.get("tags").split([',', ' ', '\n']).map(str::to_owned).collect();
    tag::set(visit.domain(), &visit.actor, v.id, tags).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The tags of {} are saved.", v.name)))
}
