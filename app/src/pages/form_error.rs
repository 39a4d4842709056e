//! What stands on top of a form that came back.
use crate::{
    parts::{ConflictNote, ConflictRow, ErrorSummary, Note, Tone},
    portal::Fill,
};
use leptos::prelude::*;
use model::Error;

/// `labels`: the form's fields and what they are called.
pub(super) fn form_error(fill: &Fill, labels: &[(&'static str, &'static str)]) -> AnyView {
    let at = |field: &str| labels.iter().position(|(f, _)| *f == field);
    let label = |field: &str| at(field).map_or(field, |i| labels[i].1).to_owned();
    match fill.failure() {
        None => ().into_any(),
        Some(Error::Conflict(c)) => {
            let rows = c
                .fields
                .iter()
                .map(|f| ConflictRow {
                    field: f.field.into(),
                    label: label(f.field),
                    now: f.theirs.clone(),
                    yours: f.yours.clone(),
                })
                .collect();
            view! { <ConflictNote what=c.name.clone() by=c.changed_by.clone() rows /> }.into_any()
        }
        Some(e) if !e.fields().is_empty() => {
            let mut errors: Vec<_> = e
                .fields()
                .iter()
                .map(|f| {
                    let label = at(f.field).map(|i| format!("{}: ", labels[i].1)).unwrap_or_default();
                    (f.field.to_owned(), label + &f.message)
                })
                .collect();
            // in the order of the page
            errors.sort_by_key(|(field, _)| at(field).unwrap_or(labels.len()));
            view! { <ErrorSummary errors /> }.into_any()
        }
        Some(e) => {
            let text = e.to_string();
            view! { <Note tone=Tone::Bad>{text}</Note> }.into_any()
        }
    }
}
