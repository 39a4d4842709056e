//! In the provider's portal, before something new is made: the organization it is for.
use crate::{
    parts::*,
    portal::{Sheet, Visit},
    shell::Crumb,
};
use domain::org;
use leptos::prelude::*;
use model::{
    Error, OrgId, Result,
    list::{ListQuery, ORGS},
};

/// So many can be chosen from at once; where there are more, a search narrows them down.
const MOST: u32 = 100;

/// The organization that something new is for: the place's, or the one chosen in the address or the form. None: it has to
/// be chosen first.
pub(super) fn chosen_org(visit: &Visit) -> Result<Option<OrgId>> {
    if let Some(org) = visit.org() {
        return Ok(Some(org));
    }
    match visit.fill().value("org", visit.ask.query("org")).as_str() {
        "" => Ok(None),
        id => id.parse().map(Some).map_err(|_| Error::NotFound(model::Kind::Org)),
    }
}

/// Asks for it. `title` is the page's ("New user"), `on` the list it belongs to and `list` that list's address.
/// `tenants`: the provider's own organization can't have one.
pub(super) async fn choose_org(
    visit: &Visit,
    title: &str,
    on: &'static str,
    list: &str,
    tenants: bool,
) -> Result<Sheet> {
    let search = visit.ask.query("q").trim().to_owned();
    let query = ListQuery { limit: MOST, search: search.clone(), ..ListQuery::first(&ORGS) };
    let page = org::list(visit.domain(), &visit.actor, &query).await?;
    let many = page.after.is_some() || !search.is_empty();
    let error = visit.ask.query.iter().any(|(k, _)| k == "org").then(|| "Choose an organization.".to_owned());
    let error = error.filter(|_| !many);
    let hint = match (many, page.items.is_empty()) {
        (true, true) => "None has that in its name. Search for something else.".to_owned(),
        (true, false) if page.after.is_some() => format!("The first {MOST} by name. Search to see others."),
        _ => String::new(),
    };
    let mut choices = vec![Choice::new("", "Choose…")];
    choices.extend(page.items.iter().filter(|o| !(tenants && o.is_provider)).map(|o| {
        let full = if o.display_name == o.name { String::new() } else { format!(" · {}", o.display_name) };
        Choice::new(o.id.to_string(), format!("{}{full}", o.name))
    }));
    // whatever else stands in the address goes along, such as what is copied
    let kept: Vec<_> = visit.ask.query.iter().filter(|(k, _)| k != "org" && k != "q").cloned().collect();
    let find =
        many.then(|| view! { <TextField name="q" label="Search" value=search optional=true width=Width::Half /> });
    let fields = view! {
        {find}
        <SelectField name="org" label="Organization" choices error hint width=Width::Half />
    };
    let (path, back) = (visit.ask.path.clone(), visit.at(list));
    let body = view! {
        <PageHead title=title.to_owned() />
        <form method="get" action=path class="form" novalidate>
            {kept.into_iter().map(|(k, v)| view! { <input type="hidden" name=k value=v /> }).collect_view()}
            <FormSection title="For whom" lede="The organization it will belong to. This can't be changed later.">
                {fields}
            </FormSection>
            <FormEnd submit="Go on" cancel_href=back.clone() />
        </form>
    }
    .into_any();
    Ok(Sheet::new(title, on, vec![Crumb::new(on, back), Crumb::here("New")], body).still())
}
