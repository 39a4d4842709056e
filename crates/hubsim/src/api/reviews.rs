//! Requests that are answered without storing anything: reviews of rights and tokens, and tokens themselves.

use super::{Api, Call, decode, success};
use crate::{
    access::{self, Action, User},
    actors::{Chance, TemplateError, process_template},
    answer::{FieldError, Refusal, Result},
    clock,
    kinds::Kind,
    meta,
};
use axum::body::Body;
use http::{Method, Response, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use time::Duration;

impl Api {
    pub(super) fn review(&self, kind: &Arc<Kind>, call: &Call) -> Result<Response<Body>> {
        if call.method != Method::POST {
            return Err(Refusal::method_not_allowed());
        }
        let mut body = decode::object(kind, &call.path.version, &call.headers, &call.body)?;
        if kind.plural == "processedtemplates" {
            return processed_template(kind, &body);
        }
        let state = self.state();
        let status = match kind.plural.as_str() {
            "selfsubjectreviews" => json!({"userInfo": user_info(&call.user)}),
            "selfsubjectaccessreviews" => decision(&state, &call.user, &body["spec"], kind)?,
            "subjectaccessreviews" | "localsubjectaccessreviews" => {
                let groups = meta::strings(&body["spec"]["groups"]).into_iter().map(str::to_owned).collect();
                let name = body["spec"]["user"].as_str().unwrap_or_default().to_owned();
                decision(&state, &User { name, uid: String::new(), groups, credential: None }, &body["spec"], kind)?
            }
            "selfsubjectrulesreviews" => {
                let namespace = body["spec"]["namespace"].as_str().unwrap_or_default();
                let rules = access::rules_for(&state, &call.user, namespace);
                let pick = |key: &str| rules.iter().filter(|rule| rule.get(key).is_some()).cloned().collect::<Vec<_>>();
                json!({"resourceRules": pick("apiGroups"), "nonResourceRules": pick("nonResourceURLs"), "incomplete": false})
            }
            "tokenreviews" => {
                let token = body["spec"]["token"].as_str().unwrap_or_default();
                match access::of_token(self, &state, token) {
                    Some(user) => json!({
                        "authenticated": true, "user": user_info(&user), "audiences": ["https://kubernetes.default.svc"],
                    }),
                    None => json!({"user": {}, "error": "invalid bearer token"}),
                }
            }
            _ => return Err(Refusal::page_not_found()),
        };
        body["status"] = status;
        for (_, attributes) in body["spec"].as_object_mut().into_iter().flatten() {
            if let Some(fields) = attributes.as_object_mut() {
                fields.retain(|_, value| value != "");
            }
        }
        if kind.plural == "selfsubjectrulesreviews" {
            body["spec"] = json!({});
        }
        if !body["metadata"].is_object() {
            body["metadata"] = json!({});
        }
        if kind.plural == "selfsubjectreviews" {
            body["metadata"]["creationTimestamp"] = self.clock.stamp().into();
            super::write::remove(&mut body, "spec");
        }
        Ok(success(StatusCode::CREATED, &body, &[]))
    }

    /// `POST …/serviceaccounts/<name>/token`
    pub(super) fn account_token(&self, kind: &Kind, call: &Call) -> Result<Option<Response<Body>>> {
        if call.path.subresource.as_deref() != Some("token") || !kind.is("", "serviceaccounts") {
            return Ok(None);
        }
        if call.method != Method::POST {
            return Err(Refusal::method_not_allowed());
        }
        let (namespace, name) =
            (call.path.namespace.clone().unwrap_or_default(), call.path.name.clone().unwrap_or_default());
        let mut body: Value = serde_json::from_slice(&call.body)
            .map_err(|_| Refusal::bad_request(format!("error decoding: {}", decode::complaint(&call.body))))?;
        let account = self.state().by_name("", "serviceaccounts", &namespace, &name);
        let account = account.ok_or_else(|| Refusal::not_found(kind, &name))?;
        let seconds = body["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
        if seconds < 600 {
            let error = FieldError::invalid(
                "spec.expirationSeconds",
                &seconds.into(),
                "may not specify a duration less than 10 minutes",
            );
            return Err(Refusal::invalid("TokenRequest", "authentication.k8s.io", "", &[error]));
        }
        let now = self.clock.now();
        let expires = now + Duration::seconds(seconds);
        let uid = meta::uid(&account);
        let token = self.identity.sign(&namespace, &name, uid, now.unix_timestamp(), Some(expires.unix_timestamp()));
        body["kind"] = "TokenRequest".into();
        body["apiVersion"] = "authentication.k8s.io/v1".into();
        body["metadata"] =
            json!({"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": clock::stamp(now)});
        body["spec"]["audiences"] = json!(["https://kubernetes.default.svc"]);
        body["spec"]["expirationSeconds"] = seconds.into();
        body["spec"]["boundObjectRef"] = body["spec"].get("boundObjectRef").cloned().unwrap_or_default();
        body["status"] = json!({"token": token, "expirationTimestamp": clock::stamp(expires)});
        Ok(Some(success(StatusCode::CREATED, &body, &[])))
    }
}

/// A template with its parameters worked in; nothing is stored.
fn processed_template(kind: &Kind, template: &Value) -> Result<Response<Body>> {
    match process_template(template, Chance::default(), &crate::new_uid()) {
        Ok(done) => Ok(success(StatusCode::CREATED, &done, &[])),
        Err(wrong) => {
            let error = |e: TemplateError| FieldError { reason: e.reason, field: e.field, message: e.message };
            let errors: Vec<FieldError> = wrong.into_iter().map(error).collect();
            Err(Refusal::invalid_object(kind, meta::name(template), &errors))
        }
    }
}

fn user_info(user: &User) -> Value {
    let mut info = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        info["uid"] = user.uid.clone().into();
    }
    if let Some(id) = &user.credential {
        info["extra"] = json!({"authentication.kubernetes.io/credential-id": [format!("JTI={id}")]});
    }
    info
}

fn decision(state: &crate::store::State, user: &User, spec: &Value, kind: &Kind) -> Result<Value> {
    let text = |object: &'_ Value, key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if resource.is_object() == path.is_object() {
        let error = FieldError::invalid(
            "spec.resourceAttributes",
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        );
        return Err(Refusal::invalid("", &kind.group, "", &[error]));
    }
    let from = if resource.is_object() { resource } else { path };
    let (verb, group, plural) = (text(from, "verb"), text(from, "group"), text(from, "resource"));
    let (subresource, namespace, name) = (text(from, "subresource"), text(from, "namespace"), text(from, "name"));
    let path = path.is_object().then(|| text(path, "path"));
    let action = Action {
        verb: &verb,
        group: &group,
        resource: &plural,
        subresource: &subresource,
        namespace: &namespace,
        name: &name,
        path: path.as_deref(),
    };
    let mut status = json!({"allowed": access::allowed(state, user, &action)});
    if let Some(reason) = access::reason(state, user, &action) {
        status["reason"] = reason.into();
    }
    Ok(status)
}
