//! Listens to /events. An event says only *that* something changed; the page is then fetched again from its own address and
//! the regions marked `data-live` are brought up to date, so filters, sorting, counts and rights are right by construction.
use super::{
    dom::{document, on},
    live::Link,
    morph,
};
use leptos::prelude::{Effect, RwSignal, Set, set_interval_with_handle, set_timeout, window};
use std::{
    cell::{Cell, RefCell},
    time::Duration,
};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{EventSource, Headers, PageTransitionEvent, RequestInit, Response};

/// At most one refresh in this time, however many events come.
const CALM: Duration = Duration::from_millis(150);
/// Words such as "2 min ago" grow old though nothing happens.
const AGES: Duration = Duration::from_secs(20);
/// Before a stream that the server refused is tried again.
const PAUSE: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, PartialEq)]
enum Turn {
    Idle,
    Waiting,
    Fetching,
    /// Something changed again while the page was being fetched.
    FetchingOld,
}

thread_local! {
    static SOURCE: RefCell<Option<EventSource>> = const { RefCell::new(None) };
    static TURN: Cell<Turn> = const { Cell::new(Turn::Idle) };
}

pub(super) fn start(link: RwSignal<Link>) {
    // An effect runs after the markup is hydrated.
    Effect::new(move |_| {
        connect(link);
        // not where a form is filled in: it has nothing that grows old and is looked at
        let _ = set_interval_with_handle(
            || {
                if follows() && !document().hidden() {
                    changed()
                }
            },
            AGES,
        );
        // A hidden tab holds no stream: over HTTP/1.1 a browser has six connections for all tabs together.
        on(&document(), "visibilitychange", move |_| if document().hidden() { disconnect() } else { resume(link) });
        // A page with an open stream is not kept for the back button.
        on(&window(), "pagehide", |_| disconnect());
        on(&window(), "pageshow", move |event| {
            if event.unchecked_ref::<PageTransitionEvent>().persisted() {
                resume(link);
            }
        });
    });
}

fn resume(link: RwSignal<Link>) {
    connect(link);
    changed();
}

fn connect(link: RwSignal<Link>) {
    disconnect();
    if document().hidden() {
        return;
    }
    let Ok(source) = EventSource::new("/events") else { return };
    on(&source, "open", move |_| {
        // whatever happened since the page was made, or since the stream was lost, was not heard
        changed();
        link.set(Link::Live);
    });
    on(&source, "changed", |_| changed());
    let this = source.clone();
    on(&source, "error", move |_| {
        link.set(Link::Lost);
        // Refused by a server that restarts or by one that ended the session: the browser does not try again by itself.
        if this.ready_state() == EventSource::CLOSED {
            set_timeout(move || resume(link), PAUSE);
        }
    });
    SOURCE.set(Some(source));
}

fn disconnect() {
    if let Some(source) = SOURCE.take() {
        source.close();
    }
}

fn changed() {
    match TURN.get() {
        Turn::Idle => {
            TURN.set(Turn::Waiting);
            set_timeout(|| spawn_local(refresh()), CALM);
        }
        Turn::Fetching => TURN.set(Turn::FetchingOld),
        Turn::Waiting | Turn::FetchingOld => {}
    }
}

/// A form stays whatever happens: what was typed can still be sent.
fn follows() -> bool {
    matches!(document().query_selector("#page[data-live]"), Ok(Some(_)))
}

async fn refresh() {
    TURN.set(Turn::Fetching);
    if let Ok((response, html)) = fetch_page().await {
        let follows = follows();
        if response.redirected() {
            // The session ended, or the thing is elsewhere now.
            if follows {
                let _ = window().location().replace(&response.url());
            }
        } else if response.ok() {
            morph::apply(&html);
        } else if follows && matches!(response.status(), 403 | 404) {
            // It was deleted, or may not be seen any more.
            let _ = window().location().reload();
        }
    }
    if TURN.replace(Turn::Idle) == Turn::FetchingOld {
        changed();
    }
}

async fn fetch_page() -> Result<(Response, String), JsValue> {
    let headers = Headers::new()?;
    headers.set("Accept", "text/html")?;
    headers.set("X-Refresh", "1")?; // leaves a waiting toast to the page that it is meant for
    let init = RequestInit::new();
    init.set_headers(&headers);
    let url = window().location().href()?;
    let response: Response = JsFuture::from(window().fetch_with_str_and_init(&url, &init)).await?.dyn_into()?;
    let html = JsFuture::from(response.text()?).await?.as_string().unwrap_or_default();
    Ok((response, html))
}
