//! `/oauth`: API tokens are registered, handed out once, and traded for access tokens.
use crate::{
    answer::Answer,
    ask::{Ask, Open, read_id},
    openapi::{Is, Schema, Told, read, sent},
    routes::Routes,
    session,
    wire::params::{Params, decode},
};
use axum::http::{Method, StatusCode};
use domain::token;
use model::{Error, Kind, Result, TokenId, org::PROVIDER, token::TokenSpec};
use serde::Deserialize;
use serde_json::json;

const HAND_OUT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

pub(crate) fn routes(routes: Routes) -> Routes {
    let register = Told::one("Register an API token of one's own", "Client").takes("NewClient");
    let trade = Told::one("An access token for an API token, or an API token for who has just registered it", "Grant");
    let trade = trade.form("GrantAsked");
    routes
        .post("/oauth/tenant/{org}/register", register_client)
        .told(register)
        .post("/oauth/provider/register", register_client)
        .told(register)
        .open(Method::POST, "/oauth/tenant/{org}/token", grant)
        .told(trade)
        .open(Method::POST, "/oauth/provider/token", grant)
        .told(trade)
}

pub(crate) fn schemas() -> Vec<Schema> {
    let kinds = json!({"type": "string", "enum": ["refresh_token", HAND_OUT]});
    vec![
        read("NewClient", &["client_name"], vec![("client_name", Is::Text), ("software_id", Is::MaybeText)]),
        sent(
            "Client",
            vec![
                ("client_name", Is::Text),
                ("client_id", Is::Text),
                ("grant_types", Is::Texts),
                ("application_type", Is::Text),
            ],
        ),
        read(
            "GrantAsked",
            &["grant_type"],
            vec![
                ("grant_type", Is::Other(kinds)),
                ("refresh_token", Is::Text),
                ("assertion", Is::Text),
                ("client_id", Is::Text),
            ],
        ),
        sent(
            "Grant",
            vec![
                ("access_token", Is::MaybeText),
                ("token_type", Is::Text),
                ("expires_in", Is::MaybeInt),
                ("refresh_token", Is::MaybeText),
            ],
        ),
    ]
}

/// The organization in the address.
fn org(open: &Open) -> &str {
    match open.part("org") {
        "" => PROVIDER,
        name => name,
    }
}

#[derive(Deserialize)]
struct NewClient {
    client_name: String,
    /// Of a service account.
    software_id: Option<String>,
}

async fn register_client(ask: Ask) -> Result<Answer> {
    if !org(&ask.open).eq_ignore_ascii_case(&ask.actor.org_name) {
        return Err(Error::NotFound(Kind::Org));
    }
    let new: NewClient = ask.json()?;
    if new.software_id.is_some() {
        let why = "There are no service accounts here, and an API token is a person's. Register without software_id to have one of your own.";
        return Err(Error::field("software_id", why));
    }
    let spec = TokenSpec { name: new.client_name, expires_at: None };
    let made = token::create(ask.d(), &ask.actor, &ask.session, spec).await.map_err(|e| e.rename(|_| "client_name"))?;
    Ok(Answer::json(&json!({
        "client_name": made.name,
        "client_id": made.id.to_string(),
        "grant_types": ["refresh_token", HAND_OUT],
        "application_type": "web",
    })))
}

/// What went wrong, as OAuth says it. `error` is a word of RFC 6749.
fn refuse(status: StatusCode, error: &str, why: &str) -> Answer {
    Answer::json(&json!({"error": error, "error_description": why, "minorErrorCode": error, "message": why}))
        .status(status)
}

async fn grant(open: Open) -> Result<Answer> {
    let text = std::str::from_utf8(open.body()).unwrap_or_default();
    let form = Params::read(Some(text.trim()));
    let field = |name: &str| form.raw(name).map(decode).transpose().map(Option::unwrap_or_default);
    let done = match field("grant_type")?.as_str() {
        "refresh_token" => sign_in(&open, &field("refresh_token")?).await,
        HAND_OUT => hand_out(&open, &field("assertion")?, &field("client_id")?).await,
        "" => return Ok(refuse(StatusCode::BAD_REQUEST, "invalid_request", "grant_type is missing.")),
        _ => {
            let why = format!("grant_type is refresh_token or {HAND_OUT}.");
            return Ok(refuse(StatusCode::BAD_REQUEST, "unsupported_grant_type", &why));
        }
    };
    match done {
        Err(Error::BadCredentials) => {
            let why = "This API token is not good here: it was revoked, has expired, or is of another organization; or its user is disabled.";
            Ok(refuse(StatusCode::BAD_REQUEST, "invalid_grant", why))
        }
        Err(Error::SignInNeeded) => {
            Ok(refuse(StatusCode::UNAUTHORIZED, "invalid_grant", "assertion is not the access token of a session."))
        }
        Err(Error::NotFound(_) | Error::BadRequest(_)) => {
            let why = "client_id is not the id of an API token that you have registered.";
            Ok(refuse(StatusCode::UNAUTHORIZED, "invalid_client", why))
        }
        Err(e @ Error::NotNow(_)) => Ok(refuse(StatusCode::BAD_REQUEST, "invalid_grant", &e.to_string())),
        other => other,
    }
}

async fn sign_in(open: &Open, secret: &str) -> Result<Answer> {
    let agent = open.header("user-agent").unwrap_or_default();
    let (who, opened) = token::sign_in(open.d(), org(open), secret, open.origin.clone(), agent).await?;
    let (access, lasts_s) = session::access_token(open, &who, &opened)?;
    Ok(Answer::json(&json!({
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": lasts_s,
        "refresh_token": null,
    })))
}

/// The API token itself, for whoever registered it, once.
async fn hand_out(open: &Open, assertion: &str, client: &str) -> Result<Answer> {
    let (actor, session) = session::behind(open, assertion).await?;
    if !org(open).eq_ignore_ascii_case(&actor.org_name) {
        return Err(Error::NotFound(Kind::Token));
    }
    let id = TokenId(read_id(client, Kind::Token)?);
    let secret = token::give(open.d(), &actor, &session, id).await?;
    Ok(Answer::json(&json!({
        "access_token": null,
        "token_type": "Bearer",
        "expires_in": null,
        "refresh_token": secret,
    })))
}
