//! Discovery: which groups, versions and resources there are, in the old form and as one aggregated answer.

use super::{Api, path::Target, text};
use crate::{
    answer::{Refusal, Result, json_response},
    kinds::Kind,
    store::State,
};
use axum::body::Body;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

impl Api {
    pub(super) fn discovery(&self, target: &Target, headers: &HeaderMap) -> Result<Response<Body>> {
        let accept = text(headers, header::ACCEPT).replace(' ', "");
        let plain_too = accept.is_empty()
            || accept.split(',').any(|one| {
                matches!(one.split(';').next(), Some("application/json" | "*/*" | "application/*"))
                    && !one.contains("as=")
            });
        let aggregated = accept
            .split(',')
            .any(|one| one.contains("as=APIGroupDiscoveryList") && one.contains("v=v2") && !one.contains("v=v2beta1"));
        let is_root = matches!(target, Target::Groups { .. });
        if !(plain_too || aggregated && is_root || accept.contains("application/vnd.kubernetes.protobuf,")) {
            return Err(Refusal::not_acceptable());
        }
        if let Target::GroupVersion(group, version) = target
            && self.is_away(group, version)
        {
            return Err(service_unavailable());
        }
        let state = self.state();
        match target {
            Target::Groups { legacy } if aggregated => Ok(self.aggregated(&state, *legacy, headers)),
            Target::Groups { legacy: true } => {
                let address = self.address.get().cloned().unwrap_or_default();
                Ok(json_response(
                    200,
                    &json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]}),
                ))
            }
            Target::Groups { legacy: false } => {
                let groups: Vec<Value> =
                    self.groups(&state).iter().map(|(name, versions)| group(name, versions)).collect();
                Ok(json_response(200, &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})))
            }
            Target::Group(name) => {
                let groups = self.groups(&state);
                let (name, versions) =
                    groups.iter().find(|(one, _)| one == name).ok_or_else(Refusal::page_not_found)?;
                let mut body = group(name, versions);
                body["kind"] = "APIGroup".into();
                body["apiVersion"] = "v1".into();
                Ok(json_response(200, &body))
            }
            Target::GroupVersion(group, version) => self.resources(&state, group, version),
            _ => Err(Refusal::page_not_found()),
        }
    }

    /// Whether a version is registered for a service that nobody runs.
    pub(super) fn is_away(&self, group: &str, version: &str) -> bool {
        let answered = self.hooks().apis.iter().any(|api| api.group() == group);
        !answered && away(&self.state()).iter().any(|one| *one == (group.to_owned(), version.to_owned()))
    }

    /// Groups but the core one, with their versions.
    fn groups(&self, state: &State) -> Vec<(String, Vec<String>)> {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for (_, kind) in state.kinds().filter(|(_, kind)| !kind.group.is_empty()) {
            match groups.iter_mut().find(|(name, _)| *name == kind.group) {
                Some((_, versions)) => {
                    versions.extend(
                        kind.versions.iter().filter(|one| !versions.contains(one)).cloned().collect::<Vec<_>>(),
                    );
                }
                None => groups.push((kind.group.clone(), kind.versions.clone())),
            }
        }
        groups.extend(self.hooks().apis.iter().map(|api| (api.group().to_owned(), api.versions())));
        for (group, version) in away(state) {
            if !groups.iter().any(|(name, _)| *name == group) {
                groups.push((group, vec![version]));
            }
        }
        groups
    }

    fn resources(&self, state: &State, group: &str, version: &str) -> Result<Response<Body>> {
        let kinds: Vec<&Arc<Kind>> = of_version(state, group, version);
        let mut resources: Vec<Value> = kinds.iter().flat_map(|kind| legacy_entries(kind)).collect();
        if let Some(api) =
            self.hooks().apis.iter().find(|api| api.group() == group && api.versions().iter().any(|one| one == version))
        {
            resources = api.resources(version);
        }
        if resources.is_empty() {
            return Err(if group.is_empty() { Refusal::unknown_resource() } else { Refusal::page_not_found() });
        }
        let name = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let mut body = json!({"kind": "APIResourceList", "groupVersion": name, "resources": resources});
        if !group.is_empty() {
            body["apiVersion"] = "v1".into();
        }
        Ok(json_response(200, &body))
    }

    fn aggregated(&self, state: &State, legacy: bool, headers: &HeaderMap) -> Response<Body> {
        let mut items = Vec::new();
        let groups = if legacy { vec![(String::new(), vec!["v1".to_owned()])] } else { self.groups(state) };
        for (group, versions) in groups {
            let virtual_api = self.hooks().apis.into_iter().find(|api| api.group() == group);
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    let resources: Vec<Value> = match &virtual_api {
                        Some(api) => {
                            api.resources(version).iter().map(|one| virtual_entry(&group, version, one)).collect()
                        }
                        None => of_version(state, &group, version).iter().map(|kind| entry(kind, version)).collect(),
                    };
                    if resources.is_empty() {
                        return json!({"version": version, "freshness": "Stale"});
                    }
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
            items.push(json!({"metadata": metadata, "versions": versions}));
        }
        let body = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
        let mut hasher = DefaultHasher::new();
        body.to_string().hash(&mut hasher);
        let tag = format!("\"{:016X}\"", hasher.finish());
        let mut response = json_response(200, &body);
        if text(headers, header::IF_NONE_MATCH) == tag {
            response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(AGGREGATED));
        }
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
        headers.insert(header::VARY, HeaderValue::from_static("Accept"));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

