//! API tokens: what there are, and their end. They are made by `/oauth`.
use super::page::{Fields, asked, page, reference};
use crate::{
    answer::Answer,
    ask::Ask,
    openapi::{Is, Schema, Told, sent},
    routes::Routes,
    wire::times::stamp,
};
use domain::token;
use model::{Kind, Result, token::ApiToken};
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("owner.id", "owner.id"),
    ("owner.name", "owner.name"),
    ("org.id", "org.id"),
    ("org.name", "org.name"),
    ("type", "type"),
    ("expirationTime", "expirationTime"),
    ("creationTime", "creationTime"),
];

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/cloudapi/1.0.0/tokens", list)
        .told(Told::page(
            "API tokens: your own, or all of the organization with the right to manage them",
            "Token",
            FIELDS,
        ))
        .get("/cloudapi/1.0.0/tokens/{id}", get)
        .told(Told::one("One API token, without its secret", "Token"))
        .delete("/cloudapi/1.0.0/tokens/{id}", delete)
        .told(Told::done("Revoke an API token; its sessions end at once"))
}

pub(crate) fn schema() -> Schema {
    sent(
        "Token",
        vec![
            ("id", Is::Urn),
            ("name", Is::Text),
            ("token", Is::MaybeText),
            ("type", Is::Text),
            ("owner", Is::Ref),
            ("org", Is::Ref),
            ("creationTime", Is::Time),
            ("expirationTime", Is::MaybeTime),
            ("lastUsedTime", Is::MaybeTime),
        ],
    )
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = token::query(ask.d(), &ask.actor, ask.context, &q).await?;
    Ok(page(&ask, &q, found, |token| write(&token)))
}

async fn get(ask: Ask) -> Result<Answer> {
    let token = token::get(ask.d(), &ask.actor, ask.id(Kind::Token)?).await?;
    Ok(Answer::json(&write(&token)))
}

async fn delete(ask: Ask) -> Result<Answer> {
    token::delete(ask.d(), &ask.actor, ask.id(Kind::Token)?).await?;
    Ok(Answer::nothing())
}

fn write(t: &ApiToken) -> Value {
    json!({
        "id": t.id.urn(),
        "name": t.name,
        "token": null,
        "type": "REFRESH",
        "owner": reference(&t.user_name, t.user.urn()),
        "org": reference(&t.org_name, t.org.urn()),
        "creationTime": stamp(t.created_at),
        "expirationTime": t.expires_at.map(stamp),
        "lastUsedTime": t.last_used_at.map(stamp),
    })
}
