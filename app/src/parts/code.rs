//! What a page makes or shows, as code: closed until asked for, one language at a time where the browser can do that, else all of them.
use super::{CopyButton, Icon};
use crate::code::{AsCode, Site, Way, sign_in};
use leptos::prelude::*;

const LANGUAGES: [(&str, &str); 3] = [("curl", "curl"), ("vcd-cli", "vcd-cli"), ("terraform", "Terraform")];

/// At the foot of a page.
#[component]
pub fn CodePanel(code: AsCode, site: Site) -> impl IntoView {
    let (title, lede) = match code.form {
        true => (
            "This form as code",
            "What the form held when this page was made. Names that begin with my- stand for what is not typed yet.",
        ),
        false => ("As code", "What is on this page, from outside."),
    };
    let doors = sign_in(&site, code.separator);
    let ways = [code.curl, code.vcd_cli, code.terraform];
    let copies = LANGUAGES.iter().zip(&ways).filter(|(_, way)| !way.code.is_empty()).map(|((lang, name), way)| {
        let (value, what) = (way.code.clone(), format!("the code for {name}"));
        view! { <span class="copy" data-lang=*lang><CopyButton value what /></span> }
    });
    let copies = copies.collect_view();
    let tabs = LANGUAGES.map(|(lang, name)| {
        let first = lang == LANGUAGES[0].0;
        view! {
            <label>
                <input type="radio" name="as-code" value=lang checked=first />
                {name}
            </label>
        }
    });
    let panes = LANGUAGES.into_iter().zip(ways).zip(doors).map(|(((lang, name), way), door)| {
        view! {
            <div class="code-pane" data-lang=lang>
                {text(lang, name, way)}
                {door_of(lang, name, door)}
            </div>
        }
    });
    let panes = panes.collect_view();
    view! {
        <details class="fold as-code" id="as-code">
            <summary>
                <Icon name=Icon::Right />
                {title}
            </summary>
            <p class="hint">{lede}</p>
            <div class="code">
                <fieldset class="code-tabs">
                    <legend class="sr-only">{format!("{title}: language")}</legend>
                    {tabs}
                    {copies}
                </fieldset>
                {panes}
            </div>
        </details>
    }
}

/// The code, if there is any, and what is to know about it.
fn text(lang: &'static str, name: &'static str, way: Way) -> impl IntoView {
    let Way { code, note } = way;
    let code = (!code.is_empty())
        .then(|| view! { <pre data-code=lang tabindex="0" role="region" aria-label=name>{code}</pre> });
    let note = (!note.is_empty()).then(|| view! { <p class="hint">{note}</p> });
    view! { {code} {note} }
}

fn door_of(lang: &'static str, name: &'static str, door: Way) -> impl IntoView {
    let Way { code, note } = door;
    let copy = (!code.is_empty()).then(|| {
        let (value, what) = (code.clone(), format!("how to sign in with {name}"));
        view! { <span class="copy"><CopyButton value what /></span> }
    });
    let code = (!code.is_empty()).then(|| {
        let label = format!("{name}, signing in");
        view! { <pre data-sign-in=lang tabindex="0" role="region" aria-label=label>{code}</pre> }
    });
    view! {
        <details class="fold" id=format!("sign-in-{lang}")>
            <summary>
                <Icon name=Icon::Right />
                "Sign in first"
            </summary>
            {copy}
            {code}
            <p class="hint">{note}</p>
        </details>
    }
}
