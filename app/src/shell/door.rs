//! The sign-in page: the form, and beside it the poster that teaches how to read all the others.
use super::layout::Logo;
use crate::parts::{Icon, Note, PasswordField, TextField, Tone};
use leptos::prelude::*;
use leptos_meta::Title;

/// Posts `org`, `user`, `password` to /sign-in; the button for single sign-on posts `with=sso` and shows only with
/// `sso`. `next` is the page to go to afterwards.
#[component]
pub fn Door(
    #[prop(optional, into)] org: String,
    #[prop(optional, into)] user: String,
    #[prop(optional, into)] next: String,
    #[prop(optional)] sso: bool,
    #[prop(optional_no_strip)] error: Option<String>,
    /// Further hidden fields.
    #[prop(optional)]
    hidden: Vec<(&'static str, String)>,
) -> impl IntoView {
    view! {
        <Title text="Sign in · SSVirt" />
        <div class="door">
            <main id="main">
                <form method="post" action="/sign-in" novalidate>
                    <p class="brand">
                        <Logo />
                        "SSVirt"
                    </p>
                    <div>
                        <h1>"Sign in"</h1>
                        <p class="text-ink-2">"To the organization whose machines you run."</p>
                    </div>
                    {error.map(|error| view! { <Note tone=Tone::Bad>{error}</Note> })}
                    <TextField
                        name="org"
                        label="Organization"
                        value=org
                        hint="The short name in your invitation. Provider staff use System."
                        autocomplete="organization"
                    />
                    {sso
                        .then(|| {
                            view! {
                                <button class="btn" name="with" value="sso">
                                    <Icon name=Icon::SignIn />
                                    "Sign in with SSO"
                                </button>
                                <p class="or">"or with a local account"</p>
                            }
                        })}
                    <TextField name="user" label="User name" value=user autocomplete="username" />
                    <PasswordField name="password" label="Password" autocomplete="current-password" />
                    {hidden
                        .into_iter()
                        .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
                        .collect_view()}
                    {(!next.is_empty()).then(|| view! { <input type="hidden" name="next" value=next /> })}
                    <button class="btn primary">"Sign in"</button>
                </form>
                <p class="hint mt-4">
                    "Lost your password? Your organization's administrator can set a new one. SSVirt keeps one cookie for the session and one for the theme you choose."
                </p>
            </main>
            <aside aria-label="How to read SSVirt">
                <Poster />
            </aside>
        </div>
    }
}

/// Dashed is last known, hatched is asked for, solid is seen.
#[component]
fn Poster() -> impl IntoView {
    let label = "How to read SSVirt: a dashed outline is a last known state, hatching is what was asked for, a solid shape is what is seen now.";
    view! {
        <svg class="poster" viewBox="0 0 720 720" role="img" aria-label=label>
            <defs>
                <pattern
                    id="hatch-poster"
                    width="13"
                    height="13"
                    patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)"
                >
                    <rect width="4.5" height="13" fill="currentColor" />
                </pattern>
            </defs>
            <rect
                x="330"
                y="70"
                width="270"
                height="270"
                rx="26"
                fill="none"
                stroke="currentColor"
                stroke-width="3"
                stroke-dasharray="13 9"
            />
            <rect x="225" y="195" width="270" height="270" rx="26" class="gap" />
            <rect
                x="225"
                y="195"
                width="270"
                height="270"
                rx="26"
                fill="url(#hatch-poster)"
                stroke="currentColor"
                stroke-width="3"
            />
            <rect x="120" y="320" width="270" height="270" rx="26" class="near" />
            <text x="600" y="368">
                "Last known"
            </text>
            <text x="495" y="493">
                "Asked for"
            </text>
            <text x="390" y="622">
                "Seen now"
            </text>
        </svg>
    }
}
