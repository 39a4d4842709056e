//! What every list page shows around its rows: filters, sortable heads, paging, the way to a CSV file.
use super::Visit;
use crate::parts::{Choice, Filter, Filters, Head, Icon, Order, Pager, Query, num};
use leptos::prelude::*;
use model::list::{ListQuery, ListSpec, Page, Total, for_provider};

/// One list at its address.
pub struct ListView {
    spec: &'static ListSpec,
    pub query: ListQuery,
    here: Query,
    total: Total,
    before: Option<String>,
    after: Option<String>,
    shown: usize,
    /// The provider's, over all organizations.
    of_all: bool,
}

impl ListView {
    pub fn new<T>(visit: &Visit, spec: &'static ListSpec, query: ListQuery, page: &Page<T>) -> ListView {
        ListView {
            spec,
            query,
            here: Query::new(visit.ask.path.clone(), visit.ask.query.clone()),
            total: page.total,
            before: page.before.as_ref().map(ToString::to_string),
            after: page.after.as_ref().map(ToString::to_string),
            shown: page.items.len(),
            of_all: visit.org().is_none(),
        }
    }

    /// "23", or "more than 10,000".
    pub fn count(&self) -> String {
        let n = num(u64::try_from(self.total.rows).unwrap_or(0));
        if self.total.more { format!("more than {n}") } else { n }
    }

    pub fn is_empty(&self) -> bool {
        self.shown == 0
    }

    /// Are there none at all, whatever one searches for?
    pub fn is_unused(&self) -> bool {
        self.is_empty() && self.query.search.is_empty() && self.query.filters.is_empty() && self.query.cursor.is_none()
    }

    /// `what` names the list, `find` what the search looks into.
    pub fn filters(&self, what: &'static str, find: &'static str) -> impl IntoView + use<> {
        let filters = self
            .spec
            .filters
            .iter()
            .filter(|f| self.of_all || !for_provider(f))
            .map(|f| Filter::new(f.key, f.label, f.options.iter().map(|(v, l)| Choice::new(*v, *l)).collect()))
            .collect();
        view! { <Filters here=self.here.clone() what find filters /> }
    }

    /// A head that sorts, if the list can be sorted by `key`.
    pub fn head(&self, key: &str, label: &'static str) -> Head {
        let sorted = (self.query.sort == key).then_some(!self.query.descending);
        // following it again turns the order round
        let way = if sorted == Some(true) { format!("-{key}") } else { key.to_owned() };
        Head::sort(label, self.here.without(&["cursor"]).with("sort", &way).href(), sorted)
    }

    pub fn pager(&self) -> impl IntoView + use<> {
        let to = |cursor: &Option<String>| cursor.as_ref().map(|c| self.here.with("cursor", c).href());
        let by = match (self.spec.descending, self.query.descending) {
            (true, true) => "newest first".to_owned(),
            (true, false) => "oldest first".to_owned(),
            (false, _) => {
                let label = self.spec.sorts.iter().find(|s| s.key == self.query.sort).map_or("", |s| s.label);
                format!("by {}", label.to_lowercase())
            }
        };
        let words = match (self.query.cursor.is_none(), self.shown as i64 == self.total.rows) {
            (true, true) => {
                format!("{} {by}", if self.shown == 1 { "1,".into() } else { format!("All {},", self.count()) })
            }
            (true, false) => format!("First {} of {}, {by}", self.shown, self.count()),
            (false, _) => format!("{} of {}, {by}", self.shown, self.count()),
        };
        let order = match (self.spec.descending, self.query.descending) {
            (true, true) => Order::NewestFirst,
            (true, false) => Order::OldestFirst,
            (false, _) => Order::ByName,
        };
        let (back, on) = (to(&self.before), to(&self.after));
        let nothing = self.is_empty() && back.is_none() && on.is_none();
        (!nothing).then(|| view! { <Pager words back on order /> })
    }

    /// The same list, whole, as a file.
    pub fn csv_button(&self) -> impl IntoView + use<> {
        let href = Query::new(
            format!("{}.csv", self.here.path()),
            self.here.without(&["cursor", "limit", "entry"]).pairs().to_vec(),
        )
        .href();
        view! {
            <a class="btn" href=href download="">
                <Icon name=Icon::Download />
                "CSV"
            </a>
        }
    }
}
