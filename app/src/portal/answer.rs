//! Errors on pages: which status, and which words around the error's own.
use super::Visit;
use crate::{
    parts::{Failed, NotAllowed, NotFound},
    shell::Crumb,
};
use axum::http::StatusCode;
use leptos::prelude::*;
use model::Error;

/// The one table from errors to HTTP, for all pages.
pub fn status(e: &Error) -> StatusCode {
    match e {
        Error::SignInNeeded | Error::BadCredentials | Error::SignInRefused(_) => StatusCode::UNAUTHORIZED,
        Error::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
        Error::NotFound(_) => StatusCode::NOT_FOUND,
        Error::Forbidden { .. } | Error::NotShared { .. } => StatusCode::FORBIDDEN,
        Error::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Taken(_) | Error::Conflict(_) | Error::NotNow(_) | Error::OverQuota(_) => StatusCode::CONFLICT,
        Error::BadRequest(_) => StatusCode::BAD_REQUEST,
        Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

pub(super) fn retry_after(e: &Error) -> Option<u64> {
    match e {
        Error::TooMany { retry_after_s, .. } => Some(*retry_after_s),
        Error::Unavailable(_) => Some(5),
        _ => None,
    }
}

/// Does the form come back with this error, or is it the end of it?
pub(super) fn belongs_to_form(e: &Error) -> bool {
    matches!(
        e,
        Error::Invalid(_)
            | Error::Taken(_)
            | Error::Conflict(_)
            | Error::NotNow(_)
            | Error::OverQuota(_)
            | Error::BadCredentials
            | Error::TooMany { .. }
    )
}

pub(super) fn title(e: &Error) -> &'static str {
    match e {
        Error::NotFound(_) => "Nothing here",
        Error::Forbidden { .. } | Error::NotShared { .. } => "Not allowed",
        Error::Unavailable(_) => "Not available right now",
        Error::BadRequest(_) => "That address can't be read",
        Error::NotNow(_) | Error::OverQuota(_) | Error::Conflict(_) => "Not now",
        _ => "That did not work",
    }
}

/// The body of an error's page.
pub(super) fn body(e: &Error, path: &str, request_id: &str, visit: Option<&Visit>) -> AnyView {
    let home = visit.map_or_else(|| "/".to_owned(), |v| v.at(""));
    match (e, visit) {
        (Error::Forbidden { action, right }, Some(v)) => {
            let who_can = if right.is_some_and(|r| r.for_tenants()) {
                "an administrator of your organization can give it to you"
            } else {
                "the provider"
            };
            let right = right.map_or("of the provider", |r| r.name());
            view! {
                <NotAllowed
                    what=format!("You can't {} here", action.phrase())
                    right
                    user=v.actor.name.clone()
                    role=v.actor.role_name.clone()
                    who_can
                    request_id
                    home
                />
            }
            .into_any()
        }
        (Error::NotFound(_), _) => view! { <NotFound path home /> }.into_any(),
        _ => {
            let again = matches!(e, Error::Unavailable(_)).then(|| path.to_owned());
            view! { <Failed title=title(e) why=e.to_string() request_id try_again=again /> }.into_any()
        }
    }
}

pub(super) fn crumbs(e: &Error) -> Vec<Crumb> {
    vec![Crumb::here(title(e))]
}
