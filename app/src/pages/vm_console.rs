//! The console of a VM: a page of its own that fills the window. A script draws a ticket by posting to the page's own address and
//! shows the screen (`app/script/console.js`); without it the page says what is needed.
use super::vm::{LIST, ON, find, find_to, href};
use crate::{
    parts::*,
    portal::{Routes, Sheet, Values, Visit},
};
use domain::console::{self, Seat};
use leptos::prelude::*;
use model::{Action, Result, can, vm::Vm};

pub(super) fn routes(r: Routes) -> Routes {
    r.both_look(&format!("{LIST}/{{id}}/console"), page, draw)
}

/// The button of a VM's page: grey with its reason where there is no screen to look at.
pub(super) fn button(visit: &Visit, v: &Vm) -> Option<AnyView> {
    super::vm::may(visit, v, Action::VmConsole).then(|| match can::vm(v, Action::VmConsole) {
        Ok(()) => view! {
            <a class="btn" href=href(visit, v.id, "/console")>
                <Icon name=Icon::Vm />
                "Console"
            </a>
        }
        .into_any(),
        Err(why) => {
            let why = format!("Not now: {why}");
            let title = why.clone();
            view! {
                <button type="button" class="btn" aria-disabled="true" title=title>
                    <Icon name=Icon::Vm />
                    "Console"
                    <span class="sr-only">{why}</span>
                </button>
            }
            .into_any()
        }
    })
}

/// The same in its menu, with the reason in words.
pub(super) fn line(visit: &Visit, v: &Vm) -> Option<AnyView> {
    super::vm::may(visit, v, Action::VmConsole).then(|| match can::vm(v, Action::VmConsole) {
        Ok(()) => view! { <MenuItem icon=Icon::Vm title="Console" href=href(visit, v.id, "/console") /> }.into_any(),
        Err(why) => view! { <MenuOff icon=Icon::Vm title="Console" why /> }.into_any(),
    })
}

async fn draw(visit: Visit, _: Values) -> Result<String> {
    let v = find_to(&visit, Action::VmConsole).await?;
    let session = &visit.ask.visitor.session_hash;
    Ok(console::acquire(visit.domain(), &visit.actor, session, v.id).await?.ticket)
}

/// What stands where the screen will be.
struct Says {
    title: String,
    reason: String,
    button: &'static str,
    /// The script may connect by itself.
    ready: bool,
}

fn says(visit: &Visit, v: &Vm, seat: Option<Seat>) -> Says {
    let closed = |reason: String| Says {
        title: "There is no console now".into(),
        reason,
        button: "Connect again",
        ready: false,
    };
    if let Some(e) = visit.fill().failure() {
        return closed(e.to_string());
    }
    if let Err(why) = can::vm(v, Action::VmConsole) {
        return closed(why);
    }
    match seat {
        Some(seat) => Says {
            title: match seat.own {
                true => "You have this console open elsewhere".into(),
                false => format!("{} is using this console", seat.name),
            },
            reason: format!(
                "It has been open for {}. A screen is shown to one at a time: opening it here closes it there.",
                span(visit.now - seat.since)
            ),
            button: "Take over",
            ready: false,
        },
        None => Says {
            title: "This page needs JavaScript".into(),
            reason: "The screen is drawn, and keys are sent, by a script. Without one, a viewer of VNC can use a ticket of the API.".into(),
            button: "Connect",
            ready: true,
        },
    }
}

async fn page(visit: Visit, ticket: Option<String>) -> Result<Sheet> {
    let v = find(&visit, Action::VmConsole).await?;
    let seat = console::seat(visit.domain(), &visit.actor, v.id).await?;
    let Says { title, reason, button, ready } = says(&visit, &v, seat);
    let back = href(&visit, v.id, "");
    let leave = format!("Back to {}", v.name);
    let script = format!("{}/pkg/console.js", visit.ask.portal.options.site_root);
    let label = format!("Screen of {}", v.name);
    let key = |keys: &'static str, title: &'static str| {
        view! {
            <button type="button" class="item" data-live="" data-keys=keys>
                <Icon name=Icon::Keyboard />
                <b>{title}</b>
            </button>
        }
    };
    let keys = [
        ("alt tab", "Alt-Tab"),
        ("alt f4", "Alt-F4"),
        ("ctrl alt f1", "Ctrl-Alt-F1"),
        ("ctrl alt f2", "Ctrl-Alt-F2"),
        ("print", "Print Screen"),
        ("super", "Windows key"),
    ];
    let keys = keys.map(|(keys, title)| key(keys, title)).collect_view();
    let body = view! {
        <div class="stage" id="console" data-ticket=ticket data-ready=ready.then_some("") data-state="closed">
            <header>
                <a class="btn icon quiet" href=back.clone() aria-label=leave>
                    <Icon name=Icon::Left />
                </a>
                <h1>{v.name.clone()}</h1>
                <span class="badge" data-part="state" role="status">
                    <Shape name=Shape::Disc />
                    <span>"Not connected"</span>
                </span>
                <span class="push"></span>
                <button type="button" class="btn" data-live="" data-act="cad">"Ctrl-Alt-Del"</button>
                <span data-script="">
                    <Menu label="Keys">{keys}</Menu>
                </span>
                <button
                    type="button"
                    class="btn"
                    data-script=""
                    data-act="paste"
                    aria-expanded="false"
                    aria-controls="paste"
                >
                    <Icon name=Icon::Paste />
                    "Paste"
                </button>
                <button type="button" class="btn icon" data-script="" data-act="full" aria-label="Full screen">
                    <Icon name=Icon::Expand />
                </button>
            </header>
            <div class="stage-body">
                <main id="main">
                    <div class="stage-screen" data-part="screen" role="application" aria-label=label hidden></div>
                    <div class="stage-dialog" data-part="dialog">
                        <h2 data-part="title">{title}</h2>
                        <p data-part="reason">{reason}</p>
                        <div class="acts">
                            <a class="btn" href=back>"Leave"</a>
                            <button type="button" class="btn primary" data-script="" data-part="connect" data-act="connect">
                                {button}
                            </button>
                        </div>
                    </div>
                </main>
                <aside id="paste" data-part="side" aria-label="Paste" hidden>
                    <form class="field" data-part="form">
                        <label for="paste-text">"Paste as typing"</label>
                        <textarea id="paste-text" class="in" rows="7" spellcheck="false" data-part="text"></textarea>
                        <p class="hint">
                            <span data-part="count"></span>
                            " It is typed as on a US keyboard, with Enter after each line but the last."
                        </p>
                        <div class="acts">
                            <button class="btn primary" data-live="">"Type it"</button>
                        </div>
                    </form>
                </aside>
            </div>
            <footer>
                <span>"Opening and closing is written to the audit."</span>
                <span data-script="">"Ctrl-Alt-Home gives the keyboard back to this page."</span>
                <noscript>"This page needs JavaScript."</noscript>
            </footer>
        </div>
        <script type="module" src=script></script>
    }
    .into_any();
    Ok(Sheet::new(format!("Console of {}", v.name), ON, Vec::new(), body).whole())
}
