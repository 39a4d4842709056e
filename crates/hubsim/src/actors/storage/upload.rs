//! CDI's upload: tokens for volumes that wait for their bytes, and the proxy that takes these. Of the bytes only their
//! number and their sum are kept.
use super::progress::UPLOADED;
use crate::{
    actors::{
        api::{Api, is_conflict, words},
        json::Look,
        kind::{CDI_CONFIG, DATA_VOLUME},
    },
    hooks::VirtualApi,
};
use axum::body::{Body, to_bytes};
use futures::{StreamExt, future::BoxFuture};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use kube::Client;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fmt::Write,
    sync::{Arc, Mutex, PoisonError},
};

const GROUP: &str = "upload.cdi.kubevirt.io";
const PROXY: &str = "/v1beta1/upload";

#[derive(Clone)]
pub(crate) struct UploadApi {
    api: Api,
    /// Which volume a token is for.
    tokens: Arc<Mutex<HashMap<String, (String, String)>>>,
}

/// The hub says where its proxy is and who vouches for it; in the simulator it is the hub itself.
pub(crate) async fn announce(client: Client, url: String, ca: String) {
    let api = Api::new(client);
    let config = json!({
        "apiVersion": CDI_CONFIG.api_version(), "kind": CDI_CONFIG.kind, "metadata": {"name": "config"}, "spec": {},
        "status": {"uploadProxyURL": url, "uploadProxyCA": ca},
    });
    match api.create_missing(CDI_CONFIG, &config).await {
        Ok(None) => {
            if let Ok(Some(mut there)) = api.get(CDI_CONFIG, "", "config").await {
                there["status"]["uploadProxyURL"] = json!(url);
                there["status"]["uploadProxyCA"] = json!(ca);
                let _ = api.replace(CDI_CONFIG, &there).await;
            }
        }
        Ok(Some(_)) => {}
        Err(e) => tracing::debug!(error = words(&e), "the hub has no CDIConfig"),
    }
}

impl UploadApi {
    pub(crate) fn new(client: Client) -> UploadApi {
        UploadApi { api: Api::new(client), tokens: Arc::default() }
    }

    fn tokens(&self) -> std::sync::MutexGuard<'_, HashMap<String, (String, String)>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn token(&self, namespace: &str, body: &[u8]) -> Response<Body> {
        let Ok(mut asked) = serde_json::from_slice::<Value>(body) else {
            return said(StatusCode::BAD_REQUEST, "the request is no JSON");
        };
        let name = asked.text("/spec/pvcName").unwrap_or_default().to_owned();
        match self.api.get(DATA_VOLUME, namespace, &name).await {
            Ok(Some(_)) => {}
            _ => return said(StatusCode::BAD_REQUEST, &format!("persistentvolumeclaims \"{name}\" not found")),
        }
        let token = hex(&rand::random::<[u8; 24]>());
        self.tokens().insert(token.clone(), (namespace.to_owned(), name));
        asked["status"] = json!({"token": token});
        let mut response = Response::new(Body::from(asked.to_string()));
        *response.status_mut() = StatusCode::CREATED;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    async fn take(&self, request: Request<Body>) -> Response<Body> {
        let bearer = request.headers().get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let token = bearer.strip_prefix("Bearer ").unwrap_or_default().to_owned();
        let Some((namespace, name)) = self.tokens().get(&token).cloned() else {
            return said(StatusCode::UNAUTHORIZED, "the token is not known");
        };
        let volume = match self.api.get(DATA_VOLUME, &namespace, &name).await {
            Ok(Some(volume)) if volume.text("/status/phase") == Some("UploadReady") => volume,
            Ok(Some(volume)) if volume.text("/status/phase") == Some("Succeeded") => {
                return said(StatusCode::CONFLICT, "the volume is full already");
            }
            _ => return said(StatusCode::SERVICE_UNAVAILABLE, "the volume is not ready for an upload"),
        };
        let announced: Option<u64> =
            request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
        let mut sum = ring::digest::Context::new(&ring::digest::SHA256);
        let mut count = 0;
        let mut bytes = request.into_body().into_data_stream();
        while let Some(chunk) = bytes.next().await {
            let Ok(chunk) = chunk else { return said(StatusCode::BAD_REQUEST, "unexpected EOF") };
            sum.update(&chunk);
            count += chunk.len() as u64;
        }
        if announced.is_some_and(|n| n != count) {
            return said(StatusCode::BAD_REQUEST, "unexpected EOF");
        }
        let note = format!("{count} {}", hex(sum.finish().as_ref()));
        match self.note(&volume, &note).await {
            Ok(()) => {
                self.tokens().remove(&token);
                Response::new(Body::empty())
            }
            Err(e) => said(StatusCode::INTERNAL_SERVER_ERROR, &words(&e)),
        }
    }

    async fn note(&self, volume: &Value, note: &str) -> Result<(), kube::Error> {
        loop {
            let Some(mut now) = self.api.get(DATA_VOLUME, volume.namespace(), volume.name()).await? else {
                return Ok(());
            };
            now["metadata"]["annotations"][UPLOADED] = json!(note);
            match self.api.replace(DATA_VOLUME, &now).await {
                Err(e) if is_conflict(&e) => {}
                other => return other.map(drop),
            }
        }
    }
}

impl VirtualApi for UploadApi {
    fn group(&self) -> &str {
        GROUP
    }

    fn versions(&self) -> Vec<String> {
        vec!["v1beta1".to_owned()]
    }

    fn resources(&self, _: &str) -> Vec<Value> {
        vec![json!({"name": "uploadtokenrequests", "singularName": "uploadtokenrequest", "namespaced": true,
            "kind": "UploadTokenRequest", "verbs": ["create"]})]
    }

    fn beside(&self) -> Option<&str> {
        Some(PROXY)
    }

    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let this = self.clone();
        Box::pin(async move {
            if request.uri().path() == PROXY {
                return match *request.method() {
                    Method::POST | Method::PUT => this.take(request).await,
                    _ => said(StatusCode::NOT_FOUND, "404 page not found"),
                };
            }
            let (parts, body) = request.into_parts();
            let path: Vec<String> = parts.uri.path().split('/').skip(4).map(str::to_owned).collect();
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            match (&parts.method, path.as_slice()) {
                (&Method::POST, ["namespaces", namespace, "uploadtokenrequests"]) => {
                    let body = to_bytes(body, 64 << 10).await.unwrap_or_default();
                    this.token(namespace, &body).await
                }
                _ => said(StatusCode::NOT_FOUND, "404 page not found"),
            }
        })
    }
}

/// The proxy and CDI's API say so in plain words.
fn said(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}
