//! Consoles: `GET /console/<ticket>` becomes a WebSocket that carries RFB between a viewer and a machine's hub. The ticket is the
//! leave to open it, once. What follows is looked at every some seconds, and ends with a code and a reason when it may not go on.
use crate::{
    AppState, auth,
    edge::{ClientAddr, Problem, RequestContext, may_open},
};
use app::portal::Visitor;
use axum::{
    Extension, Router,
    extract::{
        FromRequestParts, Path, Request, State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade},
    },
    http::{HeaderValue, StatusCode, header},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::get,
};
use domain::{
    Domain,
    console::{self, Console, End, IDLE, LOOK},
};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use hub::client::{PING_EVERY, VncReader, VncWriter};
use model::{Error, Kind, Origin, Via, event::News};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Semaphore, broadcast::error::RecvError},
    time::{Instant, interval_at, timeout, timeout_at},
};

/// So many consoles one server carries.
const AT_ONCE: usize = 500;
/// Viewers send keys, moves and at most a text.
const LARGEST: usize = 1 << 20;
/// More than two pings without anything from the viewer: it is gone.
const SILENCE: Duration = Duration::from_secs(75);
/// So many looks in a row may fail, as while the database is away.
const MISSES: u32 = 3;

#[derive(Clone)]
struct Consoles {
    state: AppState,
    slots: Arc<Semaphore>,
}

pub(crate) fn routes(state: AppState) -> Router {
    let consoles = Consoles { state: state.clone(), slots: Arc::new(Semaphore::new(AT_ONCE)) };
    let router = Router::new().route("/console/{ticket}", get(open)).with_state(consoles);
    router.layer(from_fn_with_state(state, auth::attach))
}

async fn open(
    State(consoles): State<Consoles>,
    Extension(visitor): Extension<Visitor>,
    Path(ticket): Path<String>,
    request: Request,
) -> Response {
    let ours = may_open(&request, &consoles.state.settings.api.cors_origins);
    let (mut parts, _) = request.into_parts();
    // first, so that looking at the address does not use the ticket up
    let Ok(upgrade) = WebSocketUpgrade::from_request_parts(&mut parts, &()).await else { return no_socket() };
    if !ours {
        let why = "A console is opened by a page of this site, and this request came from another one.";
        return Problem::new(StatusCode::FORBIDDEN, "Not from a page of this site", why).into_response();
    }
    let Ok(slot) = consoles.slots.clone().try_acquire_owned() else {
        let why = "As many consoles as this server carries are open. Try again in a moment.";
        return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "Too many consoles", why).retry_after(5).into_response();
    };
    let origin = Origin {
        via: if visitor.actor.is_some() { Via::Portal } else { Via::Vcd },
        address: parts.extensions.get::<ClientAddr>().map(|a| a.0.to_string()).unwrap_or_default(),
        request_id: parts.extensions.get::<RequestContext>().map(|c| c.id().to_owned()).unwrap_or_default(),
    };
    let state = consoles.state;
    let console = match console::redeem(&state.domain, &ticket, &visitor.session_hash, origin).await {
        Ok(console) => console,
        Err(Error::NotFound(_) | Error::SignInNeeded) => return no_ticket(),
        Err(e) => return Problem::from(e).into_response(),
    };
    let unused = (state.domain.clone(), console.clone());
    upgrade
        .protocols(["binary"])
        .max_message_size(LARGEST)
        .max_frame_size(LARGEST)
        .on_failed_upgrade(move |error| {
            tracing::debug!(%error, "a console was asked for and not opened");
            tokio::spawn(async move { console::forget(&unused.0, &unused.1).await });
        })
        .on_upgrade(async move |socket| {
            carry(&state, console, socket).await;
            drop(slot);
        })
}

fn no_ticket() -> Response {
    let why = "There is no such ticket: it was used, it is older than half a minute, or its session has ended. Open the console again.";
    Problem::new(StatusCode::NOT_FOUND, "No such ticket", why).into_response()
}

fn no_socket() -> Response {
    let why = "This address is for a WebSocket, and the request does not ask for one.";
    let mut answer = Problem::new(StatusCode::UPGRADE_REQUIRED, "A WebSocket is needed", why).into_response();
    answer.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    answer
}

/// From the first byte to the last, and to the line in the audit.
async fn carry(state: &AppState, console: Console, socket: WebSocket) {
    let d = &state.domain;
    let (mut to_viewer, from_viewer) = socket.split();
    let end = match console::open(d, &console).await {
        Ok(vnc) => {
            let (from_hub, mut to_hub) = vnc.split();
            let presence = Presence::default();
            let end = tokio::select! {
                end = up(from_viewer, &mut to_hub, &presence) => end,
                end = down(from_hub, &mut to_viewer) => end,
                end = watch(d, &console, &presence) => end,
                () = state.shutdown.begun() => End::Stopping,
            };
            to_hub.close().await;
            let end = explained(d, &console, end).await;
            if let Err(e) = console::close(d, &console, &end).await {
                tracing::warn!(error = %e, "the end of a console could not be written down yet");
            }
            end
        }
        Err(e) => End::Broken(shown(e)),
    };
    let bye = CloseFrame { code: code(&end), reason: short(&end.words()).into() };
    let _ = timeout(Duration::from_secs(2), to_viewer.send(Message::Close(Some(bye)))).await;
}

