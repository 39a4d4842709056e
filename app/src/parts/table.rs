//! Tables. On a phone rows become cards, which changes `display`; the roles are therefore written out, or the table would
//! stop being one for a screen reader.
use super::{Icon, Mark};
use leptos::prelude::*;

/// What a row becomes on a phone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableKind {
    /// Facts with their labels, in two columns.
    #[default]
    Cards,
    /// For long lists: name, state, then one line of facts.
    Tight,
}

/// The head of a column.
#[derive(Clone, Debug)]
pub struct Head {
    label: String,
    sort: Option<(String, Option<&'static str>)>,
    class: &'static str,
    hidden: bool,
}

impl Head {
    pub fn new(label: impl Into<String>) -> Self {
        Head { label: label.into(), sort: None, class: "", hidden: false }
    }

    /// A column that can be sorted by following `href`. `ascending` is Some for the one the list is sorted by now.
    pub fn sort(label: impl Into<String>, href: impl Into<String>, ascending: Option<bool>) -> Self {
        let now = ascending.map(|up| if up { "ascending" } else { "descending" });
        Head { sort: Some((href.into(), now)), ..Head::new(label) }
    }

    /// A column without a visible heading, such as the row's actions.
    pub fn hidden(label: impl Into<String>) -> Self {
        Head { hidden: true, ..Head::new(label) }
    }

    /// Numbers stand at the right.
    #[must_use]
    pub fn number(mut self) -> Self {
        self.class = "n";
        self
    }
}

/// `caption` is read, not seen. `list` is for the page's own list: its head stays in sight. `top` aligns rows of several
/// lines at their first.
#[component]
pub fn Table(
    #[prop(into)] caption: String,
    heads: Vec<Head>,
    #[prop(optional)] kind: TableKind,
    #[prop(optional)] list: bool,
    #[prop(optional)] top: bool,
    children: Children,
) -> impl IntoView {
    let mut class = "tbl to-cards".to_owned();
    for (is, word) in [(kind == TableKind::Tight, " tight"), (list, " list"), (top, " top")] {
        if is {
            class.push_str(word);
        }
    }
    view! {
        <div class="scroll">
            <table class=class role="table">
                <caption class="sr-only">{caption}</caption>
                <thead role="rowgroup">
                    <tr role="row">{heads.into_iter().map(head).collect_view()}</tr>
                </thead>
                <tbody role="rowgroup">{children()}</tbody>
            </table>
        </div>
    }
}

fn head(head: Head) -> impl IntoView {
    let sorted = head.sort.as_ref().and_then(|(_, now)| *now);
    let inside = match head.sort {
        Some((href, _)) => {
            let arrow = sorted.map(|way| if way == "ascending" { Icon::Up } else { Icon::Down });
            view! { <a href=href>{head.label} {arrow.map(|name| view! { <Icon name /> })}</a> }.into_any()
        }
        None if head.hidden => view! { <span class="sr-only">{head.label}</span> }.into_any(),
        None => head.label.into_any(),
    };
    view! {
        <th role="columnheader" scope="col" class=head.class aria-sort=sorted>
            {inside}
        </th>
    }
}

/// `id` keeps the row's identity when the list refreshes itself. `chosen` marks the row whose details stand beside.
#[component]
pub fn Row(#[prop(into)] id: String, #[prop(optional)] chosen: bool, children: Children) -> impl IntoView {
    view! {
        <tr role="row" id=id class=chosen.then_some("chosen")>
            {children()}
        </tr>
    }
}

/// A box to choose the row by: posts `pick`, with the form of that id, or with the one that it stands in.
#[component]
pub fn PickCell(
    #[prop(into)] value: String,
    #[prop(into)] label: String,
    #[prop(optional)] ticked: bool,
    #[prop(optional)] form: &'static str,
) -> impl IntoView {
    let form = (!form.is_empty()).then_some(form);
    view! {
        <td role="cell" class="pick">
            <input type="checkbox" name="pick" form=form value=value aria-label=label checked=ticked />
        </td>
    }
}

/// The row's name, a link to the thing itself. `why` is a second, smaller line; `icon` the class of an icon (`Mark`).
#[component]
pub fn NameCell(
    #[prop(into)] name: String,
    #[prop(optional, into)] href: String,
    #[prop(optional, into)] why: String,
    #[prop(optional, into)] icon: String,
) -> impl IntoView {
    let name = if href.is_empty() { name.into_any() } else { view! { <a href=href>{name}</a> }.into_any() };
    view! {
        <th role="rowheader" scope="row">
            <Mark icon />
            {name}
            {(!why.is_empty()).then(|| view! { <span class="why">{why}</span> })}
        </th>
    }
}

/// A fact. `label` repeats the column's head on a phone; `number` aligns right; `wide` cells are left out on a phone; `wraps`
/// is for names and sentences, which may be long.
#[component]
pub fn Cell(
    #[prop(into)] label: String,
    #[prop(optional)] number: bool,
    #[prop(optional)] wide: bool,
    #[prop(optional)] wraps: bool,
    children: Children,
) -> impl IntoView {
    let class: Vec<&str> = [(number, "n"), (wide, "desk"), (wraps, "wraps")]
        .into_iter()
        .filter_map(|(is, word)| is.then_some(word))
        .collect();
    let class = class.join(" ");
    view! {
        <td role="cell" data-label=label class=class>
            {children()}
        </td>
    }
}

/// The cell of the row's badge; in a tight list it takes a line of its own on a phone.
#[component]
pub fn StateCell(children: Children) -> impl IntoView {
    view! {
        <td role="cell" data-label="State" class="state">
            {children()}
        </td>
    }
}

/// The cell of the row's menu.
#[component]
pub fn RowActs(children: Children) -> impl IntoView {
    view! {
        <td role="cell" class="n row-acts">
            {children()}
        </td>
    }
}
