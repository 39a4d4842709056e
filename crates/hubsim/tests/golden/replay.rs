//! Sends the requests of a trace and collects where the answers differ.

use crate::compare::Bindings;
use hubsim::{Flavour, Hub, Options};
use reqwest::{Client, Method, Response};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// Step to what differs in it.
pub(crate) type Differences = BTreeMap<String, Vec<String>>;

/// How long a step may take that comes true eventually.
const PATIENCE: Duration = Duration::from_secs(20);

/// A watch of more seconds than that is waited for on a real server alone.
const LONG: u64 = 30;

/// Who answers.
enum Server {
    Simulated(Hub),
    Real,
}

pub(crate) struct Replay {
    server: Server,
    url: String,
    client: Client,
    bindings: Bindings,
    differences: Differences,
    /// An action that nobody can do here: the rest of the file is left out.
    ended: bool,
}

impl Replay {
    /// A file on a hub of its own, after the set-up.
    pub(crate) async fn run(folder: &str, file: String) -> Differences {
        let _ = rustls::crypto::ring::default_provider().install_default();
        // the recorded server had no OpenShift templates
        let flavour = Flavour { templates: false, ..Flavour::default() };
        let options = Options { token: Some("admin-token".to_owned()), flavour, ..Options::default() };
        let hub = Hub::start(options).await.unwrap();
        // neither did its definitions name columns
        let definition = "virtualmachines.kubevirt.io";
        hub.edit("apiextensions.k8s.io", "customresourcedefinitions", "", definition, |definition| {
            for version in definition["spec"]["versions"].as_array_mut().unwrap() {
                version.as_object_mut().unwrap().remove("additionalPrinterColumns");
            }
        })
        .unwrap();
        let (url, ca) = (hub.url(), hub.ca().to_owned());
        let (mut replay, _) = Self::set_up(Server::Simulated(hub), url, &ca, folder).await;
        replay.steps(folder, &file).await;
        replay.differences
    }

