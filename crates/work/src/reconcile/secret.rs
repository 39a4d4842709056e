//! The Secrets beside a VM and beside a template's instance: made before it, tied to it so that they go when it goes, and
//! never another's.
use hub::{
    Client, Error, Key, Resource, Result,
    apply::{Made, Owner, Propagation},
    resource::SECRETS,
    shape::patch,
};
use serde_json::Value;

/// Ties a Secret to the object it was made for. One that was found, and belongs to another object, goes with that one and
/// is not used: the next try makes it anew.
pub(super) async fn tie(
    client: &Client,
    key: &Key,
    secret: &Made,
    kind: &Resource,
    name: &str,
    uid: &str,
) -> Result<()> {
    let tied = async {
        if secret.adopted {
            let found = client.get(&SECRETS, key).await?;
            let owners = found["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
            if owners.iter().any(|o| o["uid"] == uid) {
                return Ok(());
            }
            if let Some(other) = owners.first() {
                return Err(of_another(key, kind, name, other));
            }
        }
        let patch = patch::belongs_to(&secret.uid, kind, name, uid);
        client.patch_fenced(&SECRETS, key, &secret.uid, patch).await.map(drop)
    };
    match tied.await {
        // it went just now: as if it had never been there
        Err(Error::NotFound(m) | Error::NotOurs(m)) => Err(Error::BeingDeleted(m)),
        other => other,
    }
}

fn of_another(key: &Key, kind: &Resource, name: &str, owner: &Value) -> Error {
    if owner["kind"] == kind.kind && owner["name"] == name {
        return Error::BeingDeleted(format!("Secret {key}, which belongs to an earlier {} {name}", kind.kind));
    }
    let text = |field: &str| owner[field].as_str().unwrap_or_default().to_owned();
    Error::NameTaken(format!("Secret {key}, which belongs to {} {}", text("kind"), text("name")))
}

/// Removes a Secret that carries the label of what it was made for. Another's stays.
pub(super) async fn remove(client: &Client, key: &Key, owner: &Owner) -> Result<()> {
    match client.get(&SECRETS, key).await {
        Ok(found) if found["metadata"]["labels"][owner.label] == owner.value.as_str() => {
            let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
            match client.delete_fenced(&SECRETS, key, uid, Propagation::Background).await {
                Ok(_) | Err(Error::NotOurs(_)) => Ok(()),
                Err(e) => Err(e),
            }
        }
        Ok(_) | Err(Error::NotFound(_)) => Ok(()),
        Err(e) => Err(e),
    }
}
