//! The first page of each portal, and the way to it from `/`.
use crate::{
    parts::PageHead,
    portal::{Place, Routes, Sheet, Visit},
    shell::Crumb,
};
use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use leptos::prelude::*;
use model::Result;

pub fn routes(r: Routes) -> Routes {
    r.route(Method::GET, "/", get(to_home)).both("", page)
}

async fn to_home(req: Request<Body>) -> impl IntoResponse {
    let visitor = req.extensions().get::<crate::portal::Visitor>();
    let to = visitor.and_then(|v| v.actor.as_ref()).map_or_else(|| "/sign-in".to_owned(), |a| Place::home(a).base());
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)])
}

async fn page(visit: Visit) -> Result<Sheet> {
    let title = match &visit.place {
        Place::Provider => "Provider".to_owned(),
        Place::Tenant { display_name, .. } => display_name.clone(),
    };
    let body = view! { <PageHead title=title.clone() /> }.into_any();
    Ok(Sheet::new(title, "Home", vec![Crumb::here("Home")], body))
}
