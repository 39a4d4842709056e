//! Watches: history from a version on, then what happens, one JSON document a line.

use super::{
    Api, Call, Door,
    read::{Form, Shown, form, list_options, selector},
    table,
};
use crate::{
    answer::{Refusal, Result, json_response},
    faults::{Fault, Faults},
    kinds::Kind,
    meta,
    select::Selector,
    store::{Change, KindId},
};
use axum::body::{Body, Bytes};
use futures::stream;
use http::Response;
use serde::Serialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch::Receiver,
    time::{Instant, sleep_until},
};

const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// The real server ends watches without a time limit after half an hour to an hour.
const LONGEST: Duration = Duration::from_secs(45 * 60);
/// How long a new watch lives while watches are being cut.
const CUT_AFTER: Duration = Duration::from_millis(500);

struct Watch {
    api: Arc<Api>,
    id: KindId,
    kind: Arc<Kind>,
    version: String,
    namespace: Option<String>,
    selector: Selector,
    form: Form,
    include: String,
    seen: u64,
    /// Lines to be sent before anything new.
    pending: Vec<u8>,
    bookmarks: bool,
    next_bookmark: Instant,
    deadline: Instant,
    /// Somebody pushes the hub's clock, and how far that was counted.
    pushes: Receiver<time::Duration>,
    pushed: time::Duration,
    columns_sent: bool,
    changed: Receiver<u64>,
    /// Faults cut watches from outside only.
    switches: Option<(Faults, Receiver<u64>)>,
    ended: bool,
}

