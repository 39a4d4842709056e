//! What stands around the fields of a form: sections, the summary of errors, a conflict with somebody else's change.
use super::{Icon, words::spelled};
use leptos::prelude::*;

/// A group of fields with its heading at the side.
#[component]
pub fn FormSection(
    #[prop(into)] title: String,
    #[prop(optional, into)] lede: String,
    children: Children,
) -> impl IntoView {
    view! {
        <section class="form-sec">
            <div>
                <h2>{title}</h2>
                {(!lede.is_empty()).then(|| view! { <p>{lede}</p> })}
            </div>
            <div class="fields">{children()}</div>
        </section>
    }
}

/// The buttons at the end of a form.
#[component]
pub fn FormEnd(#[prop(into)] submit: String, #[prop(into)] cancel_href: String) -> impl IntoView {
    view! {
        <div class="form-end acts">
            <button class="btn primary">{submit}</button>
            <a class="btn" href=cancel_href>
                "Cancel"
            </a>
        </div>
    }
}

/// At the top of a form that was refused: each error as a link to its field. Renders nothing without errors.
#[component]
pub fn ErrorSummary(
    /// Field id and what is wrong; an empty id is an error of the whole form.
    errors: Vec<(String, String)>,
) -> impl IntoView {
    let lead = match errors.len() {
        1 => "One thing to put right.".to_owned(),
        count => format!("{} things to put right.", spelled(count)),
    };
    (!errors.is_empty()).then(|| {
        view! {
            <div class="note bad" role="alert">
                <Icon name=Icon::Warn />
                <div>
                    <b>{lead}</b>
                    " Nothing you typed is lost."
                    <ul>
                        {errors
                            .into_iter()
                            .map(|(field, text)| {
                                if field.is_empty() {
                                    view! { <li>{text}</li> }.into_any()
                                } else {
                                    view! {
                                        <li>
                                            <a href=format!("#{field}")>{text}</a>
                                        </li>
                                    }
                                        .into_any()
                                }
                            })
                            .collect_view()}
                    </ul>
                </div>
            </div>
        }
    })
}

/// One field that two people changed.
#[derive(Clone, Debug)]
pub struct ConflictRow {
    pub field: String,
    pub label: String,
    pub now: String,
    pub yours: String,
}

/// Somebody else saved first: both values, nothing lost. Saving again keeps the reader's.
#[component]
pub fn ConflictNote(#[prop(into)] what: String, #[prop(into)] by: String, rows: Vec<ConflictRow>) -> impl IntoView {
    let said = |value: String| if value.is_empty() { "nothing".to_owned() } else { format!("“{value}”") };
    view! {
        <div class="note warn" role="alert">
            <Icon name=Icon::Warn />
            <div>
                <b>{format!("{what} was changed by {by} while you were editing.")}</b>
                " Nothing you typed is lost: look at the differences, then save again to keep yours."
                <ul>
                    {rows
                        .into_iter()
                        .map(|row| {
                            let values = format!(": now {}, yours {}", said(row.now), said(row.yours));
                            view! {
                                <li>
                                    <a href=format!("#{}", row.field)>{row.label}</a>
                                    {values}
                                </li>
                            }
                        })
                        .collect_view()}
                </ul>
            </div>
        </div>
    }
}
