//! Following a kind of objects on a hub: everything once, then each change, and everything again every few minutes. Each
//! object is made small as it is read, so that ten thousand VMs stay a few megabytes.
use crate::{
    Client, Key, Resource, answer,
    client::Call,
    error::{Error, Reach, Result},
};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::time::{Instant, sleep_until, timeout_at};

/// What a watcher tells. A snapshot that lacks an object does not prove that it is gone: `Client::is_gone` does.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<T> {
    /// All there is under the selector, now.
    Snapshot(Vec<T>),
    /// New or changed; also what lost its label and still lives.
    Changed(T),
    /// Checked: no object of that name with that uid is there any more.
    Gone { key: Key, uid: String },
    /// Nothing changed, and the hub said so.
    Alive(OffsetDateTime),
    /// The hub could not be followed; it is tried again by itself.
    Trouble(Error),
}

#[derive(Clone, Debug)]
pub struct Follow {
    pub resource: Resource,
    pub namespace: Option<String>,
    /// A label selector; empty: all.
    pub selector: String,
    pub relist: Duration,
    /// Silence after which a watch is opened anew. Hubs send a bookmark every minute.
    pub silence: Duration,
}

impl Follow {
    pub fn new(resource: Resource, selector: impl Into<String>) -> Follow {
        Follow {
            resource,
            namespace: None,
            selector: selector.into(),
            relist: Duration::from_secs(300),
            silence: Duration::from_secs(100),
        }
    }
}

/// A watch that ends or breaks within such a time after it was opened is not opened anew at once.
const SOON: Duration = Duration::from_secs(1);

/// The longest line of a watch that is read; objects are at most 1.5 MiB on a hub.
const LONGEST: usize = 16 << 20;

pub struct Watcher<T, F> {
    client: Client,
    follow: Follow,
    project: F,
    phase: Phase,
    pause: Duration,
    not_before: Instant,
    relist_at: Instant,
    /// A deletion that was reported and is not checked yet.
    doubted: Option<(Key, String)>,
    /// Its connection broke soon after it was opened, and nothing was heard since.
    broke: bool,
    _makes: std::marker::PhantomData<fn() -> T>,
}

enum Phase {
    List,
    Open { version: String },
    Read(Box<Reading>),
}

struct Reading {
    body: Incoming,
    buffer: Vec<u8>,
    /// How much of the buffer was searched for a line's end already.
    searched: usize,
    version: String,
    opened: Instant,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

impl Client {
    /// `project`: what is kept of an object; None passes it over.
    pub fn watch<T, F: Fn(&Value) -> Option<T>>(&self, follow: Follow, project: F) -> Watcher<T, F> {
        let now = Instant::now();
        Watcher {
            client: self.clone(),
            follow,
            project,
            phase: Phase::List,
            pause: self.options().first_rest,
            not_before: now,
            relist_at: now,
            doubted: None,
            broke: false,
            _makes: std::marker::PhantomData,
        }
    }
}

impl<T, F: Fn(&Value) -> Option<T>> Watcher<T, F> {
    /// The next event; never ends. May be dropped and called again without losing one; a list that was being read is then
    /// read anew, so whoever waits for other things too takes the stream.
    pub async fn next(&mut self) -> Event<T> {
        loop {
            sleep_until(self.not_before).await;
            match self.step().await {
                Ok(Some(event)) => return event,
                Ok(None) => {}
                // history is too short: list, without a word
                Err(Error::Expired(_)) => {
                    self.phase = Phase::List;
                    self.rest(None);
                }
                Err(e) => {
                    self.rest(match e {
                        Error::Throttled { retry_after } => Some(retry_after),
                        _ => None,
                    });
                    return Event::Trouble(self.client.cause(e));
                }
            }
        }
    }

    /// As a stream, for those who want to combine it. What it is at goes on, whatever else is polled.
    pub fn stream(self) -> impl futures::Stream<Item = Event<T>> {
        futures::stream::unfold(self, |mut watcher| async move {
            let event = watcher.next().await;
            Some((event, watcher))
        })
    }

    async fn step(&mut self) -> Result<Option<Event<T>>> {
        if self.doubted.is_some() {
            return self.settle().await;
        }
        match &mut self.phase {
            Phase::List => self.list().await.map(Some),
            Phase::Open { .. } if Instant::now() >= self.relist_at => {
                self.phase = Phase::List;
                Ok(None)
            }
            Phase::Open { version } => {
                let version = version.clone();
                self.open(version).await?;
                Ok(None)
            }
            Phase::Read(_) => self.read().await,
        }
    }

    async fn list(&mut self) -> Result<Event<T>> {
        let Follow { resource, namespace, selector, .. } = &self.follow;
        let (all, version) = self.client.list(resource, namespace.as_deref(), selector, &self.project).await?;
        self.relist_at = Instant::now() + self.follow.relist.mul_f64(rand::random_range(0.9..1.1));
        self.phase = Phase::Open { version };
        self.pause = self.client.options().first_rest;
        Ok(Event::Snapshot(all))
    }

