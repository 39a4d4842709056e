//! A program that calls the VCD API with a token.
use crate::harness::{PASSWORD, TestApp};
use axum::{Router, body::Body, extract::ConnectInfo};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, Request, StatusCode};
use std::net::SocketAddr;
use tower::ServiceExt;

pub(crate) struct Program {
    router: Router,
    pub(crate) token: String,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Said {
    #[track_caller]
    pub(crate) fn must(self, status: u16) -> Said {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    /// The first value of an attribute.
    pub(crate) fn attr(&self, name: &str) -> String {
        let at = self.text.find(&format!(" {name}=\"")).unwrap_or_else(|| panic!("no {name} in {}", self.text));
        let rest = &self.text[at + name.len() + 3..];
        rest[..rest.find('"').unwrap()].replace("&amp;", "&")
    }

    /// The address of the first link with that relation, and with that type where one is given.
    pub(crate) fn link(&self, rel: &str, kind: &str) -> Option<String> {
        let links = self.text.split("<Link ").skip(1).map(|l| &l[..l.find('>').unwrap_or(l.len())]);
        let value = |l: &str, name: &str| {
            let (_, rest) = l.split_once(&format!("{name}=\""))?;
            Some(rest[..rest.find('"')?].replace("&amp;", "&"))
        };
        links
            .filter(|l| value(l, "rel").as_deref() == Some(rel))
            .find(|l| {
                if kind.is_empty() {
                    value(l, "type").is_none()
                } else {
                    value(l, "type").is_some_and(|t| t.contains(kind))
                }
            })
            .and_then(|l| value(l, "href"))
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }
}

/// The part of an address after the host.
pub(crate) fn path(href: &str) -> String {
    href.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| rest[at..].to_owned())).unwrap_or(href.into())
}

impl Program {
    /// Without a token.
    pub(crate) fn stranger(app: &TestApp) -> Program {
        Program { router: app.router.clone(), token: String::new() }
    }

    /// Signed in with everybody's password.
    pub(crate) async fn sign_in(app: &TestApp, org: &str, user: &str) -> Program {
        let mut program = Program::stranger(app);
        let said = program.basic(org, user, PASSWORD).await.must(200);
        program.token = said.headers["x-vmware-vcloud-access-token"].to_str().unwrap().to_owned();
        program
    }

    /// The same token at another replica.
    pub(crate) fn at(&self, app: &TestApp) -> Program {
        Program { router: app.router.clone(), token: self.token.clone() }
    }

    pub(crate) async fn basic(&self, org: &str, user: &str, password: &str) -> Said {
        let door = if org == "System" { "/cloudapi/1.0.0/sessions/provider" } else { "/cloudapi/1.0.0/sessions" };
        let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("{user}@{org}:{password}")));
        self.send("POST", door, "", &[("authorization", &basic), ("accept", "application/json;version=37.0")]).await
    }

    pub(crate) async fn get(&self, path: &str) -> Said {
        self.call("GET", path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Said {
        self.call("POST", path, body).await
    }

    pub(crate) async fn put(&self, path: &str, body: &str) -> Said {
        self.call("PUT", path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Said {
        self.call("DELETE", path, "").await
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: &str) -> Said {
        let bearer = format!("Bearer {}", self.token);
        let json = path.starts_with("/cloudapi") || path.starts_with("/oauth");
        let accept = if json { "application/json;version=37.0" } else { "application/*+xml;version=37.0" };
        let mut headers = vec![("accept", accept)];
        if !self.token.is_empty() {
            headers.push(("authorization", bearer.as_str()));
        }
        if json {
            headers.push(("content-type", "application/json"));
        }
        self.send(method, path, body, &headers).await
    }

    pub(crate) async fn send(&self, method: &str, target: &str, body: &str, headers: &[(&str, &str)]) -> Said {
        let peer = ConnectInfo(SocketAddr::new([10, 0, 0, 9].into(), 4000));
        let mut request =
            Request::builder().method(method).uri(path(target)).header("host", "cloud.example.com").extension(peer);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.router.clone().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
        let (head, body) = answer.into_parts();
        let bytes = axum::body::to_bytes(body, 64 << 20).await.unwrap();
        Said { status: head.status, headers: head.headers, text: String::from_utf8_lossy(&bytes).into_owned() }
    }
}
