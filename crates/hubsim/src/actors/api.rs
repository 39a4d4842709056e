//! The calls the actors make. Objects stay whole JSON, so that a write never loses a field.
use super::{json::Look, kind::Kind};
use futures::TryStream;
use kube::{
    Client,
    api::{DeleteParams, ListParams, PostParams, Preconditions, WatchEvent, WatchParams},
    core::Request,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
}

/// One page of a list.
#[derive(Deserialize)]
pub(crate) struct List {
    #[serde(default)]
    pub metadata: ListMeta,
    #[serde(default)]
    pub items: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListMeta {
    pub resource_version: String,
    #[serde(rename = "continue")]
    pub next: Option<String>,
}

pub(crate) type Result<T> = std::result::Result<T, kube::Error>;

const PAGE: u32 = 500;
/// Below the five minutes after which servers end a watch themselves.
const WATCH_SECONDS: u32 = 290;

impl Api {
    pub(crate) fn new(client: Client) -> Api {
        Api { client }
    }

    pub(crate) async fn page(&self, kind: Kind, next: Option<String>) -> Result<List> {
        let params = ListParams { limit: Some(PAGE), continue_token: next, ..ListParams::default() };
        self.client.request(Request::new(kind.path("")).list(&params).map_err(kube::Error::BuildRequest)?).await
    }

    pub(crate) async fn watch(
        &self,
        kind: Kind,
        version: &str,
    ) -> Result<impl TryStream<Item = Result<WatchEvent<Value>>> + use<>> {
        let params = WatchParams { timeout: Some(WATCH_SECONDS), bookmarks: true, ..WatchParams::default() };
        let request = Request::new(kind.path("")).watch(&params, version).map_err(kube::Error::BuildRequest)?;
        self.client.request_events(request).await
    }

    pub(crate) async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Result<Option<Value>> {
        let request = Request::new(kind.path(namespace)).get(name, &Default::default());
        match self.client.request(request.map_err(kube::Error::BuildRequest)?).await {
            Ok(object) => Ok(Some(object)),
            Err(e) if is_not_found(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(crate) async fn create(&self, kind: Kind, object: &Value) -> Result<Value> {
        let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
        let request = Request::new(kind.path(object.namespace())).create(&PostParams::default(), body);
        self.client.request(request.map_err(kube::Error::BuildRequest)?).await
    }

    /// Creates what is not there yet; says whether it did. What is there stays as it is.
    pub(crate) async fn create_missing(&self, kind: Kind, object: &Value) -> Result<Option<Value>> {
        match self.create(kind, object).await {
            Ok(made) => Ok(Some(made)),
            Err(e) if is_conflict(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Writes an object back. It carries its resourceVersion, so a change in between is never overwritten.
    pub(crate) async fn replace(&self, kind: Kind, object: &Value) -> Result<Value> {
        let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
        let request = Request::new(kind.path(object.namespace())).replace(object.name(), &PostParams::default(), body);
        self.client.request(request.map_err(kube::Error::BuildRequest)?).await
    }

    /// Writes an object's status back, wherever its kind keeps it.
    pub(crate) async fn replace_status(&self, kind: Kind, object: &Value) -> Result<Value> {
        if !kind.status_apart {
            return self.replace(kind, object).await;
        }
        let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
        let request = Request::new(kind.path(object.namespace())).replace_subresource(
            "status",
            object.name(),
            &PostParams::default(),
            body,
        );
        self.client.request(request.map_err(kube::Error::BuildRequest)?).await
    }

    /// A JSON patch: a list of operations, all or none.
    pub(crate) async fn json_patch(&self, kind: Kind, of: &Value, sub: &str, operations: &Value) -> Result<Value> {
        let path = format!("{}/{}{sub}", kind.path(of.namespace()), of.name());
        let request = http::Request::patch(path)
            .header(http::header::CONTENT_TYPE, "application/json-patch+json")
            .body(serde_json::to_vec(operations).map_err(kube::Error::SerdeError)?)
            .map_err(kube::Error::HttpError)?;
        self.client.request(request).await
    }

    /// Deletes exactly this object and no later one of its name. Gone already is fine.
    pub(crate) async fn delete(&self, kind: Kind, object: &Value, params: DeleteParams) -> Result<()> {
        let preconditions = Preconditions { uid: Some(object.uid().to_owned()), resource_version: None };
        let request =
            Request::new(kind.path(object.namespace())).delete(object.name(), &params.preconditions(preconditions));
        match self.client.request_text(request.map_err(kube::Error::BuildRequest)?).await {
            Ok(_) => Ok(()),
            Err(e) if is_not_found(&e) || is_conflict(&e) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Takes finalizers off, which lets a dying object go.
    pub(crate) async fn drop_finalizers(&self, kind: Kind, object: &Value, ours: &[&str]) -> Result<Option<Value>> {
        let kept: Vec<&Value> = object
            .list("/metadata/finalizers")
            .iter()
            .filter(|f| !f.as_str().is_some_and(|f| ours.contains(&f)))
            .collect();
        if kept.len() == object.list("/metadata/finalizers").len() {
            return Ok(None);
        }
        let mut new = object.clone();
        new["metadata"]["finalizers"] = json!(kept);
        match self.replace(kind, &new).await {
            Ok(written) => Ok(Some(written)),
            Err(e) if is_not_found(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

pub(crate) fn code(e: &kube::Error) -> Option<u16> {
    match e {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

pub(crate) fn is_not_found(e: &kube::Error) -> bool {
    code(e) == Some(404)
}

/// Exists already, or changed in between.
pub(crate) fn is_conflict(e: &kube::Error) -> bool {
    code(e) == Some(409)
}

/// What the server said, for conditions and events.
pub(crate) fn words(e: &kube::Error) -> String {
    match e {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