fn shown(e: Error) -> String {
    match e {
        Error::Internal(why) => {
            tracing::error!(error = why, "a console could not be opened");
            "Something went wrong here. It is written to the log.".into()
        }
        e => e.to_string(),
    }
}

/// A hub that closes a console does not say why; what is known of the machine may.
async fn explained(d: &Domain, console: &Console, end: End) -> End {
    match end {
        End::Closed => console::look(d, console, false).await.ok().flatten().unwrap_or(End::Closed),
        end => end,
    }
}

/// Codes of our own, beside those of RFC 6455.
fn code(end: &End) -> u16 {
    match end {
        End::Left | End::Closed => 1000,
        End::Stopping => 1001,
        End::Session => 4401,
        End::Right(_) => 4403,
        End::Idle => 4408,
        End::Machine(_) => 4409,
        End::Broken(_) => 4502,
    }
}

/// A reason has room for 123 bytes.
fn short(words: &str) -> String {
    let fits = |end: usize| words.is_char_boundary(end) && end <= 120;
    match words.len() {
        0..=123 => words.to_owned(),
        _ => format!("{}…", &words[..(0..=120).rev().find(|end| fits(*end)).unwrap_or(0)]),
    }
}

/// Whether somebody is at the keyboard.
struct Presence {
    last: Mutex<Instant>,
    since_look: AtomicBool,
}

impl Default for Presence {
    fn default() -> Self {
        Presence { last: Mutex::new(Instant::now()), since_look: AtomicBool::new(true) }
    }
}

impl Presence {
    /// Keys, the pointer and texts come from people; requests for pictures come by themselves.
    fn sent(&self, message: &[u8]) {
        if matches!(message.first(), Some(4..=6)) {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            self.since_look.store(true, Ordering::Relaxed);
        }
    }

    fn idle(&self) -> bool {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > IDLE
    }

    fn used(&self) -> bool {
        self.since_look.swap(false, Ordering::Relaxed)
    }
}

async fn up(mut from: SplitStream<WebSocket>, to: &mut VncWriter, presence: &Presence) -> End {
    let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    let mut heard = Instant::now();
    loop {
        let sent = tokio::select! {
            came = timeout_at(heard + SILENCE, from.next()) => {
                heard = Instant::now();
                match came {
                    Ok(Some(Ok(Message::Binary(bytes)))) => {
                        presence.sent(&bytes);
                        to.send(bytes).await
                    }
                    Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => Ok(()),
                    // RFB is no text
                    _ => return End::Left,
                }
            }
            _ = ping.tick() => to.ping().await,
        };
        if let Err(e) = sent {
            return broken(&e);
        }
    }
}

async fn down(mut from: VncReader, to: &mut SplitSink<WebSocket, Message>) -> End {
    let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    loop {
        let message = tokio::select! {
            came = from.next() => match came {
                Ok(Some(bytes)) => Message::Binary(bytes),
                Ok(None) => return End::Closed,
                Err(e) => return broken(&e),
            },
            _ = ping.tick() => Message::Ping(Default::default()),
        };
        if to.send(message).await.is_err() {
            return End::Left;
        }
    }
}

fn broken(e: &hub::Error) -> End {
    tracing::info!(error = %e, "a console broke");
    // a machine that stops pulls its screen away without a word
    match e {
        hub::Error::Unreachable { why: hub::error::Reach::Closed, .. } => End::Closed,
        e => End::Broken(e.for_tenants()),
    }
}

/// Until it may not go on: at once when something is told of the machine, of people or of roles, and every some seconds in any case.
async fn watch(d: &Domain, console: &Console, presence: &Presence) -> End {
    let mut changes = d.store.changes();
    let (mut next, mut misses) = (Instant::now() + LOOK, 0);
    loop {
        let look = match timeout_at(next, changes.recv()).await {
            Ok(Ok(News::One(change))) => match change.kind {
                Kind::User | Kind::Role | Kind::Org | Kind::Session => true,
                Kind::Vm | Kind::Vapp => change.id.is_none_or(|id| id == console.vm.0 || id == console.vapp.0),
                _ => false,
            },
            Ok(Ok(News::Much) | Err(RecvError::Lagged(_))) => true,
            Ok(Err(RecvError::Closed)) => {
                tokio::time::sleep_until(next).await;
                true
            }
            Err(_) => true,
        };
        if !look {
            continue;
        }
        if presence.idle() {
            return End::Idle;
        }
        match console::look(d, console, presence.used()).await {
            Ok(None) => misses = 0,
            Ok(Some(end)) => return end,
            Err(e) if misses >= MISSES => return End::Broken(shown(e)),
            Err(_) => misses += 1,
        }
        next = Instant::now() + LOOK;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_fits_into_its_frame() {
        assert_eq!(short("It does not run."), "It does not run.");
        let long = short(&"ä".repeat(100));
        assert!(long.len() <= 123 && long.ends_with("ä…"), "{long}");
    }

    #[test]
    fn only_people_press_keys() {
        let presence = Presence::default();
        assert!(presence.used());
        presence.sent(&[3, 1, 0, 0]);
        assert!(!presence.used());
        presence.sent(&[4, 1, 0, 0, 0, 0, 0, 97]);
        assert!(presence.used() && !presence.idle());
    }
}
