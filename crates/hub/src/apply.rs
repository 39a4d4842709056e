//! What is done to objects on a hub, so that a call that is repeated, late or lost makes no second object and touches no
//! stranger: creates adopt what they find of ours, changes and deletes carry the uid of the object they are meant for.
use crate::{
    Client, Key, Resource,
    client::{Call, FIELD_MANAGER},
    error::{Error, Result},
    read::{self, Meta},
    resource::NAMESPACES,
    shape::{names::VDC_ID, patch::fenced},
};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use uuid::Uuid;

/// The label by which an object is ours, such as its VM's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub label: &'static str,
    pub value: String,
}

impl Owner {
    pub fn new(label: &'static str, value: impl ToString) -> Owner {
        Owner { label, value: value.to_string() }
    }
}

/// A page of a list. Its objects are read one by one: whole pages of them would take many times what is kept.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Page<'a> {
    kind: String,
    metadata: PageMeta,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PageMeta {
    #[serde(rename = "continue")]
    next: String,
    #[serde(rename = "resourceVersion")]
    version: String,
}

/// The namespace something is made in: it must be the VDC's own, and the one we know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    pub namespace: String,
    pub uid: String,
    pub vdc: Uuid,
}

/// An object that is there and ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub uid: String,
    /// It was there already: made by an earlier try whose answer was lost.
    pub adopted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// It is not there any more.
    Gone,
    /// Finalizers hold it; a watch or another call tells when it is gone.
    UnderWay,
}

/// How far a delete reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// What it owns goes after it.
    #[default]
    Background,
    /// What it owns goes first: it is gone when they are.
    Foreground,
}

/// A page of a list.
const PAGE: u32 = 100;

impl Client {
    pub async fn get(&self, resource: &Resource, key: &Key) -> Result<Value> {
        let object = self.call(Call::get(path(resource, key)?)).await?.json()?;
        // what is something else must not look like a change, let alone like a deletion
        match read::meta(&object) {
            Some(meta) if meta.key.name == key.name && !meta.uid.is_empty() => Ok(object),
            _ => Err(Error::Odd(format!("asked for {} {key}, something else came", resource.kind))),
        }
    }

    /// All of a kind, in one namespace or everywhere, each made small as it comes: whole objects are never kept.
    /// Also gives the resourceVersion a watch can go on from.
    pub async fn list<T>(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &str,
        project: impl Fn(&Value) -> Option<T>,
    ) -> Result<(Vec<T>, String)> {
        match self.list_once(resource, namespace, selector, &project).await {
            // a page's token went stale on a long list: once more from the start
            Err(Error::Expired(_)) => self.list_once(resource, namespace, selector, &project).await,
            told => told,
        }
    }

