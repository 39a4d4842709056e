//! How the actors join a simulated hub: its webhooks, virt-api, and the controllers.
use super::{
    Actors, Admission, Options, VirtApi,
    api::{Api, is_conflict},
    json::{list_mut, stamp},
    kind::INSTANCE,
    run,
    storage::upload::{self, UploadApi},
    virt_api::{self, Refusal},
};
use crate::{Clock, Hub, hooks::VirtualApi};
use anyhow::Context;
use axum::body::{Body, to_bytes};
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use kube::Client;
use serde_json::{Value, json};
use std::sync::Arc;

/// Gives a hub its webhooks and virt-api and starts the actors on it, as far as its flavour has them.
pub fn attach(hub: &Hub, options: &Options) -> Actors {
    if hub.flavour().kubevirt.is_some() {
        hub.add_api(Arc::new(VirtApi::new(hub.inside(), hub.clock())));
    }
    if hub.flavour().cdi {
        hub.add_api(Arc::new(UploadApi::new(hub.inside())));
        tokio::spawn(upload::announce(hub.inside(), hub.url(), hub.ca().to_owned()));
    }
    hub.add_webhook(Arc::new(Admission::new(options.seed)));
    run(hub.inside(), options)
}

/// The guest of a running instance shuts itself down.
pub async fn guest_power_off(client: Client, clock: &Clock, namespace: &str, name: &str) -> anyhow::Result<()> {
    let api = Api::new(client);
    loop {
        let vmi = api.get(INSTANCE, namespace, name).await?;
        let mut vmi = vmi
            .with_context(|| format!("there is no running instance {namespace}/{name} whose guest could power off"))?;
        vmi["status"]["phase"] = json!("Succeeded");
        list_mut(&mut vmi, "/status/phaseTransitionTimestamps")
            .push(json!({"phase": "Succeeded", "phaseTransitionTimestamp": stamp(clock.now())}));
        match api.replace_status(INSTANCE, &vmi).await {
            Ok(_) => return Ok(()),
            // an actor was faster: look again
            Err(e) if is_conflict(&e) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Bodies are options of a few fields.
const BODY: usize = 64 * 1024;

impl VirtualApi for VirtApi {
    fn group(&self) -> &str {
        virt_api::GROUP
    }

    fn versions(&self) -> Vec<String> {
        virt_api::VERSIONS.map(str::to_owned).to_vec()
    }

    fn resources(&self, _: &str) -> Vec<Value> {
        virt_api::resources()
    }

    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let this = self.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            // below /apis/<group>/<version>/
            let path = parts.uri.path().splitn(5, '/').nth(4).unwrap_or_default().to_owned();
            if let (&Method::GET, ["namespaces", namespace, "virtualmachineinstances", name, "vnc"]) =
                (&parts.method.clone(), path.split('/').collect::<Vec<_>>().as_slice())
            {
                return this.vnc(&mut parts, namespace, name).await.unwrap_or_else(|refusal| refuse(&refusal));
            }
            let body = to_bytes(body, BODY).await.unwrap_or_default();
            match this.call(&parts.method, &path, &body).await {
                Ok(answer) => respond(answer.code, answer.body),
                Err(refusal) => refuse(&refusal),
            }
        })
    }
}

fn respond(code: u16, body: Option<Value>) -> Response<Body> {
    let mut response = Response::new(body.as_ref().map_or_else(Body::empty, |b| Body::from(b.to_string())));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if body.is_some() {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    response
}

fn refuse(refusal: &Refusal) -> Response<Body> {
    if !refusal.plain {
        return respond(refusal.code, Some(refusal.status()));
    }
    let mut response = Response::new(Body::from(refusal.message.clone()));
    *response.status_mut() = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
