//! An identity provider on loopback that keeps to the rules, until a test tells it to lie.
use axum::{
    Form, Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use domain::system_clock;
use openidconnect::url::Url;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

pub(super) const CLIENT: &str = "ssvirt";
pub(super) const SECRET: &str = "canary-of-the-client";

/// An ID token on its way to be signed.
pub(super) struct Token {
    pub header: Value,
    pub claims: Value,
    /// Which of the provider's keys signs it; one that it does not publish is 1.
    pub key: usize,
    pub signature: bool,
}

type Lie<T> = Option<Box<dyn FnMut(&mut T) + Send>>;

/// How a test changes what the provider would say.
#[derive(Default)]
pub(super) struct Lies {
    pub token: Lie<Token>,
    pub metadata: Lie<Value>,
    pub user_info: Option<Value>,
    /// How long every answer takes.
    pub delay: Duration,
    /// What is answered to a code, instead of tokens.
    pub token_answer: Option<(StatusCode, &'static str)>,
    pub moved: bool,
}

struct Code {
    params: HashMap<String, String>,
    account: Value,
}

struct Inner {
    issuer: String,
    keys: Mutex<Vec<(String, EcdsaKeyPair)>>,
    codes: Mutex<HashMap<String, Code>>,
    lies: Mutex<Lies>,
    /// Names and groups are told by the user info endpoint only.
    terse: Mutex<bool>,
    asked: Mutex<Vec<String>>,
}

#[derive(Clone)]
pub(super) struct Provider(Arc<Inner>);

fn key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap()
}

impl Provider {
    pub(super) async fn start() -> Provider {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let keys = Mutex::new(vec![("one".to_owned(), key()), ("hidden".to_owned(), key())]);
        let provider = Provider(Arc::new(Inner {
            issuer,
            keys,
            codes: Mutex::default(),
            lies: Mutex::default(),
            terse: Mutex::default(),
            asked: Mutex::default(),
        }));
        let routes = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/jwks", get(jwks))
            .route("/token", post(token))
            .route("/me", get(user_info))
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        provider
    }

    pub(super) fn issuer(&self) -> &str {
        &self.0.issuer
    }

    pub(super) fn lie(&self, change: impl FnOnce(&mut Lies)) {
        change(&mut self.0.lies.lock().unwrap());
    }

    pub(super) fn lie_about_token(&self, change: impl FnMut(&mut Token) + Send + 'static) {
        self.lie(|lies| lies.token = Some(Box::new(change)));
    }

    pub(super) fn be_honest(&self) {
        *self.0.lies.lock().unwrap() = Lies::default();
    }

    pub(super) fn be_terse(&self) {
        *self.0.terse.lock().unwrap() = true;
    }

    /// A new signing key under a new name; the old one is published no more.
    pub(super) fn change_key(&self) {
        self.0.keys.lock().unwrap()[0] = ("two".to_owned(), key());
    }

    /// Which addresses were called, in their order.
    pub(super) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.0.asked.lock().unwrap())
    }

    /// Somebody signs in at the page that `location` leads to; what the browser then brings back.
    pub(super) fn sign_in(&self, location: &str, account: Value) -> String {
        self.answer(location, account).into_iter().collect::<Back>().path()
    }

    /// The same, in its parts.
    pub(super) fn answer(&self, location: &str, account: Value) -> Vec<(String, String)> {
        let params = self.request(location);
        let code = format!("code-{}", rand::random::<u64>());
        let state = params["state"].clone();
        self.0.codes.lock().unwrap().insert(code.clone(), Code { params, account });
        [("code", code), ("state", state), ("iss", self.0.issuer.clone())].map(|(k, v)| (k.to_owned(), v)).into()
    }

    /// The parameters of an authorization request to this provider.
    pub(super) fn request(&self, location: &str) -> HashMap<String, String> {
        let url = Url::parse(location).unwrap();
        assert!(location.starts_with(&format!("{}/authorize?", self.0.issuer)), "{location}");
        url.query_pairs().into_owned().collect()
    }

    async fn heard(&self, what: &str) {
        self.0.asked.lock().unwrap().push(what.to_owned());
        let delay = self.0.lies.lock().unwrap().delay;
        tokio::time::sleep(delay).await;
    }

    fn signed(&self, token: &Token) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(&token.header), part(&token.claims));
        if !token.signature {
            return format!("{text}.");
        }
        let keys = self.0.keys.lock().unwrap();
        let signature = keys[token.key].1.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

/// What a browser brings back to us.
pub(super) struct Back(Vec<(String, String)>);

