//! How the actors join an API server that is not the simulator's: virt-api, CDI's upload and the webhooks are answered on a
//! port of this process, and the server is told to ask there.
use super::{
    Actors, Admission, Options, VirtApi,
    api::{Api, is_conflict},
    json::Look,
    kind::{API_SERVICE, Kind, MUTATING_WEBHOOKS, NAMESPACE, SERVICE, TEMPLATE_INSTANCE, VALIDATING_WEBHOOKS},
    start,
    storage::upload::{self, UploadApi},
    webhook::{ASKED, MUTATOR, REQUESTER},
    world::World,
};
use crate::{Denial, Operation, Review, View, VirtualApi, Webhook, door, identity::Identity};
use anyhow::{Context, bail};
use axum::body::{Body, Bytes, HttpBody, to_bytes};
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Request, Response, StatusCode, header};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use kube::Client;
use serde_json::{Value, json};
use std::{convert::Infallible, net::Ipv4Addr, sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The name of all that the server is told.
const NAME: &str = "hubsim";
const MUTATE: &str = "/mutate";
const VALIDATE: &str = "/validate";
/// The largest object a webhook is asked about, with what it was before.
const REVIEW: usize = 8 << 20;

/// Starts the actors on any API server on this machine, with all rights there. They stop when the answer is dropped.
pub async fn join(client: Client, options: &Options) -> anyhow::Result<Actors> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    let identity = Identity::make(None, Ipv4Addr::LOCALHOST.into(), options.clock.now())?;
    let (mut actors, world) = start(client.clone(), options);
    let here = Arc::new(Here {
        apis: vec![
            Arc::new(VirtApi::new(client.clone(), options.clock.clone())),
            Arc::new(UploadApi::new(client.clone())),
        ],
        admission: Admission::new(options.seed),
        world,
    });
    actors.tasks.spawn(serve(listener, door::acceptor(&identity)?, here.clone()));
    let api = Api::new(client.clone());
    tell(&api, &here, port, &identity.ca).await.context("the API server could not be told of the actors")?;
    upload::announce(client, format!("https://127.0.0.1:{port}"), identity.ca).await;
    Ok(actors)
}

/// What is answered here.
struct Here {
    apis: Vec<Arc<dyn VirtualApi>>,
    admission: Admission,
    world: Arc<World>,
}

async fn serve(listener: TcpListener, tls: TlsAcceptor, here: Arc<Here>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (tls, here) = (tls.clone(), here.clone());
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            let service = tower::service_fn(move |request| respond(here.clone(), request));
            let builder = Builder::new(TokioExecutor::new());
            let serving =
                builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service));
            let _ = serving.await;
        });
    }
}

async fn respond<B>(here: Arc<Here>, request: Request<B>) -> Result<Response<Body>, Infallible>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    Ok(here.answer(request.map(Body::new)).await)
}

impl Here {
    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        if path == MUTATE || path == VALIDATE {
            return self.admit(path == MUTATE, request).await;
        }
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
        let asked = |api: &&Arc<dyn VirtualApi>| {
            api.beside() == Some(path.as_str())
                || (parts.first() == Some(&"apis") && parts.get(1) == Some(&api.group()))
        };
        match (self.apis.iter().find(asked), parts.as_slice()) {
            (Some(api), ["apis", group, version]) => json_answer(&json!({
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/{version}"),
                "resources": api.resources(version),
            })),
            (Some(api), _) => api.answer(request).await,
            (None, _) => {
                let mut response = Response::new(Body::from("404 page not found\n"));
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        }
    }

    async fn admit(&self, mutates: bool, request: Request<Body>) -> Response<Body> {
        let body = to_bytes(request.into_body(), REVIEW).await.unwrap_or_default();
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        let request = &asked["request"];
        let text = |pointer: &str| request.text(pointer).unwrap_or_default();
        let operation = match text("/operation") {
            "CREATE" => Operation::Create,
            "DELETE" => Operation::Delete,
            _ => Operation::Update,
        };
        // the actors are the server's masters here, as components of KubeVirt are on a hub
        let groups: Vec<String> =
            request.list("/userInfo/groups").iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let inside = groups.iter().any(|g| g == "system:masters");
        let review = Review {
            operation,
            group: text("/resource/group"),
            resource: text("/resource/resource"),
            subresource: request.text("/subResource").filter(|s| !s.is_empty()),
            namespace: text("/namespace"),
            name: text("/name"),
            old: request.get("oldObject").filter(|o| !o.is_null()),
            new: &request["object"],
            user: if inside { "system:inside" } else { text("/userInfo/username") },
            groups: &groups,
            objects: View(&*self.world),
        };
        let mut response = if mutates {
            match self.admission.mutate(&review) {
                Ok(None) => json!({"allowed": true}),
                Ok(Some(new)) => {
                    let patch = STANDARD.encode(changes(review.new, &new).to_string());
                    json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
                }
                Err(denial) => denied(&denial),
            }
        } else {
            match self.admission.validate(&review) {
                Ok(warnings) => json!({"allowed": true, "warnings": warnings}),
                Err(denial) => denied(&denial),
            }
        };
        response["uid"] = request["uid"].clone();
        json_answer(&json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}))
    }
}

