//! What the server holds, kept here by list and watch, so that an idle hub costs nothing.
use super::{
    api::{Api, code},
    json::Look,
    kind::Kind,
};
use futures::TryStreamExt;
use kube::api::WatchEvent;
use serde_json::Value;
use std::{
    collections::HashMap,
    fmt,
    pin::pin,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tokio::{sync::watch, time::sleep};

/// Namespace and name. The namespace is empty for kinds of the whole cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub namespace: String,
    pub name: String,
}

impl Key {
    pub(crate) fn new(namespace: &str, name: &str) -> Key {
        Key { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    pub(crate) fn of(object: &Value) -> Key {
        Key::new(object.namespace(), object.name())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Hears of every change of a kind: the object as it was and as it is.
pub(crate) type Listener = Box<dyn Fn(Option<&Value>, Option<&Value>) + Send + Sync>;

pub(crate) struct Shelf {
    pub(crate) kind: Kind,
    objects: RwLock<HashMap<Key, Arc<Value>>>,
    listeners: Vec<Listener>,
    filled: watch::Sender<bool>,
}

/// Between two tries to reach the server.
const RETRY: Duration = Duration::from_millis(250);
/// Between two looks for a kind the server does not have.
const ABSENT: Duration = Duration::from_secs(30);

impl Shelf {
    pub(crate) fn new(kind: Kind) -> Shelf {
        Shelf { kind, objects: RwLock::default(), listeners: Vec::new(), filled: watch::Sender::new(false) }
    }

    pub(crate) fn listen(&mut self, listener: Listener) {
        self.listeners.push(listener);
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Value>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Waits for the first complete list.
    pub(crate) async fn filled(&self) {
        // the sender lives as long as self
        let _ = self.filled.subscribe().wait_for(|filled| *filled).await;
    }

    /// Takes in what a write of our own answered, before the watch tells: the next look must not see less.
    pub(crate) fn learn(&self, object: Value) {
        if !object.has("/metadata/resourceVersion") {
            return;
        }
        if object.dying() && object.list("/metadata/finalizers").is_empty() {
            return self.forget(&Key::of(&object), object.uid());
        }
        self.store(object);
    }

    /// Drops an object the server says it does not have.
    pub(crate) fn forget(&self, key: &Key, uid: &str) {
        let old = {
            let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
            if objects.get(key).is_none_or(|o| o.uid() != uid) {
                return;
            }
            objects.remove(key)
        };
        self.tell(old.as_deref(), None);
    }

    /// Keeps the newer of two versions. Versions of one server are numbers that rise.
    fn store(&self, mut object: Value) {
        if object.get("kind").is_none() {
            object["kind"] = self.kind.kind.into();
            object["apiVersion"] = self.kind.api_version().into();
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let key = Key::of(&object);
        let object = Arc::new(object);
        let old = {
            let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
            if objects.get(&key).is_some_and(|old| version(old) >= version(&object)) {
                return;
            }
            objects.insert(key, object.clone())
        };
        self.tell(old.as_deref(), Some(&object));
    }

    fn tell(&self, old: Option<&Value>, new: Option<&Value>) {
        for listener in &self.listeners {
            listener(old, new);
        }
    }

    /// Lists, watches, and begins again whenever the server wants it. Ends only when it is dropped.
    pub(crate) async fn keep(&self, api: &Api) {
        loop {
            let wait = match self.list(api).await {
                Ok(version) => {
                    self.filled.send_replace(true);
                    match self.watch(api, version).await {
                        Ok(()) => Duration::ZERO,
                        Err(e) => {
                            tracing::debug!(kind = self.kind.kind, error = %e, "a watch ended");
                            RETRY
                        }
                    }
                }
                Err(e) if matches!(code(&e), Some(404 | 403)) => {
                    self.replace_all(Vec::new(), u64::MAX);
                    self.filled.send_replace(true);
                    ABSENT
                }
                Err(e) => {
                    tracing::debug!(kind = self.kind.kind, error = %e, "a list failed");
                    RETRY
                }
            };
            sleep(wait).await;
        }
    }

    async fn list(&self, api: &Api) -> Result<String, kube::Error> {
        let mut items = Vec::new();
        let mut next = None;
        loop {
            let page = api.page(self.kind, next).await?;
            items.extend(page.items);
            next = page.metadata.next.filter(|n| !n.is_empty());
            if next.is_none() {
                let version = page.metadata.resource_version;
                self.replace_all(items, version.parse().unwrap_or(u64::MAX));
                return Ok(version);
            }
        }
    }

    /// `listed`: the version of the list. What was learned of since then is not in it, and stays.
    fn replace_all(&self, items: Vec<Value>, listed: u64) {
        let present: HashMap<Key, String> = items.iter().map(|o| (Key::of(o), o.uid().to_owned())).collect();
        let gone: Vec<(Key, String)> = self
            .all()
            .iter()
            .filter(|o| version(o) <= listed)
            .map(|o| (Key::of(o), o.uid().to_owned()))
            .filter(|(key, uid)| present.get(key) != Some(uid))
            .collect();
        for (key, uid) in gone {
            self.forget(&key, &uid);
        }
        for object in items {
            self.store(object);
        }
    }

    /// Follows changes until the stream ends. An end is normal and continues from the last version seen.
    async fn watch(&self, api: &Api, mut version: String) -> Result<(), kube::Error> {
        loop {
            let mut stream = pin!(api.watch(self.kind, &version).await?);
            let mut any = false;
            while let Some(event) = stream.try_next().await? {
                any = true;
                match event {
                    WatchEvent::Added(o) | WatchEvent::Modified(o) => {
                        seen(&mut version, &o);
                        self.store(o);
                    }
                    WatchEvent::Deleted(o) => {
                        seen(&mut version, &o);
                        self.forget(&Key::of(&o), o.uid());
                    }
                    WatchEvent::Bookmark(b) => version = b.metadata.resource_version,
                    // 410 Expired among them: what happened since is unknown, so list again
                    WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
                }
            }
            if !any {
                // a server that ends watches at once must not make us spin
                sleep(RETRY).await;
            }
        }
    }
}

fn version(object: &Value) -> u64 {
    object.text("/metadata/resourceVersion").and_then(|v| v.parse().ok()).unwrap_or_default()
}

fn seen(version: &mut String, object: &Value) {
    if let Some(v) = object.text("/metadata/resourceVersion") {
        v.clone_into(version);
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::MACHINE;
    use super::*;
    use serde_json::json;
    use std::sync::Mutex;

    fn vm(name: &str, uid: &str, version: u64) -> Value {
        json!({"metadata": {"namespace": "a", "name": name, "uid": uid, "resourceVersion": version.to_string()}})
    }

    #[test]
    fn the_newer_version_wins_whoever_brings_it() {
        let shelf = Shelf::new(MACHINE);
        shelf.store(vm("x", "1", 10));
        shelf.learn(vm("x", "1", 12));
        shelf.store(vm("x", "1", 11));
        let kept = shelf.get(&Key::new("a", "x")).unwrap();
        assert_eq!(version(&kept), 12);
        assert_eq!(kept["kind"], "VirtualMachine");
    }

    #[test]
    fn a_list_tells_what_went_and_what_came_in_between() {
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let mut shelf = Shelf::new(MACHINE);
        let log = heard.clone();
        shelf.listen(Box::new(move |old, new| {
            log.lock().unwrap().push(format!("{} -> {}", old.map_or("", Look::uid), new.map_or("", Look::uid)));
        }));
        shelf.replace_all(vec![vm("x", "1", 1), vm("y", "2", 2)], 2);
        heard.lock().unwrap().clear();
        shelf.replace_all(vec![vm("y", "3", 5)], 5);
        let mut heard = heard.lock().unwrap().clone();
        heard.sort();
        assert_eq!(heard, [" -> 3", "1 -> ", "2 -> "]);
    }

    #[test]
    fn what_came_after_a_list_is_not_forgotten_for_it() {
        let shelf = Shelf::new(MACHINE);
        shelf.store(vm("x", "1", 21));
        shelf.store(vm("y", "2", 19));
        shelf.replace_all(Vec::new(), 20);
        assert!(shelf.get(&Key::new("a", "x")).is_some());
        assert!(shelf.get(&Key::new("a", "y")).is_none());
    }

    #[test]
    fn a_deletion_of_an_earlier_object_does_not_hide_a_later_one() {
        let shelf = Shelf::new(MACHINE);
        shelf.store(vm("x", "2", 20));
        shelf.forget(&Key::new("a", "x"), "1");
        assert!(shelf.get(&Key::new("a", "x")).is_some());
    }
}