pub(super) fn service_unavailable() -> Refusal {
    let mut refusal = Refusal::new(503, "ServiceUnavailable", "service unavailable\n");
    refusal.plain = true;
    refusal.no_sniff = true;
    refusal
}

/// Group versions registered by an APIService.
fn away(state: &State) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let services = state.find("apiregistration.k8s.io", "apiservices");
    services
        .into_iter()
        .flat_map(|id| state.list(id, None))
        .filter(|service| service["spec"]["service"].is_object())
        .map(|service| (text(&service["spec"]["group"]), text(&service["spec"]["version"])))
        .collect()
}

/// An APIService with what the server found out about its service.
pub(super) fn looked_at(mut service: Value, state: &State, now: &str) -> Value {
    let wanted = &service["spec"]["service"];
    let text = |key: &str| wanted[key].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let (status, reason, message) = if !wanted.is_object() {
        ("True", "Local", "Local APIServices are always available".to_owned())
    } else if state.by_name("", "services", namespace, name).is_none() {
        ("False", "ServiceNotFound", format!("service/{name} in \"{namespace}\" is not present"))
    } else {
        ("False", "MissingEndpoints", format!("endpoints for service/{name} in \"{namespace}\" have no addresses"))
    };
    service["status"] = json!({"conditions": [{
        "type": "Available", "status": status, "lastTransitionTime": now, "reason": reason, "message": message,
    }]});
    service
}

fn of_version<'a>(state: &'a State, group: &str, version: &str) -> Vec<&'a Arc<Kind>> {
    state
        .kinds()
        .filter(|(_, kind)| kind.group == group && kind.versions.iter().any(|one| one == version))
        .map(|(_, kind)| kind)
        .collect()
}

fn group(name: &str, versions: &[String]) -> Value {
    let version = |version: &String| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let list: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": name, "preferredVersion": list.first(), "versions": list})
}

fn subresources(kind: &Kind) -> Vec<(&'static str, Value, Vec<&'static str>)> {
    let mut found = Vec::new();
    if kind.is("", "namespaces") {
        found.push(("finalize", json!(kind.kind), vec!["update"]));
    }
    if kind.status {
        found.push(("status", json!(kind.kind), vec!["get", "patch", "update"]));
    }
    if kind.is("", "serviceaccounts") {
        found.push(("token", json!("TokenRequest"), vec!["create"]));
    }
    found
}

fn legacy_entries(kind: &Kind) -> Vec<Value> {
    let mut main = json!({
        "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": kind.verbs(),
    });
    if !kind.create_only {
        main["storageVersionHash"] = storage_hash(kind).into();
    }
    for (key, list) in [("shortNames", &kind.short), ("categories", &kind.categories)] {
        if !list.is_empty() {
            main[key] = json!(list);
        }
    }
    let mut entries = vec![main];
    for (name, response, verbs) in subresources(kind) {
        let mut entry = json!({
            "name": format!("{}/{name}", kind.plural), "singularName": "", "namespaced": kind.namespaced,
            "kind": response, "verbs": verbs,
        });
        if name == "token" {
            entry["group"] = "authentication.k8s.io".into();
            entry["version"] = "v1".into();
        }
        entries.push(entry);
    }
    entries
}

/// The first bytes of a hash over group, version and kind, as the real server makes it.
fn storage_hash(kind: &Kind) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let text = format!("{}/{}/{}", kind.group, kind.storage, kind.kind);
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    STANDARD.encode(&digest.as_ref()[..8])
}

fn entry(kind: &Kind, version: &str) -> Value {
    // built-in kinds leave the group and version of what they answer empty
    let response = |name: &Value| {
        if kind.custom {
            json!({"group": kind.group, "version": version, "kind": name})
        } else {
            json!({"group": "", "version": "", "kind": name})
        }
    };
    let mut entry = json!({
        "resource": kind.plural, "responseKind": response(&json!(kind.kind)),
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular, "verbs": kind.verbs(),
    });
    for (key, list) in [("shortNames", &kind.short), ("categories", &kind.categories)] {
        if !list.is_empty() {
            entry[key] = json!(list);
        }
    }
    let subresources: Vec<Value> = subresources(kind)
        .into_iter()
        .map(|(name, kind, verbs)| {
            let response = if name == "token" {
                json!({"group": "authentication.k8s.io", "version": "v1", "kind": kind})
            } else {
                response(&kind)
            };
            json!({"subresource": name, "responseKind": response, "verbs": verbs})
        })
        .collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}

fn virtual_entry(group: &str, version: &str, entry: &Value) -> Value {
    json!({
        "resource": entry["name"], "responseKind": {"group": group, "version": version, "kind": entry["kind"]},
        "scope": if entry["namespaced"] == true { "Namespaced" } else { "Cluster" },
        "singularResource": entry["singularName"], "verbs": entry["verbs"],
    })
}