impl FromIterator<(String, String)> for Back {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Back {
        Back(pairs.into_iter().collect())
    }
}

impl Back {
    pub(super) fn path(&self) -> String {
        format!("/sign-in/sso/callback?{}", serde_urlencoded::to_string(&self.0).unwrap())
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Back {
        self = self.without(name);
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Back {
        self.0.retain(|(k, _)| k != name);
        self
    }

    pub(super) fn get(&self, name: &str) -> String {
        self.0.iter().find(|(k, _)| k == name).unwrap().1.clone()
    }
}

async fn metadata(State(p): State<Provider>) -> Response {
    p.heard("metadata").await;
    let issuer = &p.0.issuer;
    let mut all = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/me"),
        "jwks_uri": format!("{issuer}/jwks"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256", "HS256", "none"],
        "authorization_response_iss_parameter_supported": true,
    });
    let mut lies = p.0.lies.lock().unwrap();
    if lies.moved {
        return (StatusCode::FOUND, [(header::LOCATION, format!("{issuer}/jwks"))]).into_response();
    }
    if let Some(lie) = &mut lies.metadata {
        lie(&mut all);
    }
    Json(all).into_response()
}

async fn jwks(State(p): State<Provider>) -> Json<Value> {
    p.heard("keys").await;
    let keys = p.0.keys.lock().unwrap();
    let (name, key) = &keys[0];
    let point = key.public_key().as_ref();
    let (x, y) = point[1..].split_at(32);
    let [x, y] = [x, y].map(|n| URL_SAFE_NO_PAD.encode(n));
    Json(
        json!({ "keys": [{ "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": name, "x": x, "y": y }] }),
    )
}

/// Checks all that a good provider checks: client, code, redirect address and proof of the browser's sender.
async fn token(State(p): State<Provider>, headers: HeaderMap, Form(form): Form<HashMap<String, String>>) -> Response {
    p.heard("token").await;
    let refuse = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{CLIENT}:{SECRET}"));
    if headers.get(header::AUTHORIZATION).is_none_or(|v| v != &format!("Basic {basic}")) {
        return refuse("invalid_client");
    }
    if let Some((status, body)) = p.0.lies.lock().unwrap().token_answer {
        return (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    }
    let Some(code) = p.0.codes.lock().unwrap().remove(&form["code"]) else { return refuse("invalid_grant") };
    let verifier = form.get("code_verifier").map(|v| URL_SAFE_NO_PAD.encode(Sha256::digest(v)));
    let proven = verifier.is_some() && verifier.as_ref() == code.params.get("code_challenge");
    if !proven || form.get("redirect_uri") != code.params.get("redirect_uri") {
        return refuse("invalid_grant");
    }
    let access_token = rand::random::<u64>().to_string();
    let now = system_clock()().unix_timestamp();
    let hash = Sha256::digest(&access_token);
    let mut claims = json!({
        "iss": p.0.issuer,
        "aud": CLIENT,
        "azp": CLIENT,
        "sub": code.account["sub"],
        "nonce": code.params["nonce"],
        "iat": now,
        "exp": now + 300,
        "at_hash": URL_SAFE_NO_PAD.encode(&hash[..16]),
    });
    if !*p.0.terse.lock().unwrap() {
        claims.as_object_mut().unwrap().extend(code.account.as_object().unwrap().clone());
    }
    // later the access token stands for the account
    let token = (format!("token {access_token}"), Code { params: HashMap::new(), account: code.account });
    p.0.codes.lock().unwrap().extend([token]);
    let name = p.0.keys.lock().unwrap()[0].0.clone();
    let mut token =
        Token { header: json!({ "alg": "ES256", "typ": "JWT", "kid": name }), claims, key: 0, signature: true };
    if let Some(lie) = &mut p.0.lies.lock().unwrap().token {
        lie(&mut token);
    }
    let id_token = p.signed(&token);
    Json(json!({ "access_token": access_token, "token_type": "Bearer", "expires_in": 300, "id_token": id_token }))
        .into_response()
}

async fn user_info(State(p): State<Provider>, headers: HeaderMap) -> Response {
    p.heard("user info").await;
    if let Some(lie) = &p.0.lies.lock().unwrap().user_info {
        return Json(lie.clone()).into_response();
    }
    let bearer = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()?.strip_prefix("Bearer "));
    let code = bearer.and_then(|token| p.0.codes.lock().unwrap().remove(&format!("token {token}")));
    match code {
        Some(code) => Json(code.account).into_response(),
        None => StatusCode::UNAUTHORIZED.into_response(),
    }
}