    async fn list_once<T>(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &str,
        project: &impl Fn(&Value) -> Option<T>,
    ) -> Result<(Vec<T>, String)> {
        if let Some(ns) = namespace {
            check_name(ns)?;
        }
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let mut call = Call::get(resource.path(namespace)).with("limit", PAGE.to_string());
            if !selector.is_empty() {
                call = call.with("labelSelector", selector);
            }
            if !next.is_empty() {
                call = call.with("continue", next);
            }
            let told = self.call(call).await?;
            let page: Page<'_> = told.read()?;
            let Some(items) = page.items.filter(|_| page.kind.ends_with("List")) else {
                return Err(Error::Odd(format!("asked for a list of {}, something else came", resource.name())));
            };
            for item in items {
                let item =
                    serde_json::from_str(item.get()).map_err(|e| Error::Odd(format!("an object of a list: {e}")))?;
                all.extend(project(&item));
            }
            next = page.metadata.next;
            if next.is_empty() {
                return Ok((all, page.metadata.version));
            }
        }
    }

    /// Makes an object, or takes the one that an earlier try made. After any answer but 201 the object is looked for by
    /// name: a full quota answers before "exists" does, and an answer may have been lost. What is being deleted is waited
    /// out, what is another's stays another's.
    pub async fn create_or_adopt(
        &self,
        resource: &Resource,
        manifest: &Value,
        owner: &Owner,
        home: Option<&Home>,
    ) -> Result<Made> {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let key = Key::new(text("/metadata/namespace"), text("/metadata/name"));
        if manifest["metadata"]["labels"][owner.label] != owner.value.as_str() {
            return Err(Error::Odd(format!("{key} would be made without its label {}", owner.label)));
        }
        if let Some(home) = home {
            self.check_home(home).await?;
        }
        path(resource, &key)?;
        let namespace = Some(&*key.namespace).filter(|_| resource.namespaced);
        let call = Call::new(Method::POST, resource.path(namespace))
            .with("fieldManager", FIELD_MANAGER)
            // a misspelt field would be dropped in silence otherwise
            .with("fieldValidation", "Strict")
            .body(manifest.clone());
        let refused = match self.call(call).await {
            Ok(answer) if answer.status == StatusCode::CREATED => {
                let made = answer.json().ok().and_then(|o| read::meta(&o)).filter(|m| !m.uid.is_empty());
                match made {
                    Some(meta) => return Ok(Made { uid: meta.uid, adopted: false }),
                    None => Error::Odd(format!("{key} was made, and the answer has no uid")),
                }
            }
            Ok(answer) => Error::Odd(format!("a create of {key} was answered with {}", answer.status)),
            Err(e) => e,
        };
        let there = match self.get(resource, &key).await {
            Ok(object) => object,
            Err(Error::NotFound(_)) => return Err(refused),
            // the account may make them and not read them: then the first answer is all there is
            Err(Error::Forbidden(_)) => return Err(refused),
            // not knowing is not a no
            Err(e) => return Err(e),
        };
        let Some(meta) = read::meta(&there) else { return Err(refused) };
        if there["metadata"]["labels"][owner.label] != owner.value.as_str() {
            return Err(Error::NameTaken(format!(
                "{} {key}, without the label {}={}",
                resource.kind, owner.label, owner.value
            )));
        }
        if meta.deleting.is_some() {
            return Err(Error::BeingDeleted(format!("{} {key}", resource.kind)));
        }
        tracing::debug!(kind = resource.kind, object = %key, uid = meta.uid, "found what an earlier try had made");
        Ok(Made { uid: meta.uid, adopted: true })
    }

    /// A namespace can be deleted and made again by anybody, so it is looked at before something is put into it.
    pub async fn check_home(&self, home: &Home) -> Result<()> {
        let object = self.get(&NAMESPACES, &Key::global(&home.namespace)).await?;
        let namespace = read::namespace(&object).ok_or_else(|| Error::Odd("a namespace without a name".into()))?;
        if object["metadata"]["labels"][VDC_ID] != home.vdc.to_string().as_str() {
            return Err(Error::NotOurs(format!("the namespace {} is not of this VDC", home.namespace)));
        }
        if namespace.meta.uid != home.uid {
            return Err(Error::NotOurs(format!("the namespace {} was made again by somebody", home.namespace)));
        }
        if !namespace.active {
            return Err(Error::BeingDeleted(format!("the namespace {}", home.namespace)));
        }
        Ok(())
    }

    /// Changes the object with that uid, and nothing else; gives it as it is now.
    pub async fn patch_fenced(&self, resource: &Resource, key: &Key, uid: &str, patch: Value) -> Result<Value> {
        need_uid(key, uid)?;
        let mut call =
            Call::new(Method::PATCH, path(resource, key)?).with("fieldManager", FIELD_MANAGER).body(fenced(patch, uid));
        call.content_type = "application/merge-patch+json";
        let object = match self.call(call).await {
            Ok(answer) => answer.json()?,
            Err(Error::NotFound(m)) => return Err(Error::NotOurs(m)),
            Err(e) => return Err(e),
        };
        if read::meta(&object).is_some_and(|m| m.deleting.is_some()) {
            return Err(Error::BeingDeleted(format!("{} {key}", resource.kind)));
        }
        Ok(object)
    }

    /// Deletes the object with that uid, and nothing else.
    pub async fn delete_fenced(&self, resource: &Resource, key: &Key, uid: &str, how: Propagation) -> Result<Deleted> {
        need_uid(key, uid)?;
        let how = match how {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
        };
        // misspelt fields here would be passed over, and the delete would happen
        let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}, "propagationPolicy": how});
        match self.call(Call::new(Method::DELETE, path(resource, key)?).body(body)).await {
            Ok(answer) => Ok(match answer.json()?["kind"].as_str() {
                Some("Status") => Deleted::Gone,
                _ => Deleted::UnderWay,
            }),
            Err(Error::NotFound(_)) => Ok(Deleted::Gone),
            Err(e) => Err(e),
        }
    }

    /// Is the object with that uid truly gone? A list or watch by label can't tell: its label may have gone instead.
    pub async fn is_gone(&self, resource: &Resource, key: &Key, uid: &str) -> Result<bool> {
        match self.get(resource, key).await {
            Ok(object) => Ok(object["metadata"]["uid"] != uid),
            Err(Error::NotFound(_)) => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// Every object of the hub with that label, in whatever namespace.
    pub async fn exists_anywhere(&self, resource: &Resource, owner: &Owner) -> Result<Vec<Meta>> {
        let selector = format!("{}={}", owner.label, owner.value);
        Ok(self.list(resource, None, &selector, read::meta).await?.0)
    }

    /// Power through virt-api. It carries no uid: where that matters, patch the run strategy.
    pub async fn vm_action(&self, key: &Key, action: VmAction) -> Result<()> {
        check_name(&key.namespace)?;
        check_name(&key.name)?;
        let (of, verb) = action.route();
        let path = format!("/apis/subresources.kubevirt.io/v1/namespaces/{}/{of}/{}/{verb}", key.namespace, key.name);
        // success has an empty body
        match self.call(Call::new(Method::PUT, path).body(action.body())).await {
            Ok(_) => Ok(()),
            Err(Error::Conflict(m)) => {
                // `Operation cannot be fulfilled on virtualmachine.kubevirt.io "web": VM is already running`
                let why = m.split_once("\": ").map_or(m.as_str(), |(_, why)| why);
                Err(Error::NotNow(why.to_owned()))
            }
            Err(e) => Err(e),
        }
    }

    /// Plugs a volume into a VM that runs (`shape::disk::plug_options`). It carries no uid, so look before and after.
    pub async fn add_volume(&self, key: &Key, options: Value) -> Result<()> {
        self.vm_volume(key, "addvolume", options).await
    }

    /// Takes a volume out of a VM that runs.
    pub async fn remove_volume(&self, key: &Key, name: &str) -> Result<()> {
        self.vm_volume(key, "removevolume", json!({"name": name})).await
    }

    async fn vm_volume(&self, key: &Key, verb: &str, options: Value) -> Result<()> {
        check_name(&key.namespace)?;
        check_name(&key.name)?;
        let base = "/apis/subresources.kubevirt.io/v1/namespaces";
        let path = format!("{base}/{}/virtualmachines/{}/{verb}", key.namespace, key.name);
        match self.call(Call::new(Method::PUT, path).body(options)).await {
            Ok(_) => Ok(()),
            Err(Error::Conflict(m)) => Err(Error::NotNow(m)),
            Err(e) => Err(e),
        }
    }

    /// What the agent inside the guest says, if one is there.
    pub async fn guest_info(&self, key: &Key) -> Result<Value> {
        check_name(&key.namespace)?;
        check_name(&key.name)?;
        let base = "/apis/subresources.kubevirt.io/v1/namespaces";
        let path = format!("{base}/{}/virtualmachineinstances/{}/guestosinfo", key.namespace, key.name);
        self.call(Call::get(path)).await?.json()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmAction {
    Start,
    /// With the guest's own time to shut down, or none.
    Stop {
        force: bool,
    },
    Restart {
        force: bool,
    },
    Pause,
    Unpause,
    /// The guest restarts itself.
    SoftReboot,
    Reset,
    Migrate,
}

impl VmAction {
    fn route(self) -> (&'static str, &'static str) {
        match self {
            VmAction::Start => ("virtualmachines", "start"),
            VmAction::Stop { .. } => ("virtualmachines", "stop"),
            VmAction::Restart { .. } => ("virtualmachines", "restart"),
            VmAction::Migrate => ("virtualmachines", "migrate"),
            VmAction::Pause => ("virtualmachineinstances", "pause"),
            VmAction::Unpause => ("virtualmachineinstances", "unpause"),
            VmAction::SoftReboot => ("virtualmachineinstances", "softreboot"),
            VmAction::Reset => ("virtualmachineinstances", "reset"),
        }
    }

    fn body(self) -> Value {
        match self {
            VmAction::Stop { force: true } => json!({"gracePeriod": 0}),
            VmAction::Restart { force: true } => json!({"gracePeriodSeconds": 0}),
            _ => json!({}),
        }
    }
}

fn need_uid(key: &Key, uid: &str) -> Result<()> {
    match uid {
        "" => Err(Error::NotOurs(format!("no uid was recorded for {key}"))),
        _ => Ok(()),
    }
}

fn path(resource: &Resource, key: &Key) -> Result<String> {
    check_name(&key.name)?;
    if resource.namespaced {
        check_name(&key.namespace)?;
    }
    Ok(format!("{}/{}", resource.path(Some(&key.namespace)), key.name))
}

/// Names become parts of paths.
fn check_name(name: &str) -> Result<()> {
    let good = !name.is_empty()
        && name.len() <= 253
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.')
        && !name.starts_with(['.', '-'])
        && !name.contains("..");
    if good { Ok(()) } else { Err(Error::Odd(format!("{name:?} is no object's name"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::VIRTUAL_MACHINES;

    #[test]
    fn names_that_would_change_the_path_are_refused() {
        assert!(path(&VIRTUAL_MACHINES, &Key::new("a", "u1.small")).is_ok());
        for name in ["", ".", "..", "a/b", "a?b", "a%2fb", "A", "a..b", "-a", "a b", "ä", &"a".repeat(254)] {
            assert!(path(&VIRTUAL_MACHINES, &Key::new("a", name)).is_err(), "{name}");
            assert!(path(&VIRTUAL_MACHINES, &Key::new(name, "a")).is_err(), "{name}");
        }
        assert!(path(&NAMESPACES, &Key::global("a")).is_ok());
    }
}