/// A JSON patch from what was sent to what it shall be.
fn changes(old: &Value, new: &Value) -> Value {
    let places = ["/spec", "/metadata/labels", "/metadata/annotations", "/metadata/finalizers"];
    places
        .into_iter()
        .filter(|at| old.pointer(at) != new.pointer(at))
        .filter_map(|at| new.pointer(at).map(|value| json!({"op": "add", "path": at, "value": value})))
        .collect()
}

fn denied(denial: &Denial) -> Value {
    let causes: Vec<Value> = denial
        .causes
        .iter()
        .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
        .collect();
    let mut status = json!({"code": denial.code, "reason": denial.reason, "message": denial.message});
    if !causes.is_empty() {
        status["details"] = json!({"causes": causes});
    }
    json!({"allowed": false, "status": status})
}

fn json_answer(body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

/// Registers all of it, anew where an earlier process did so, and waits until the server asks here.
async fn tell(api: &Api, here: &Here, port: u16, ca: &str) -> anyhow::Result<()> {
    put(api, NAMESPACE, json!({"metadata": {"name": NAME}})).await?;
    // an address in this process is no service of the cluster: the name leads out of it
    let spec = json!({"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]});
    put(api, SERVICE, json!({"metadata": {"name": NAME, "namespace": NAME}, "spec": spec})).await?;
    let mut names = Vec::new();
    for served in &here.apis {
        for (priority, version) in served.versions().into_iter().rev().enumerate() {
            let name = format!("{version}.{}", served.group());
            let spec = json!({
                "group": served.group(), "version": version, "groupPriorityMinimum": 1000,
                "versionPriority": priority + 10, "insecureSkipTLSVerify": true,
                "service": {"namespace": NAME, "name": NAME, "port": port},
            });
            put(api, API_SERVICE, json!({"metadata": {"name": name}, "spec": spec})).await?;
            names.push(name);
        }
    }
    let webhook = |name: &str, path: &str, group: &str, resources: &[&str]| {
        json!({
            "name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
            "clientConfig": {"url": format!("https://127.0.0.1:{port}{path}"), "caBundle": STANDARD.encode(ca)},
            "rules": [{"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
                "resources": resources, "scope": "*"}],
        })
    };
    let mutating = vec![
        webhook(MUTATOR, MUTATE, "kubevirt.io", &["virtualmachines"]),
        webhook(REQUESTER, MUTATE, TEMPLATE_INSTANCE.group, &[TEMPLATE_INSTANCE.plural]),
    ];
    put(api, MUTATING_WEBHOOKS, json!({"metadata": {"name": NAME}, "webhooks": mutating})).await?;
    let validating: Vec<Value> =
        ASKED.iter().map(|(name, group, resources)| webhook(name, VALIDATE, group, resources)).collect();
    put(api, VALIDATING_WEBHOOKS, json!({"metadata": {"name": NAME}, "webhooks": validating})).await?;
    for name in names {
        available(api, &name).await?;
    }
    Ok(())
}

async fn available(api: &Api, name: &str) -> anyhow::Result<()> {
    for _ in 0..600 {
        let found = api.get(API_SERVICE, "", name).await?.unwrap_or_default();
        if found.list("/status/conditions").iter().any(|c| c["type"] == "Available" && c["status"] == "True") {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("the API server does not reach {name} on this machine")
}

/// Makes an object, or gives the one that is there this content.
async fn put(api: &Api, kind: Kind, mut object: Value) -> anyhow::Result<()> {
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.kind);
    loop {
        if api.create_missing(kind, &object).await?.is_some() {
            return Ok(());
        }
        let Some(mut there) = api.get(kind, object.namespace(), object.name()).await? else { continue };
        for key in ["spec", "webhooks"] {
            if let Some(new) = object.get(key) {
                there[key] = new.clone();
            }
        }
        match api.replace(kind, &there).await {
            Ok(_) => return Ok(()),
            Err(e) if is_conflict(&e) => {}
            Err(e) => return Err(e.into()),
        }
    }
}
