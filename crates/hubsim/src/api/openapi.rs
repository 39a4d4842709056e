//! OpenAPI v3, as far as clients need it: that the server checks fields by itself, and the schemas of custom kinds.

use super::Api;
use crate::{
    answer::{Refusal, Result, json_response},
    kinds::Kind,
    store::State,
};
use axum::body::Body;
use http::{HeaderValue, Response, header};
use serde_json::{Map, Value, json};

impl Api {
    /// The list of documents, one for each version of a group.
    pub(super) fn openapi_index(&self) -> Response<Body> {
        let state = self.state();
        let mut paths = Map::new();
        for (_, kind) in state.kinds() {
            for version in &kind.versions {
                let name = document(kind, version);
                let url = format!("/openapi/v3/{name}?hash={:08X}", state.version());
                paths.insert(name, json!({"serverRelativeURL": url}));
            }
        }
        paths.insert("version".to_owned(), json!({"serverRelativeURL": "/openapi/v3/version?hash=0"}));
        let mut response = json_response(200, &json!({"paths": paths}));
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        response
    }

    pub(super) fn openapi_document(&self, name: &str) -> Result<Response<Body>> {
        let state = self.state();
        let (mut paths, mut schemas) = (Map::new(), Map::new());
        for (_, kind) in state.kinds() {
            for version in kind.versions.iter().filter(|version| document(kind, version) == name) {
                describe(&state, kind, version, &mut paths, &mut schemas);
            }
        }
        if paths.is_empty() && name != "version" {
            return Err(Refusal::page_not_found());
        }
        let document = json!({
            "openapi": "3.0.0", "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}, "paths": paths,
            "components": {"schemas": schemas},
        });
        let mut response = json_response(200, &document);
        let headers = response.headers_mut();
        headers.insert(header::VARY, HeaderValue::from_static("Accept"));
        if let Ok(tag) = HeaderValue::from_str(&format!("\"{:08X}\"", state.version())) {
            headers.insert(header::ETAG, tag);
        }
        Ok(response)
    }
}

fn document(kind: &Kind, version: &str) -> String {
    if kind.group.is_empty() { format!("api/{version}") } else { format!("apis/{}/{version}", kind.group) }
}

fn describe(
    state: &State,
    kind: &Kind,
    version: &str,
    paths: &mut Map<String, Value>,
    schemas: &mut Map<String, Value>,
) {
    let named = json!({"group": kind.group, "version": version, "kind": kind.kind});
    let namespace = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("/{}{namespace}/{}", document(kind, version), kind.plural);
    let verb = |action: &str| {
        let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation"]
            .into_iter()
            .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}))
            .collect();
        json!({
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": named, "parameters": parameters,
            "responses": {"200": {"description": "OK"}},
        })
    };
    paths.insert(collection.clone(), json!({"post": verb("post")}));
    if kind.create_only {
        return;
    }
    let object = json!({"put": verb("put"), "patch": verb("patch")});
    if kind.status {
        paths.insert(format!("{collection}/{{name}}/status"), object.clone());
    }
    paths.insert(format!("{collection}/{{name}}"), object);
    if kind.namespaced {
        paths.insert(format!("/{}/{}", document(kind, version), kind.plural), json!({"get": verb("list")}));
    }
    // of built-in kinds clients know more than the hub
    let definition = state.by_name("apiextensions.k8s.io", "customresourcedefinitions", "", &kind.resource());
    let Some(definition) = definition.filter(|_| kind.custom) else { return };
    let versions = definition["spec"]["versions"].as_array();
    let stored = versions.into_iter().flatten().find(|one| one["name"] == version);
    let mut schema = stored.map(|one| one["schema"]["openAPIV3Schema"].clone()).unwrap_or_else(|| json!({}));
    schema["type"] = "object".into();
    schema["properties"]["apiVersion"] = json!({"type": "string"});
    schema["properties"]["kind"] = json!({"type": "string"});
    schema["properties"]["metadata"] = json!({"type": "object"});
    schema["x-kubernetes-group-version-kind"] = json!([named]);
    let prefix: Vec<&str> = kind.group.split('.').rev().collect();
    let name = format!("{}.{version}.{}", prefix.join("."), kind.kind);
    let list_kind = json!({"group": kind.group, "version": version, "kind": format!("{}List", kind.kind)});
    let list = json!({"type": "object", "x-kubernetes-group-version-kind": [list_kind]});
    schemas.insert(format!("{name}List"), list);
    schemas.insert(name, schema);
}
