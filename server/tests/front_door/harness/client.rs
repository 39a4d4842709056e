//! A browser: it keeps cookies and says where its forms come from.
use super::Answer;
use axum::{Router, body::Body, extract::ConnectInfo};
use http::{Request, Response, header};
use server::edge::Encrypted;
use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    sync::Mutex,
};
use tower::ServiceExt;

const HOST: &str = "cloud.example.com";

/// The fields of a form.
pub(crate) type Form<'a> = &'a [(&'a str, &'a str)];

pub(crate) struct Client {
    router: Router,
    cookies: Mutex<BTreeMap<String, String>>,
    https: bool,
    address: IpAddr,
}

impl Client {
    pub(super) fn new(router: Router) -> Client {
        Client { router, cookies: Mutex::default(), https: false, address: [10, 0, 0, 7].into() }
    }

    pub(crate) fn over_https(mut self) -> Client {
        self.https = true;
        self
    }

    pub(crate) fn at_address(mut self, address: &str) -> Client {
        self.address = address.parse().unwrap();
        self
    }

    /// The same cookies in another browser: a stolen session.
    pub(crate) fn copy(&self) -> Client {
        let cookies = Mutex::new(self.cookies.lock().unwrap().clone());
        Client { router: self.router.clone(), cookies, https: self.https, address: self.address }
    }

    /// The same cookies at another replica.
    pub(crate) fn at(&self, router: &Router) -> Client {
        Client { router: router.clone(), ..self.copy() }
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.lock().unwrap().get(name).cloned()
    }

    pub(crate) fn set_cookie(&self, name: &str, value: &str) {
        self.cookies.lock().unwrap().insert(name.into(), value.into());
    }

    pub(crate) fn forget_cookie(&self, name: &str) {
        self.cookies.lock().unwrap().remove(name);
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request("GET", path).body(Body::empty()).unwrap()).await
    }

    /// A form, sent from one of our own pages.
    pub(crate) async fn post(&self, path: &str, form: Form<'_>) -> Answer {
        self.post_raw(path, serde_urlencoded::to_string(form).unwrap()).await
    }

    /// Opens a page, fills fields of its form in and sends it. A field that is not there yet is added.
    pub(crate) async fn fill(&self, path: &str, typed: Form<'_>) -> Answer {
        let page = self.get(path).await.must(200);
        self.fill_page(&page, path, typed).await
    }

    /// The same with a page that was opened before.
    pub(crate) async fn fill_page(&self, page: &Answer, path: &str, typed: Form<'_>) -> Answer {
        let mut form = page.form();
        form.retain(|(name, _)| !typed.iter().any(|(typed, _)| typed == name));
        form.extend(typed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.post(path, &form).await
    }

    /// Follows a redirect, as browsers do.
    pub(crate) async fn follow(&self, answer: Answer) -> Answer {
        let to = answer.must(303).location().to_owned();
        self.get(&to).await.must(200)
    }

    /// A form whose body is put together by the test.
    pub(crate) async fn post_raw(&self, path: &str, body: impl Into<Body>) -> Answer {
        let request = self
            .request("POST", path)
            .header(header::ORIGIN, self.origin())
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request.body(body.into()).unwrap()).await
    }

    pub(crate) fn origin(&self) -> String {
        format!("{}://{HOST}", if self.https { "https" } else { "http" })
    }

    /// The beginning of a request, with host, cookies and what a browser accepts.
    pub(crate) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let cookies: Vec<String> = self.cookies.lock().unwrap().iter().map(|(k, v)| format!("{k}={v}")).collect();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, HOST)
            .header(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")
            .extension(ConnectInfo(SocketAddr::new(self.address, 4711)));
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        if self.https {
            request = request.extension(Encrypted);
        }
        request
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let asked = format!("{} {}", request.method(), request.uri());
        let (head, body) = self.begin(request).await.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            asked,
            status: head.status,
            headers: head.headers,
            body: String::from_utf8(body.to_vec()).unwrap_or_else(|_| format!("{} bytes", body.len())),
        }
    }

    /// The head of the answer, for streams.
    pub(crate) async fn begin(&self, request: Request<Body>) -> Response<Body> {
        let answer = self.router.clone().oneshot(request).await.unwrap();
        for set in answer.headers().get_all(header::SET_COOKIE) {
            let set = set.to_str().unwrap();
            let (pair, attributes) = set.split_once(';').unwrap_or((set, ""));
            let (name, value) = pair.split_once('=').unwrap();
            let mut cookies = self.cookies.lock().unwrap();
            if attributes.contains("Max-Age=0") {
                cookies.remove(name);
            } else {
                cookies.insert(name.into(), value.into());
            }
        }
        answer
    }
}