    async fn open(&mut self, version: String) -> Result<()> {
        let Follow { resource, namespace, selector, .. } = &self.follow;
        // the hub ends the watch by itself before the relist would
        let ends = rand::random_range(240..300).to_string();
        let mut call = Call::get(resource.path(namespace.as_deref()))
            .with("watch", "1")
            .with("resourceVersion", version.clone())
            .with("allowWatchBookmarks", "true")
            .with("timeoutSeconds", ends);
        if !selector.is_empty() {
            call = call.with("labelSelector", selector.clone());
        }
        let body = self.client.open(call).await?;
        let opened = Instant::now();
        self.phase = Phase::Read(Box::new(Reading { body, buffer: Vec::new(), searched: 0, version, opened }));
        Ok(())
    }

    async fn read(&mut self) -> Result<Option<Event<T>>> {
        let Phase::Read(reading) = &mut self.phase else { return Ok(None) };
        let silent_at = Instant::now() + self.follow.silence;
        let line = match timeout_at(silent_at.min(self.relist_at), next_line(reading, &self.client)).await {
            Ok(Ok(Some(line))) => line,
            Ok(Ok(None)) => {
                // the hub ended it, which is usual; too soon, and it would be a storm
                let soon = reading.opened.elapsed() < SOON;
                self.phase = Phase::Open { version: std::mem::take(&mut reading.version) };
                if soon {
                    self.rest(None);
                }
                return Ok(None);
            }
            Ok(Err(e)) => {
                let soon = reading.opened.elapsed() < SOON;
                self.phase = Phase::Open { version: std::mem::take(&mut reading.version) };
                // as when a load balancer starts anew: whether the hub is there is seen by opening another one at once
                if !e.is_transport() || (soon && std::mem::replace(&mut self.broke, true)) {
                    return Err(e);
                }
                if soon {
                    self.rest(None);
                }
                return Ok(None);
            }
            Err(_) if Instant::now() >= self.relist_at => {
                self.phase = Phase::List;
                return Ok(None);
            }
            Err(_) => {
                self.phase = Phase::Open { version: std::mem::take(&mut reading.version) };
                let detail = format!("a watch of {} was silent for too long", self.follow.resource.name());
                return Err(Error::Unreachable { why: Reach::Timeout, detail });
            }
        };
        self.take(&line)
    }

    fn take(&mut self, line: &[u8]) -> Result<Option<Event<T>>> {
        let Phase::Read(reading) = &mut self.phase else { return Ok(None) };
        let Ok(Line { kind, object }) = serde_json::from_slice::<Line>(line) else {
            // one half of a line, as at the end of a cut connection: what follows can't be trusted
            self.phase = Phase::Open { version: std::mem::take(&mut reading.version) };
            return Err(Error::Odd(format!("a watch of {} sent what is no event", self.follow.resource.name())));
        };
        if kind == "ERROR" {
            let status: answer::Status = serde_json::from_value(object).unwrap_or_default();
            self.phase = Phase::Open { version: std::mem::take(&mut reading.version) };
            return Err(answer::classify(status.code, None, status));
        }
        if let Some(version) = object["metadata"]["resourceVersion"].as_str() {
            reading.version = version.to_owned();
        }
        self.client.alive();
        self.broke = false;
        self.pause = self.client.options().first_rest;
        let of = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        Ok(match kind.as_str() {
            "ADDED" | "MODIFIED" => (self.project)(&object).map(Event::Changed),
            "DELETED" => {
                let (key, uid) =
                    (Key::new(of("/metadata/namespace"), of("/metadata/name")), of("/metadata/uid").to_owned());
                // without a selector nothing can leave it
                if self.follow.selector.is_empty() {
                    return Ok(Some(Event::Gone { key, uid }));
                }
                self.doubted = Some((key, uid));
                None
            }
            _ => Some(Event::Alive(self.client.now())),
        })
    }

    /// Looks whether what left the selector is gone.
    async fn settle(&mut self) -> Result<Option<Event<T>>> {
        let Some((key, uid)) = self.doubted.clone() else { return Ok(None) };
        let event = match self.client.get(&self.follow.resource, &key).await {
            Ok(object) if object["metadata"]["uid"] == uid.as_str() => (self.project)(&object).map(Event::Changed),
            Ok(_) | Err(Error::NotFound(_)) => Some(Event::Gone { key, uid }),
            Err(e) => return Err(e),
        };
        self.doubted = None;
        Ok(event)
    }

    /// Waits longer each time, with jitter, until something works again.
    fn rest(&mut self, asked: Option<Duration>) {
        let pause = asked.unwrap_or(self.pause).max(self.pause);
        self.not_before = Instant::now() + pause.mul_f64(rand::random_range(0.8..1.2));
        self.pause = (self.pause * 2).min(self.client.options().longest_rest);
    }
}

/// None: the stream ended. Dropping it halfway loses nothing: what was read stays in the buffer.
async fn next_line(reading: &mut Reading, client: &Client) -> Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = reading.buffer[reading.searched..].iter().position(|b| *b == b'\n') {
            let rest = reading.buffer.split_off(reading.searched + end + 1);
            let line = std::mem::replace(&mut reading.buffer, rest);
            reading.searched = 0;
            if line.trim_ascii().is_empty() {
                continue;
            }
            return Ok(Some(line));
        }
        reading.searched = reading.buffer.len();
        if reading.buffer.len() > LONGEST {
            return Err(Error::Odd("a watch sent a line without an end".into()));
        }
        match reading.body.frame().await {
            Some(Ok(frame)) => reading.buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |d| d.as_ref())),
            Some(Err(e)) => return Err(client.broken(&e)),
            None => return Ok(None),
        }
    }
}