impl Api {
    pub(super) async fn watch(self: &Arc<Self>, id: KindId, kind: &Arc<Kind>, call: &Call) -> Result<Response<Body>> {
        let form = form(call)?;
        let selector = selector(kind, call)?;
        let seconds = call.query.number("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
        list_options(call)?;
        let asked = call.query.text("resourceVersion");
        let from: u64 = match asked {
            "" => 0,
            text => text.parse().map_err(|_| {
                Refusal::internal(format!(
                    "resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
                ))
            })?,
        };
        let now = Instant::now();
        let limit = seconds.filter(|seconds| *seconds > 0).map_or(LONGEST, Duration::from_secs);
        let bookmarks = call.query.flag("allowWatchBookmarks");
        let initial = call.query.flag("sendInitialEvents") && call.query.get("sendInitialEvents").is_some();
        let outside = call.door == Door::Outside;
        let mut pushes = self.clock.pushes();
        let pushed = *pushes.borrow_and_update();
        let switches = outside.then(|| (self.faults.clone(), self.faults.switches()));
        let mut watch = {
            let state = self.state();
            Watch {
                api: self.clone(),
                id,
                kind: kind.clone(),
                version: call.path.version.clone(),
                namespace: call.path.namespace.clone().filter(|_| kind.namespaced),
                selector,
                form,
                include: call.query.text("includeObject").to_owned(),
                seen: from,
                pending: Vec::new(),
                bookmarks,
                next_bookmark: now + BOOKMARK_EVERY,
                deadline: now + limit,
                pushes,
                pushed,
                columns_sent: false,
                changed: state.changes(id),
                switches,
                ended: false,
            }
        };
        if outside && self.faults.is_on(Fault::WatchCut) {
            watch.deadline = watch.deadline.min(now + CUT_AFTER);
        }
        if from == 0 || initial {
            watch.start_with_all(asked.is_empty() || initial);
        } else {
            watch.look();
        }
        Ok(watch.respond())
    }
}

impl Watch {
    fn respond(self) -> Response<Body> {
        let mut response = json_response(200, &Value::Null);
        *response.body_mut() = Body::from_stream(stream::unfold(self, |mut watch| async move {
            let bytes = watch.next().await?;
            Some((Ok::<_, std::io::Error>(bytes), watch))
        }));
        response
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.wait_out_silence().await;
            if !self.pending.is_empty() {
                return Some(Bytes::from(std::mem::take(&mut self.pending)));
            }
            // its end comes with a bookmark, also where the clock was pushed past it
            if self.ended {
                return None;
            }
            let switched = async {
                match &mut self.switches {
                    Some((_, switches)) => drop(switches.changed().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = self.changed.changed() => {
                    if changed.is_err() {
                        return None;
                    }
                    self.look();
                }
                () = sleep_until(self.deadline.min(self.next_bookmark)) => {
                    while Instant::now() >= self.next_bookmark {
                        self.next_bookmark += BOOKMARK_EVERY;
                    }
                    if self.bookmarks {
                        self.look();
                        self.bookmark(false);
                    }
                    if Instant::now() >= self.deadline {
                        self.ended = true;
                    }
                }
                Ok(()) = self.pushes.changed() => self.hurry(),
                () = switched => {
                    if let Some((faults, _)) = &self.switches {
                        if faults.is_on(Fault::WatchCut) || faults.is_on(Fault::Refuse) {
                            return None;
                        }
                        if faults.is_on(Fault::Expired) {
                            self.look();
                        }
                    }
                }
            }
        }
    }

    /// A network that swallows everything swallows what open watches would say, too.
    async fn wait_out_silence(&mut self) {
        let Some((faults, switches)) = &mut self.switches else { return };
        let silent = || faults.is_on(Fault::BlackHole) || faults.is_on(Fault::WatchStalled);
        while silent() && switches.changed().await.is_ok() {}
    }

    /// The hub's clock was pushed: what is to come is so much nearer.
    fn hurry(&mut self) {
        let so_far = *self.pushes.borrow_and_update();
        let by = Duration::try_from(so_far - self.pushed).unwrap_or_default();
        self.pushed = so_far;
        let now = Instant::now();
        self.deadline = self.deadline.checked_sub(by).unwrap_or(now);
        self.next_bookmark = self.next_bookmark.checked_sub(by).unwrap_or(now);
    }

    /// The present as additions, and a mark where it ends.
    fn start_with_all(&mut self, mark: bool) {
        let api = self.api.clone();
        let state = api.state();
        let all: Vec<_> = state
            .list(self.id, self.namespace.as_deref())
            .filter(|object| self.selector.matches(object))
            .cloned()
            .collect();
        self.seen = state.version();
        drop(state);
        for object in all {
            self.send(Change::Added.name(), &object);
        }
        if mark && self.bookmarks {
            self.bookmark(true);
        }
    }

    /// Sends what has happened since.
    fn look(&mut self) {
        let api = self.api.clone();
        let (events, version, forgotten) = {
            let state = api.state();
            let expired = self.switches.as_ref().is_some_and(|(faults, _)| faults.is_on(Fault::Expired));
            let events = if expired && self.seen < state.version() { None } else { state.since(self.id, self.seen) };
            (events, state.version(), state.forgotten(self.id))
        };
        let Some(events) = events else {
            let message = format!("too old resource version: {} ({})", self.seen, forgotten.max(self.seen + 1));
            let status = Refusal::expired(message).status();
            self.line("ERROR", &status);
            self.ended = true;
            return;
        };
        for event in events {
            let namespace = self.namespace.as_deref();
            let wanted = |object: &Value| {
                namespace.is_none_or(|namespace| meta::namespace(object) == namespace) && self.selector.matches(object)
            };
            if let Some((change, object)) = event.seen(wanted) {
                self.send(change.name(), &object);
            }
        }
        // somebody may wait for a version that is still to come
        self.seen = self.seen.max(version);
    }

    fn send(&mut self, change: &str, object: &Value) {
        let shown = match self.form {
            Form::Metadata => table::metadata_only(object),
            Form::Table => {
                let first = !self.columns_sent;
                self.columns_sent = true;
                table::event_table(&self.kind, object, &self.include, self.api.clock.now(), first)
            }
            _ => {
                let api_version = self.kind.group_version(&self.version);
                self.line(change, &Shown { object, api_version: Some(&api_version) });
                return;
            }
        };
        self.line(change, &shown);
    }

    fn bookmark(&mut self, end_of_initial: bool) {
        let mut metadata = json!({"resourceVersion": self.seen.to_string()});
        if end_of_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut object = json!({
            "apiVersion": self.kind.group_version(&self.version), "kind": self.kind.kind, "metadata": metadata,
        });
        if self.form == Form::Metadata {
            object["apiVersion"] = "meta.k8s.io/v1".into();
            object["kind"] = "PartialObjectMetadata".into();
        } else if !self.kind.custom {
            // built-in kinds print their zero values
            object["metadata"]["creationTimestamp"] = Value::Null;
        }
        if self.form == Form::Table {
            object = table::event_table(&self.kind, &object, &self.include, self.api.clock.now(), !self.columns_sent);
            self.columns_sent = true;
        }
        self.line("BOOKMARK", &object);
    }

    fn line(&mut self, change: &str, object: &impl Serialize) {
        #[derive(Serialize)]
        struct Line<'a, T> {
            #[serde(rename = "type")]
            change: &'a str,
            object: &'a T,
        }
        // values become text without fail
        if serde_json::to_writer(&mut self.pending, &Line { change, object }).is_ok() {
            self.pending.push(b'\n');
        }
    }
}
