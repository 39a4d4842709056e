//! The screen of a running instance: a WebSocket that carries RFB. There is one viewer: a second one takes its place, unless it
//! asks with `preserveSession` not to.
use super::{VirtApi, internal, refusal};
use crate::actors::{
    condition,
    json::Look,
    kind::INSTANCE,
    machine::strategy,
    screen::{
        Screen,
        rfb::{VERSION, Viewer},
    },
};
use axum::{
    body::Body,
    extract::{
        FromRequestParts,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    response::IntoResponse,
};
use http::{Response, request::Parts};
use refusal::Refusal;
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;

/// What clients may ask for; without any it is taken too.
const PROTOCOL: &str = "plain.kubevirt.io";
/// How often it is looked at whether the machine still runs.
const LOOK: Duration = Duration::from_millis(250);
/// Clients send keys and requests, and at most a text.
const LONGEST: usize = 1 << 20;

/// Who looks at which instance, by its uid.
#[derive(Clone, Default)]
pub(crate) struct Viewers(Arc<Mutex<HashMap<String, Arc<Notify>>>>);

impl Viewers {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever looked until now is told to go. None: they are left alone, as asked for.
    fn come(&self, uid: &str, preserve: bool) -> Option<Arc<Notify>> {
        let mut all = self.all();
        if let Some(other) = all.get(uid) {
            if preserve {
                return None;
            }
            other.notify_one();
        }
        let mine = Arc::new(Notify::new());
        all.insert(uid.to_owned(), mine.clone());
        Some(mine)
    }

    fn go(&self, uid: &str, mine: &Arc<Notify>) {
        let mut all = self.all();
        if all.get(uid).is_some_and(|now| Arc::ptr_eq(now, mine)) {
            all.remove(uid);
        }
    }
}

impl VirtApi {
    /// Everything is checked before the upgrade, so that a refusal is an answer like any other.
    pub(crate) async fn vnc(&self, parts: &mut Parts, namespace: &str, name: &str) -> Result<Response<Body>, Refusal> {
        let vmi = self.api.get(INSTANCE, namespace, name).await.map_err(internal)?;
        let vmi = vmi.ok_or_else(|| Refusal::not_found(refusal::INSTANCE, name))?;
        check(&vmi)?;
        let upgrade = match WebSocketUpgrade::from_request_parts(parts, &()).await {
            Ok(upgrade) => upgrade.protocols([PROTOCOL]).max_message_size(LONGEST),
            Err(no) => return Ok(no.into_response()),
        };
        let preserve = parts.uri.query().unwrap_or_default().split('&').any(|q| q == "preserveSession=true");
        let uid = vmi.uid().to_owned();
        let Some(mine) = self.viewers.come(&uid, preserve) else { return Err(Refusal::in_use()) };
        let this = self.clone();
        let failed = (self.viewers.clone(), uid.clone(), mine.clone());
        let upgrade = upgrade.on_failed_upgrade(move |_| failed.0.go(&failed.1, &failed.2));
        Ok(upgrade.on_upgrade(async move |socket| {
            tokio::select! {
                () = this.show(socket, vmi) => {}
                () = mine.notified() => {}
            }
            this.viewers.go(&uid, &mine);
        }))
    }

    /// Until the viewer goes or the machine stops.
    async fn show(&self, mut socket: WebSocket, vmi: Value) {
        let (namespace, name, uid) = (vmi.namespace().to_owned(), vmi.name().to_owned(), vmi.uid().to_owned());
        let mut viewer = Viewer::new(&name, Screen::new(&name, state(&vmi)));
        if socket.send(Message::Binary(VERSION.to_vec().into())).await.is_err() {
            return;
        }
        let mut look = tokio::time::interval(LOOK);
        loop {
            let out = tokio::select! {
                came = socket.recv() => match came {
                    Some(Ok(Message::Binary(bytes))) => viewer.feed(&bytes).ok(),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => Some(Vec::new()),
                    _ => None,
                },
                _ = look.tick() => match self.api.get(INSTANCE, &namespace, &name).await {
                    Ok(Some(now)) if now.uid() == uid && check(&now).is_ok() => Some(viewer.state(state(&now))),
                    _ => None,
                },
            };
            let Some(out) = out else { return };
            if !out.is_empty() && socket.send(Message::Binary(out.into())).await.is_err() {
                return;
            }
        }
    }
}

fn check(vmi: &Value) -> Result<(), Refusal> {
    if vmi.pointer("/spec/domain/devices/autoattachGraphicsDevice") == Some(&Value::Bool(false)) {
        return Err(Refusal::bad_request("No graphics devices are present."));
    }
    match strategy::phase(vmi) {
        "Running" => Ok(()),
        "Failed" => Err(Refusal::conflict(refusal::INSTANCE, vmi.name(), "VMI is in failed status")),
        _ => Err(Refusal::bad_request("VMI is not running")),
    }
}

fn state(vmi: &Value) -> &'static str {
    if condition::is(vmi, "Paused", "True") { "Paused" } else { "Running" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_runs_and_has_a_screen_is_shown() {
        let of = |phase: &str| json!({"metadata": {"name": "a"}, "spec": {}, "status": {"phase": phase}});
        assert!(check(&of("Running")).is_ok());
        let failed = check(&of("Failed")).unwrap_err();
        assert!(failed.code == 409 && failed.message.ends_with("VMI is in failed status"));
        let not_yet = check(&of("Scheduled")).unwrap_err();
        assert_eq!((not_yet.code, not_yet.message.as_str()), (400, "VMI is not running"));
        let mut blind = of("Running");
        blind["spec"] = json!({"domain": {"devices": {"autoattachGraphicsDevice": false}}});
        assert_eq!(check(&blind).unwrap_err().message, "No graphics devices are present.");
    }

    #[tokio::test]
    async fn a_second_viewer_takes_over_or_is_refused_as_it_asks() {
        let viewers = Viewers::default();
        let first = viewers.come("u", true).unwrap();
        assert!(viewers.come("u", true).is_none());
        let second = viewers.come("u", false).unwrap();
        first.notified().await;
        viewers.go("u", &first);
        assert!(viewers.come("u", true).is_none(), "the second one is still there");
        viewers.go("u", &second);
        assert!(viewers.come("u", true).is_some());
    }
}
