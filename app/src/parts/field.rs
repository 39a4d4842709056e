//! Fields of a form to type into: label above, hint below, error below that. All take `name`, `label`, `value` and `error`; the id is the
//! name unless given. A field is required unless it is marked `optional`.
mod choice;

use super::Icon;
use leptos::prelude::*;

pub use choice::*;

/// How many of the six columns of `.fields` a field takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    #[default]
    Full,
    TwoThirds,
    Half,
    Third,
}

impl Width {
    fn class(self) -> &'static str {
        match self {
            Width::Full => "field",
            Width::TwoThirds => "field w4",
            Width::Half => "field w3",
            Width::Third => "field w2",
        }
    }
}

/// What every field shares, and the ids by which a screen reader connects it.
#[derive(Clone, Default)]
struct About {
    id: String,
    name: String,
    label: String,
    hint: String,
    error: Option<String>,
    optional: bool,
    width: Width,
}

impl About {
    fn new(
        id: String,
        name: String,
        label: String,
        hint: String,
        error: Option<String>,
        optional: bool,
        width: Width,
    ) -> Self {
        let id = if id.is_empty() { name.clone() } else { id };
        About { id, name, label, hint, error, optional, width }
    }

    fn described_by(&self) -> Option<String> {
        let hint = (!self.hint.is_empty()).then(|| format!("{}-hint", self.id));
        let error = self.error.is_some().then(|| format!("{}-error", self.id));
        match (error, hint) {
            (Some(error), Some(hint)) => Some(format!("{error} {hint}")),
            (error, hint) => error.or(hint),
        }
    }

    fn invalid(&self) -> Option<&'static str> {
        self.error.is_some().then_some("true")
    }

    fn required(&self) -> Option<&'static str> {
        (!self.optional).then_some("true")
    }
}

#[component]
fn Frame(about: About, children: Children) -> impl IntoView {
    view! {
        <div class=about.width.class()>
            <label class="label" for=about.id.clone()>
                {about.label.clone()}
                {about.optional.then(|| view! { <small>"optional"</small> })}
            </label>
            {children()}
            <Below about=about.clone() />
        </div>
    }
}

/// Error and hint.
#[component]
fn Below(about: About) -> impl IntoView {
    let About { id, hint, error, .. } = about;
    let hint_id = format!("{id}-hint");
    view! {
        {error
            .map(|error| {
                view! {
                    <p class="err" id=format!("{id}-error")>
                        <Icon name=Icon::Warn />
                        <span>{error}</span>
                    </p>
                }
            })}
        {(!hint.is_empty())
            .then(|| {
                view! {
                    <p class="hint" id=hint_id>
                        {hint}
                    </p>
                }
            })}
    }
}

/// The one-line inputs differ in their type and their autocomplete word.
fn line(about: About, kind: &'static str, value: String, autocomplete: &'static str) -> impl IntoView {
    let word = (!autocomplete.is_empty()).then_some(autocomplete);
    let plain = (kind == "text" || kind == "email").then_some("none");
    view! {
        <Frame about=about.clone()>
            <input
                class="in"
                type=kind
                id=about.id.clone()
                name=about.name.clone()
                value=(kind != "password").then_some(value)
                autocomplete=word
                autocapitalize=plain
                spellcheck=plain.map(|_| "false")
                aria-required=about.required()
                aria-invalid=about.invalid()
                aria-describedby=about.described_by()
            />
        </Frame>
    }
}

#[component]
pub fn TextField(
    #[prop(into)] name: String,
    #[prop(into)] label: String,
    #[prop(optional, into)] value: String,
    #[prop(optional_no_strip)] error: Option<String>,
    #[prop(optional, into)] hint: String,
    #[prop(optional, into)] id: String,
    #[prop(optional)] optional: bool,
    #[prop(optional)] width: Width,
    #[prop(optional)] autocomplete: &'static str,
) -> impl IntoView {
    line(About::new(id, name, label, hint, error, optional, width), "text", value, autocomplete)
}

#[component]
pub fn EmailField(
    #[prop(into)] name: String,
    #[prop(into)] label: String,
    #[prop(optional, into)] value: String,
    #[prop(optional_no_strip)] error: Option<String>,
    #[prop(optional, into)] hint: String,
    #[prop(optional, into)] id: String,
    #[prop(optional)] optional: bool,
    #[prop(optional)] width: Width,
    #[prop(optional)] autocomplete: &'static str,
) -> impl IntoView {
    line(About::new(id, name, label, hint, error, optional, width), "email", value, autocomplete)
}

/// Never carries a value: a password is typed again after an error. `autocomplete` is `new-password` or `current-password`.
#[component]
pub fn PasswordField(
    #[prop(into)] name: String,
    #[prop(into)] label: String,
    #[prop(optional_no_strip)] error: Option<String>,
    #[prop(optional, into)] hint: String,
    #[prop(optional, into)] id: String,
    #[prop(optional)] optional: bool,
    #[prop(optional)] width: Width,
    autocomplete: &'static str,
) -> impl IntoView {
    line(About::new(id, name, label, hint, error, optional, width), "password", String::new(), autocomplete)
}

/// A whole number with its unit beside it. The value is text, so that what was typed survives an error.
#[component]
pub fn NumberField(
    #[prop(into)] name: String,
    #[prop(into)] label: String,
    #[prop(optional, into)] value: String,
    #[prop(optional, into)] unit: String,
    #[prop(optional_no_strip)] error: Option<String>,
    #[prop(optional, into)] hint: String,
    #[prop(optional, into)] id: String,
    #[prop(optional)] optional: bool,
    #[prop(optional)] width: Width,
) -> impl IntoView {
    let about = About::new(id, name, label, hint, error, optional, width);
    view! {
        <Frame about=about.clone()>
            <div class="unit">
                <input
                    class="in"
                    inputmode="numeric"
                    autocomplete="off"
                    id=about.id.clone()
                    name=about.name.clone()
                    value=value
                    aria-required=about.required()
                    aria-invalid=about.invalid()
                    aria-describedby=about.described_by()
                />
                {(!unit.is_empty()).then(|| view! { <span>{unit}</span> })}
            </div>
        </Frame>
    }
}

#[component]
pub fn TextArea(
    #[prop(into)] name: String,
    #[prop(into)] label: String,
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
            <textarea
                class="in"
                rows="4"
                id=about.id.clone()
                name=about.name.clone()
                aria-required=about.required()
                aria-invalid=about.invalid()
                aria-describedby=about.described_by()
            >
                {value}
            </textarea>
        </Frame>
    }
}

/// A value that cannot be changed here, and who fixed it ("set by the provider").
#[component]
pub fn LockedField(
    #[prop(into)] name: String,
    #[prop(into)] label: String,
    #[prop(into)] value: String,
    #[prop(into)] why: String,
    #[prop(optional)] width: Width,
) -> impl IntoView {
    let label_id = format!("{name}-label");
    view! {
        <div class=width.class()>
            <span class="label" id=label_id.clone()>
                {label}
                <small>{why}</small>
            </span>
            <div class="locked" role="group" aria-labelledby=label_id>
                <Icon name=Icon::Lock />
                <span>{value}</span>
            </div>
        </div>
    }
}
