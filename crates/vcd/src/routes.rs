//! The table of routes. Building it is registering it: what is served, what tests walk through and what the docs list is one.
pub use crate::ask::Site;
use crate::{
    Vcd,
    answer::Answer,
    ask::{Ask, Open},
    fault::{self, Fault},
    openapi::Told,
};
use axum::{
    Router,
    body::Body,
    http::{Method, Request, Response, StatusCode, Uri, uri::PathAndQuery},
    routing::{MethodFilter, on},
};
use model::Result;
use std::future::Future;
use tower::{Layer, util::MapRequestLayer};

/// One address and what it answers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteInfo {
    pub method: Method,
    /// As clients write it: `/api/vApp/vapp-{id}`.
    pub path: &'static str,
    /// Anybody may ask it.
    pub open: bool,
    /// What the OpenAPI document says of it; all of `/cloudapi` and `/oauth` has it.
    pub told: Option<Told>,
}

pub(crate) struct Routes {
    /// None: nobody is served, and only the list is wanted.
    vcd: Option<Vcd>,
    router: Router,
    list: Vec<RouteInfo>,
}

macro_rules! methods {
    ($($name:ident $method:ident),*) => {$(
        pub(crate) fn $name<F, Fut>(self, path: &'static str, handler: F) -> Routes
        where
            F: Fn(Ask) -> Fut + Clone + Send + Sync + 'static,
            Fut: Future<Output = Result<Answer>> + Send + 'static,
        {
            self.add(Method::$method, path, handler)
        }
    )*};
}

impl Routes {
    pub(crate) fn new(vcd: Option<Vcd>) -> Routes {
        Routes { vcd, router: Router::new(), list: Vec::new() }
    }

    methods!(get GET, post POST, put PUT, delete DELETE);

    fn add<F, Fut>(self, method: Method, path: &'static str, handler: F) -> Routes
    where
        F: Fn(Ask) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer>> + Send + 'static,
    {
        self.serve(method, path, false, move |open: Open| {
            let handler = handler.clone();
            async move { handler(open.ask().await?).await }
        })
    }

    /// For those who have not signed in.
    pub(crate) fn open<F, Fut>(self, method: Method, path: &'static str, handler: F) -> Routes
    where
        F: Fn(Open) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer>> + Send + 'static,
    {
        self.serve(method, path, true, handler)
    }

    fn serve<F, Fut>(mut self, method: Method, path: &'static str, open: bool, handler: F) -> Routes
    where
        F: Fn(Open) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer>> + Send + 'static,
    {
        self.list.push(RouteInfo { method: method.clone(), path, open, told: None });
        let Some(vcd) = self.vcd.clone() else { return self };
        let json = fault::is_json(path);
        let answer = async move |request: Request<Body>| -> Response<Body> {
            let asked = match Open::read(vcd, request).await {
                Ok(open) => open,
                Err(e) => return Fault::from(e).respond(json),
            };
            let (version, as_json) = (asked.version.clone(), asked.as_json);
            match handler(asked).await {
                Ok(answer) => answer.respond(&version, as_json),
                Err(e) => Fault::from(e).respond(json || as_json),
            }
        };
        // every method of the table is one that axum knows
        let filter = MethodFilter::try_from(method).unwrap_or(MethodFilter::GET);
        self.router = self.router.route(&inner(path), on(filter, answer));
        self
    }

    /// About the route before it, for the OpenAPI document.
    pub(crate) fn told(mut self, told: Told) -> Routes {
        if let Some(last) = self.list.last_mut() {
            last.told = Some(told);
        }
        self
    }

    pub(crate) fn into_list(self) -> Vec<RouteInfo> {
        self.list
    }

    /// Behind a rewriting of addresses into the one form that is registered.
    pub(crate) fn into_router(self) -> (Router, Vec<RouteInfo>) {
        let none =
            async |request: Request<Body>| lost(request, StatusCode::NOT_FOUND, "There is nothing at this address.");
        let not_so = async |request: Request<Body>| {
            let why = "This address does not take that method.";
            lost(request, StatusCode::METHOD_NOT_ALLOWED, why)
        };
        let inside = self.router.fallback(none).method_not_allowed_fallback(not_so);
        let service = MapRequestLayer::new(rewrite).layer(inside);
        let mut outside = Router::new();
        for path in ["/api", "/api/", "/api/{*rest}", "/cloudapi", "/cloudapi/{*rest}", "/oauth/{*rest}"] {
            outside = outside.route_service(path, service.clone());
        }
        (outside, self.list)
    }
}

fn lost(request: Request<Body>, status: StatusCode, why: &str) -> Response<Body> {
    let json = fault::is_json(request.uri().path());
    let code = if status == StatusCode::NOT_FOUND { "RESOURCE_NOT_FOUND" } else { "METHOD_NOT_ALLOWED" };
    Fault { status, code, message: why.into(), retry_after_s: None }.respond(json)
}

/// As the router wants it: an id is a part of an address by itself.
fn inner(path: &str) -> String {
    path.replace("/vapp-{", "/vapp/{").replace("/vm-{", "/vm/{").replace("/vappTemplate-{", "/vappTemplate/{")
}

fn rewrite<B>(mut request: Request<B>) -> Request<B> {
    let uri = request.uri();
    let path = normal(uri.path());
    if path != uri.path() {
        let whole = match uri.query() {
            Some(query) => format!("{path}?{query}"),
            None => path,
        };
        let mut parts = uri.clone().into_parts();
        if let Ok(path) = whole.parse::<PathAndQuery>() {
            parts.path_and_query = Some(path);
            if let Ok(uri) = Uri::from_parts(parts) {
                *request.uri_mut() = uri;
            }
        }
    }
    request
}

/// Without doubled and trailing slashes, and with ids apart from what stands before them. `/api/vm/X` and `/api/vApp/X` are
/// other names of `/api/vApp/vm-X` and `/api/vApp/vapp-X`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    if parts.first() == Some(&"api") {
        match (parts.get(1).copied(), parts.get(2).copied()) {
            (Some("vApp" | "vAppTemplate"), Some(thing)) => {
                let known = ["vapp", "vm", "vappTemplate"].into_iter().find_map(|kind| {
                    Some((kind, thing.strip_prefix(kind)?.strip_prefix('-').filter(|rest| !rest.is_empty())?))
                });
                match known {
                    Some((kind, id)) => drop(parts.splice(2..3, [kind, id])),
                    None if thing.len() == 36 && parts[1] == "vApp" => parts.insert(2, "vapp"),
                    None if thing.len() == 36 => parts.insert(2, "vappTemplate"),
                    None => {}
                }
            }
            (Some("vm"), Some(_)) => drop(parts.splice(1..2, ["vApp", "vm"])),
            _ => {}
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sloppy_addresses_are_those_that_were_meant() {
        let id = "0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92";
        for (sent, meant) in [
            ("/api/org/", "/api/org"),
            ("/api/admin//networks//", "/api/admin/networks"),
            (
                &format!("/api/vApp/vapp-{id}/power/action/powerOn"),
                &format!("/api/vApp/vapp/{id}/power/action/powerOn"),
            ),
            (&format!("/api/vApp/{id}"), &format!("/api/vApp/vapp/{id}")),
            (&format!("/api/vm/{id}/"), &format!("/api/vApp/vm/{id}")),
            (&format!("/api/vAppTemplate/vm-{id}"), &format!("/api/vAppTemplate/vm/{id}")),
            ("/cloudapi/1.0.0/roles/", "/cloudapi/1.0.0/roles"),
            ("/api/vApp/vapp-", "/api/vApp/vapp-"),
        ] {
            assert_eq!(normal(sent), meant, "{sent}");
        }
    }
}