    /// All files on a real server, one after another. Second: files that were left before their end.
    pub(crate) async fn run_on(about: &Path, folder: &str, files: &[String]) -> (Differences, Vec<String>) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let text = std::fs::read_to_string(about.join("admin.kubeconfig")).unwrap();
        let config: Value = serde_json::from_str(&text).unwrap();
        let url = config["clusters"][0]["cluster"]["server"].as_str().unwrap().to_owned();
        let ca = std::fs::read_to_string(about.join("certs/apiserver.crt")).unwrap();
        let (mut replay, base) = Self::set_up(Server::Real, url, &ca, folder).await;
        replay.without_columns().await;
        let mut left = Vec::new();
        for file in files {
            replay.bindings = base.clone();
            replay.ended = false;
            replay.steps(folder, file).await;
            if replay.ended {
                left.push(file.clone());
            }
        }
        (replay.differences, left)
    }

    /// The definitions that the recorded server had named no columns.
    async fn without_columns(&self) {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/virtualmachines.kubevirt.io";
        let url = format!("{}{path}", self.url);
        let read = self.client.get(&url).bearer_auth("admin-token").send().await.unwrap();
        let mut definition: Value = serde_json::from_slice(&read.bytes().await.unwrap()).unwrap();
        for version in definition["spec"]["versions"].as_array_mut().unwrap() {
            version.as_object_mut().unwrap().remove("additionalPrinterColumns");
        }
        let put = self.client.put(&url).bearer_auth("admin-token").header("Content-Type", "application/json");
        let put = put.body(definition.to_string()).send().await.unwrap();
        assert!(put.status().is_success(), "{}", put.status());
    }

    /// After the set-up; second: what every file begins with.
    async fn set_up(server: Server, url: String, ca: &str, folder: &str) -> (Self, Bindings) {
        let ca = reqwest::Certificate::from_pem_bundle(ca.as_bytes()).unwrap();
        let client = Client::builder()
            .tls_certs_only(ca)
            .http1_only()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let mut bindings = Bindings::default();
        bindings.values.insert("<host>".to_owned(), url.trim_start_matches("https://").to_owned());
        bindings.values.insert("<token:admin>".to_owned(), "admin-token".to_owned());
        let base = bindings.clone();
        let mut replay = Self { server, url, client, bindings, differences: Differences::new(), ended: false };
        replay.steps(folder, "00-setup.json").await;
        let tokens: Vec<_> = replay
            .bindings
            .values
            .iter()
            .filter(|(mark, _)| mark.starts_with("<token:"))
            .map(|(a, b)| (a.clone(), b.clone()))
            .collect();
        replay.bindings = base;
        replay.bindings.values.extend(tokens);
        let base = replay.bindings.clone();
        (replay, base)
    }

    async fn steps(&mut self, folder: &str, file: &str) {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
        let steps: Vec<Value> = serde_json::from_str(&text).unwrap();
        for (index, step) in steps.iter().enumerate() {
            if self.ended {
                return;
            }
            Box::pin(self.step(step, &format!("{file}#{index}"))).await;
        }
    }

    async fn step(&mut self, step: &Value, place: &str) {
        if let Some(action) = step["action"].as_str() {
            match (action, &self.server) {
                ("forget history", Server::Simulated(hub)) => hub.forget_history(),
                ("pause controllers", Server::Simulated(hub)) => hub.pause_controllers(true),
                ("resume controllers", Server::Simulated(hub)) => hub.pause_controllers(false),
                // it would take a restart of the server or of its manager
                (_, Server::Real) => self.ended = true,
                (other, _) => panic!("{place}: nobody knows how to {other}"),
            }
            return;
        }
        let started = Instant::now();
        let told = loop {
            let before = self.bindings.clone();
            let told = if step["response"]["stream"].is_array() {
                Box::pin(self.watch(step, place)).await
            } else {
                self.plain(step).await
            };
            if told.is_empty()
                || step["eventually"] != true
                || started.elapsed() > self.patience()
                || step["optional"] == true
            {
                break told;
            }
            self.bindings = before;
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        if !told.is_empty() && step["optional"] != true {
            let request = &step["request"];
            let title = format!("{} | {} {}", step["note"], request["method"], request["path"]);
            self.differences.insert(place.to_owned(), std::iter::once(title).chain(told).collect());
        }
    }

    fn patience(&self) -> Duration {
        if matches!(self.server, Server::Real) { PATIENCE * 6 } else { PATIENCE }
    }

    async fn send(&self, request: &Value) -> Result<Response, String> {
        let request = self.bindings.fill(request);
        let mut url = format!("{}{}", self.url, request["path"].as_str().unwrap());
        if let Some(query) = request["query"].as_object() {
            let query: Vec<(&str, &str)> =
                query.iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap())).collect();
            url = format!("{url}?{}", serde_urlencoded::to_string(query).unwrap());
        }
        let method = Method::from_bytes(request["method"].as_str().unwrap().as_bytes()).unwrap();
        let mut builder = self.client.request(method, url).header("User-Agent", "golden/1");
        let mut headers = reqwest::header::HeaderMap::new();
        for (key, value) in request["headers"].as_object().into_iter().flatten() {
            let name: reqwest::header::HeaderName = key.parse().unwrap();
            headers.insert(name, value.as_str().unwrap().parse().unwrap());
        }
        builder = builder.headers(headers);
        if let Some(body) = request.get("body") {
            builder = builder.body(spaced(body));
        } else if let Some(text) = request["bodyText"].as_str() {
            builder = builder.body(text.to_owned());
        }
        builder.send().await.map_err(|error| format!("no answer: {error:?}"))
    }

    async fn plain(&mut self, step: &Value) -> Vec<String> {
        let response = match self.send(&step["request"]).await {
            Ok(response) => response,
            Err(why) => return vec![why],
        };
        self.answer(&step["response"], response).await
    }

    async fn answer(&mut self, want: &Value, response: Response) -> Vec<String> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        if want["status"] != status {
            return vec![format!(
                "status: want {} got {status}: {}",
                want["status"],
                text.chars().take(600).collect::<String>()
            )];
        }
        let mut told = Vec::new();
        for (name, value) in want["headers"].as_object().into_iter().flatten() {
            let got: Vec<&str> = headers.get_all(name).iter().filter_map(|one| one.to_str().ok()).collect();
            if value.is_array() {
                self.bindings.compare(value, &json!(got), name, false, &mut told);
            } else if !got.first().is_some_and(|got| self.bindings.matches(value.as_str().unwrap(), got)) {
                told.push(format!("header {name}: want {value} got {got:?}"));
            }
        }
        match want.get("body") {
            None if body.is_empty() => {}
            None => told.push(format!("a body is not wanted: {text}")),
            Some(want_body) => {
                let got: Value = serde_json::from_slice(&body).unwrap_or_else(|_| text.clone().into());
                let trimmed = want.get("trimmed").is_some();
                if !(trimmed && got.is_string()) {
                    self.bindings.compare(want_body, &got, "", trimmed, &mut told);
                }
            }
        }
        told
    }

    async fn watch(&mut self, step: &Value, place: &str) -> Vec<String> {
        let mut response = match self.send(&step["request"]).await {
            Ok(response) => response,
            Err(why) => return vec![why],
        };
        let want = &step["response"];
        if want["status"] != response.status().as_u16() {
            return self.answer(want, response).await;
        }
        let events: Arc<Mutex<Vec<Value>>> = Arc::default();
        let reader = tokio::spawn({
            let events = events.clone();
            async move {
                let mut rest = Vec::new();
                while let Ok(Some(chunk)) = response.chunk().await {
                    rest.extend_from_slice(&chunk);
                    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                        let line: Vec<u8> = rest.drain(..=end).collect();
                        events.lock().unwrap().push(serde_json::from_slice(&line).unwrap());
                    }
                }
                if !rest.is_empty() {
                    events.lock().unwrap().push(serde_json::from_slice(&rest).unwrap());
                }
            }
        });
        for (index, inner) in step["during"].as_array().into_iter().flatten().enumerate() {
            tokio::time::sleep(Duration::from_millis(if index == 0 { 100 } else { 0 })).await;
            self.step(inner, &format!("{place}.{index}")).await;
        }
        let by_server = want["ended"] == "by the server";
        let seconds: u64 =
            step["request"]["query"]["timeoutSeconds"].as_str().and_then(|text| text.parse().ok()).unwrap_or(10);
        // where minutes would pass, the hub's clock is pushed, and every bookmark is known
        let hurried = match &self.server {
            Server::Simulated(hub) if seconds > LONG => Some(hub.clock()),
            _ => None,
        };
        let counts = |event: &&Value| hurried.is_some() || !is_plain_bookmark(event);
        let wanted: Vec<Value> = want["stream"].as_array().unwrap().iter().filter(counts).cloned().collect();
        let limit = Instant::now() + Duration::from_secs(seconds + 3);
        let arrived = || events.lock().unwrap().iter().filter(counts).count();
        if let Some(clock) = &hurried {
            let minute = time::Duration::MINUTE;
            let first = wanted.iter().position(is_plain_bookmark).unwrap();
            let reached = async |n: usize| {
                let begun = Instant::now();
                while arrived() < n && begun.elapsed() < PATIENCE {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            reached(first).await;
            clock.advance(minute - time::Duration::SECOND * 2);
            tokio::time::sleep(Duration::from_millis(200)).await;
            assert_eq!(arrived(), first, "{place}: a bookmark before its minute is over");
            clock.advance(time::Duration::SECOND * 2);
            reached(first + 1).await;
            clock.advance(time::Duration::seconds(seconds.cast_signed()) - minute);
        }
        while Instant::now() < limit && !reader.is_finished() && (by_server || arrived() < wanted.len()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if !by_server {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let mut told = Vec::new();
        if by_server && !reader.is_finished() {
            told.push("stream: the server did not end it".to_owned());
        }
        reader.abort();
        let got: Vec<Value> = events.lock().unwrap().iter().filter(counts).cloned().collect();
        self.bindings.compare(&Value::Array(wanted), &Value::Array(got), "stream", false, &mut told);
        told
    }
}

/// Bookmarks may come at any time.
fn is_plain_bookmark(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && event["object"]["metadata"].get("annotations").is_none()
}

/// JSON with a space after every colon and comma: some refusals quote the body.
fn spaced(value: &Value) -> String {
    struct Spaced;
    impl serde_json::ser::Formatter for Spaced {
        fn begin_array_value<W: ?Sized + std::io::Write>(
            &mut self,
            writer: &mut W,
            first: bool,
        ) -> std::io::Result<()> {
            if first { Ok(()) } else { writer.write_all(b", ") }
        }

        fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
            if first { Ok(()) } else { writer.write_all(b", ") }
        }

        fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
            writer.write_all(b": ")
        }
    }
    let mut text = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, Spaced)).unwrap();
    String::from_utf8(text).unwrap()
}
