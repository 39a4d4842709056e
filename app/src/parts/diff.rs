//! What changed: before and after, line by line, marked by sign as well as by colour.
use leptos::prelude::*;

/// One field of a thing before and after a change; None is "was not there" or "is gone".
#[derive(Clone, Debug)]
pub struct DiffRow {
    pub name: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[component]
pub fn Diff(rows: Vec<DiffRow>) -> impl IntoView {
    view! {
        <div class="diff" tabindex="0" role="group" aria-label="What changed">
            <table>
                <caption class="sr-only">"Lines removed and added"</caption>
                <tbody>{rows.into_iter().map(lines).collect_view()}</tbody>
            </table>
        </div>
    }
}

fn lines(row: DiffRow) -> impl IntoView {
    let DiffRow { name, before, after } = row;
    let name = format!("{name}: ");
    if before == after {
        let value = after.unwrap_or_default();
        return view! {
            <tr>
                <td></td>
                <td>{name} {value}</td>
            </tr>
        }
        .into_any();
    }
    let was = name.clone();
    view! {
        {before
            .map(|value| {
                view! {
                    <tr class="del">
                        <td aria-label="Removed">"−"</td>
                        <td>{was} <del>{value}</del></td>
                    </tr>
                }
            })}
        {after
            .map(|value| {
                view! {
                    <tr class="add">
                        <td aria-label="Added">"+"</td>
                        <td>{name} <ins>{value}</ins></td>
                    </tr>
                }
            })}
    }
    .into_any()
}
