//! Search and filters of a list: a GET form, so that the address holds them and a list can be kept as a bookmark. Filters in
//! use are chips, each with a link that takes it away.
use super::{Choice, Icon, Query, SelectField, TextField};
use leptos::prelude::*;

/// A filter: its name in the address, its label, and what it may be. Without choices it is any text.
#[derive(Clone, Debug)]
pub struct Filter {
    pub name: &'static str,
    pub label: &'static str,
    pub choices: Vec<Choice>,
}

impl Filter {
    pub fn new(name: &'static str, label: &'static str, choices: Vec<Choice>) -> Self {
        Filter { name, label, choices }
    }

    /// The chosen value in words; one that is not on the list is shown as it is.
    fn chosen(&self, here: &Query) -> Option<String> {
        let value = here.get(self.name)?;
        let known = self.choices.iter().find(|choice| choice.value == value);
        Some(known.map_or_else(|| value.to_owned(), |choice| choice.label.clone()))
    }
}

/// `here` is the list's address; the search is its `q`, and a new search or filter starts at the first page (`cursor`
/// goes). `what` names the list ("users"), `find` what the search looks at ("Name, email").
#[component]
pub fn Filters(
    here: Query,
    #[prop(into)] what: String,
    #[prop(into)] find: String,
    #[prop(optional)] filters: Vec<Filter>,
) -> impl IntoView {
    let here = here.without(&["cursor"]);
    let names: Vec<&str> = filters.iter().map(|filter| filter.name).collect();
    // What the form itself does not send, such as the sort order.
    let kept: Vec<_> =
        here.pairs().iter().filter(|(name, _)| name != "q" && !names.contains(&name.as_str())).cloned().collect();
    let chips: Vec<_> = filters
        .iter()
        .filter_map(|filter| Some((filter.label, filter.chosen(&here)?, here.without(&[filter.name]).href())))
        .collect();
    let clear = here.without(&names).without(&["q"]);
    let clean = clear == here;
    view! {
        <form class="filters" role="search" aria-label=format!("Filter {what}") action=here.path().to_owned()>
            <div class="find">
                <label class="sr-only" for="q">
                    {format!("Search {what}")}
                </label>
                <Icon name=Icon::Search />
                <input
                    id="q"
                    name="q"
                    type="search"
                    placeholder=find
                    value=here.get("q").unwrap_or_default().to_owned()
                />
            </div>
            {kept
                .into_iter()
                .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
                .collect_view()}
            {chips
                .into_iter()
                .map(|(label, value, remove)| {
                    view! {
                        <span class="chip on">
                            {format!("{label}: ")} <b>{value.clone()}</b>
                            <a href=remove aria-label=format!("Remove filter {label}: {value}")>
                                <Icon name=Icon::Close />
                            </a>
                        </span>
                    }
                })
                .collect_view()}
            {(!filters.is_empty()).then(|| view! { <FilterMenu here=here.clone() filters /> })}
            {(!clean)
                .then(|| {
                    view! {
                        <a class="btn small quiet" href=clear.href()>
                            "Clear"
                        </a>
                    }
                })}
            <button class="btn small go">"Search"</button>
        </form>
    }
}

#[component]
fn FilterMenu(here: Query, filters: Vec<Filter>) -> impl IntoView {
    view! {
        <details class="menu" name="menu">
            <summary class="chip add">
                <Icon name=Icon::Plus />
                "Filter"
            </summary>
            <div class="panel">
                {filters
                    .into_iter()
                    .map(|filter| {
                        let value = here.get(filter.name).unwrap_or_default().to_owned();
                        let (id, name, label) = (format!("filter-{}", filter.name), filter.name, filter.label);
                        if filter.choices.is_empty() {
                            return view! { <TextField id name label value hint="The whole name" /> }.into_any();
                        }
                        let mut choices = vec![Choice::new("", "Any")];
                        choices.extend(filter.choices);
                        view! { <SelectField id name label choices value /> }.into_any()
                    })
                    .collect_view()} <button class="btn">"Show"</button>
            </div>
        </details>
    }
}
