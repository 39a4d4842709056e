//! Fields of a form to choose from: lists, boxes to tick and radio buttons.
use super::{About, Below, Frame, Icon, Width};
use leptos::prelude::*;

/// One of several answers; `more` explains it (radio buttons only).
#[derive(Clone, Debug)]
pub struct Choice {
    pub value: String,
    pub label: String,
    pub more: String,
}

impl Choice {
    pub fn new(value: impl Into<String>, label: impl Into<String>) -> Self {
        Choice { value: value.into(), label: label.into(), more: String::new() }
    }

    pub fn more(mut self, more: impl Into<String>) -> Self {
        self.more = more.into();
        self
    }
}

#[component]
pub fn SelectField(
    #[prop(into)] name: String,
    #[prop(into)] label: String,
    choices: Vec<Choice>,
    #[prop(optional, into)] value: String,
    #[prop(optional_no_strip)] error: Option<String>,
    #[prop(optional, into)] hint: String,
    #[prop(optional, into)] id: String,
    #[prop(optional)] optional: bool,
    #[prop(optional)] width: Width,
) -> impl IntoView {
    let about = About::new(id, name, label, hint, error, optional, width);
    view! {
        <Frame about=about.clone()>
            <select
                class="in"
                id=about.id.clone()
                name=about.name.clone()
                aria-required=about.required()
                aria-invalid=about.invalid()
                aria-describedby=about.described_by()
            >
                {choices
                    .into_iter()
                    .map(|choice| {
                        let chosen = choice.value == value;
                        view! {
                            <option value=choice.value selected=chosen>
                                {choice.label}
                            </option>
                        }
                    })
                    .collect_view()}
            </select>
        </Frame>
    }
}

/// A yes or no; posts `name=on` when ticked.
#[component]
pub fn CheckField(
    #[prop(into)] name: String,
    #[prop(into)] label: String,
    #[prop(optional)] checked: bool,
    #[prop(optional_no_strip)] error: Option<String>,
    #[prop(optional, into)] hint: String,
    #[prop(optional, into)] id: String,
    /// Posted instead of "on": for several boxes of one name.
    #[prop(optional, into)]
    value: String,
    #[prop(optional)] width: Width,
) -> impl IntoView {
    let about = About::new(id, name, label, hint, error, true, width);
    view! {
        <div class=width.class()>
            <label class="check">
                <input
                    type="checkbox"
                    id=about.id.clone()
                    name=about.name.clone()
                    value=(!value.is_empty()).then_some(value)
                    checked=checked
                    aria-invalid=about.invalid()
                    aria-describedby=about.described_by()
                />
                <span>{about.label.clone()}</span>
            </label>
            <Below about=about.clone() />
        </div>
    }
}

/// A box that can't be ticked here, and why.
#[component]
pub fn CheckOff(
    #[prop(into)] label: String,
    #[prop(into)] why: String,
    #[prop(optional)] width: Width,
) -> impl IntoView {
    view! {
        <div class=width.class()>
            <p class="check off">
                <Icon name=Icon::Lock />
                <span>{label} <small>{format!(" · {why}")}</small></span>
            </p>
        </div>
    }
}

/// Several boxes under one heading.
#[component]
pub fn FieldGroup(
    #[prop(into)] label: String,
    /// What its boxes are called, where an error may stand below them.
    #[prop(optional, into)]
    name: String,
    #[prop(optional_no_strip)] error: Option<String>,
    #[prop(optional)] width: Width,
    children: Children,
) -> impl IntoView {
    let about = About::new(String::new(), name, String::new(), String::new(), error, false, Width::default());
    view! {
        <fieldset class=width.class()>
            <legend class="label">{label}</legend>
            {children()}
            <Below about />
        </fieldset>
    }
}

/// One of a few, each with a line that explains it.
#[component]
pub fn RadioField(
    #[prop(into)] name: String,
    #[prop(into)] label: String,
    choices: Vec<Choice>,
    #[prop(optional, into)] value: String,
    #[prop(optional_no_strip)] error: Option<String>,
    #[prop(optional, into)] hint: String,
    #[prop(optional, into)] id: String,
    #[prop(optional)] width: Width,
) -> impl IntoView {
    let about = About::new(id, name, label, hint, error, false, width);
    view! {
        <fieldset class=width.class() id=about.id.clone() aria-describedby=about.described_by()>
            <legend class="label">{about.label.clone()}</legend>
            <div class="radios">
                {choices
                    .into_iter()
                    .map(|Choice { value: this, label, more }| {
                        let chosen = this == value;
                        view! {
                            <label class="radio">
                                <input type="radio" name=about.name.clone() value=this checked=chosen />
                                <b>{label}</b>
                                {(!more.is_empty()).then(|| view! { <small>{more}</small> })}
                            </label>
                        }
                    })
                    .collect_view()}
            </div>
            <Below about=about.clone() />
        </fieldset>
    }
}

/// Any number of some: boxes of one name. `ticked` are the values that are chosen.
#[component]
pub fn ChecksField(
    #[prop(into)] name: String,
    #[prop(into)] label: String,
    choices: Vec<Choice>,
    ticked: Vec<String>,
    #[prop(optional_no_strip)] error: Option<String>,
    #[prop(optional, into)] hint: String,
    #[prop(optional)] width: Width,
) -> impl IntoView {
    let about = About::new(String::new(), name, label, hint, error, true, width);
    view! {
        <fieldset class=width.class() id=about.id.clone() aria-describedby=about.described_by()>
            <legend class="label">{about.label.clone()}</legend>
            <div class="checks">
                {choices
                    .into_iter()
                    .map(|Choice { value, label, more }| {
                        let checked = ticked.contains(&value);
                        view! {
                            <label class="check">
                                <input type="checkbox" name=about.name.clone() value=value checked=checked />
                                <span>{label} {(!more.is_empty()).then(|| view! { <small>{format!(" · {more}")}</small> })}</span>
                            </label>
                        }
                    })
                    .collect_view()}
            </div>
            <Below about=about.clone() />
        </fieldset>
    }
}
