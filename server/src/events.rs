//! One stream a tab: it says that something changed, never what. Who may learn of a change is decided for each one, and
//! a session that ended ends its stream.
use crate::AppState;
use app::portal::Visitor;
use axum::{
    Extension,
    extract::State,
    http::{HeaderName, StatusCode, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use domain::session;
use futures::{StreamExt, stream};
use model::{Actor, Kind, event::News};
use std::{convert::Infallible, time::Duration};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// Even when nothing happens, a stream looks so often whether its session still lives.
const LOOK: Duration = Duration::from_secs(30);

struct Listener {
    state: AppState,
    actor: Actor,
    session: Vec<u8>,
    changes: Receiver<News>,
    over: bool,
}

/// What has become of a stream's session.
#[derive(PartialEq, Eq)]
enum Standing {
    Same,
    /// Another role, or other rights in it: the page shows what is possible now.
    Changed,
    /// The page is told once more, asks again and is sent to the sign-in.
    Over,
}

pub async fn stream(State(state): State<AppState>, Extension(visitor): Extension<Visitor>) -> Response {
    let Some(actor) = visitor.actor else {
        // 204 tells a browser not to come back; an error would stand in its console
        let status = if visitor.trouble.is_some() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::NO_CONTENT };
        return status.into_response();
    };
    let changes = state.domain.store.changes();
    let stop = state.shutdown.clone();
    let listener = Listener { state, actor, session: visitor.session_hash, changes, over: false };
    let hello = said("hello").retry(Duration::from_secs(2));
    let heard = stream::unfold(listener, async |mut l| l.next().await.map(|event| (Ok::<_, Infallible>(event), l)));
    let events = stream::once(async { Ok(hello) }).chain(heard).take_until(async move { stop.begun().await });
    (
        [(header::CACHE_CONTROL, "no-store"), (HeaderName::from_static("x-accel-buffering"), "no")],
        Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))),
    )
        .into_response()
}

impl Listener {
    /// The next thing to say; None ends the stream.
    async fn next(&mut self) -> Option<Event> {
        while !self.over {
            let change = match tokio::time::timeout(LOOK, self.changes.recv()).await {
                Ok(Ok(News::One(change))) => Some(change),
                // or fell behind: something happened, that much is sure
                Ok(Ok(News::Much) | Err(RecvError::Lagged(_))) => {
                    self.look().await;
                    return Some(changed());
                }
                Ok(Err(RecvError::Closed)) => return None,
                Err(_) => None,
            };
            // what may change who we are, or whether we are still here
            let about_us =
                change.as_ref().is_none_or(|c| matches!(c.kind, Kind::User | Kind::Role | Kind::Org | Kind::Session));
            if about_us && self.look().await != Standing::Same {
                return Some(changed());
            }
            if change.is_some_and(|c| domain::event::concerns(&self.actor, &c)) {
                return Some(changed());
            }
        }
        None
    }

    async fn look(&mut self) -> Standing {
        match session::who(&self.state.domain, &self.session, self.actor.origin.clone(), false).await {
            Ok(Some(actor)) if actor == self.actor => Standing::Same,
            Ok(Some(actor)) => {
                self.actor = actor;
                Standing::Changed
            }
            Ok(None) => {
                self.over = true;
                Standing::Over
            }
            // the database is away: the stream stays and looks again
            Err(_) => Standing::Same,
        }
    }
}

fn changed() -> Event {
    said("changed")
}

/// The name says it all, but browsers keep an event without data to themselves.
fn said(name: &str) -> Event {
    Event::default().event(name).data("1")
}
