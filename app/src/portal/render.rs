//! From a page to an answer. The page is a function that is run while the document renders, so that its views are made
//! in the right place; status, cookies and policy are set meanwhile.
use super::{Ask, Sheet, Values, Visit, answer, flash, form::FormState, frame::frame};
use crate::{
    code::Site,
    parts::CodePanel,
    shell::{Frame, Layout, SiteRoot, html_document},
};
use axum::{
    body::Body,
    http::{HeaderValue, Request, StatusCode, header, request::Parts},
    response::Response,
};
use leptos::{nonce::use_nonce, prelude::*};
use leptos_axum::ResponseOptions;
use leptos_meta::{Title, provide_meta_context};
use model::{Error, Result};
use std::{future::Future, sync::Arc};

/// A page for somebody who is signed in, or the error's page. `state` is a form on its way back.
pub async fn respond_page<F, Fut>(ask: Ask, parts: Parts, state: Option<FormState>, page: F) -> Response
where
    F: Fn(Visit) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Sheet>> + Send + 'static,
{
    let ask = Ask { form: state, ..ask };
    document(ask, parts, move |ask| {
        let page = page.clone();
        async move {
            let (path, request_id) = (ask.path.clone(), ask.visitor.origin.request_id.clone());
            let failure = ask.form.as_ref().and_then(|f| f.error.clone());
            let visit = match ask.clone().visit().await {
                Ok(visit) => visit,
                Err(e) => return bare_or_home(ask, e).await,
            };
            match page(visit.clone()).await {
                Ok(sheet) => match frame(&visit, sheet.on).await {
                    Ok(frame) => (failure, laid_out(frame, &visit.site(), sheet)),
                    Err(e) => bare(e, &path, &request_id),
                },
                Err(e) => framed(e, &visit).await,
            }
        }
    })
    .await
}

/// A page for anybody: it gets no layout.
pub async fn respond_public<F, Fut>(ask: Ask, parts: Parts, state: Option<FormState>, page: F) -> Response
where
    F: Fn(Ask) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<AnyView>> + Send + 'static,
{
    let ask = Ask { form: state, ..ask };
    document(ask, parts, move |ask| {
        let page = page.clone();
        async move {
            let (path, request_id) = (ask.path.clone(), ask.visitor.origin.request_id.clone());
            let failure = ask.form.as_ref().and_then(|f| f.error.clone());
            match page(ask).await {
                Ok(view) => (failure, view),
                Err(e) => bare(e, &path, &request_id),
            }
        }
    })
    .await
}

/// The page of an error that ends a request before any page.
pub(crate) async fn respond_error(ask: Ask, parts: Parts, e: Error) -> Response {
    document(ask, parts, move |ask| {
        let e = e.clone();
        async move { bare_or_home(ask, e).await }
    })
    .await
}

/// A form met a database that is away: the page offers to send the same once more.
pub(super) async fn respond_trouble(ask: Ask, parts: Parts, e: Error, values: Values) -> Response {
    document(ask, parts, move |ask| {
        let (e, values) = (e.clone(), values.clone());
        async move {
            let (path, request_id) = (ask.path.clone(), ask.visitor.origin.request_id.clone());
            let fields: Vec<(String, String)> = values.shown().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            let again = view! {
                <form method="post" action=path.clone() class="col">
                    {fields.into_iter().map(|(k, v)| view! { <input type="hidden" name=k value=v /> }).collect_view()}
                    <p>"What you typed is kept on this page, except passwords and kubeconfigs."</p>
                    <button class="btn primary">"Send it again"</button>
                </form>
            };
            let (error, view) = bare(e, &path, &request_id);
            (error, view! { {view} {again} }.into_any())
        }
    })
    .await
}

type Shown = (Option<Error>, AnyView);

/// In the layout of the visitor's own home, if somebody is signed in; else by itself.
async fn bare_or_home(ask: Ask, e: Error) -> Shown {
    let (path, request_id) = (ask.path.clone(), ask.visitor.origin.request_id.clone());
    let Some(actor) = ask.visitor.actor.clone() else { return bare(e, &path, &request_id) };
    let visit = Visit { place: super::Place::home(&actor), actor, now: ask.portal.domain.now(), ask };
    framed(e, &visit).await
}

async fn framed(e: Error, visit: &Visit) -> Shown {
    let (path, request_id) = (&visit.ask.path, &visit.ask.visitor.origin.request_id);
    if let Error::Internal(why) = &e {
        tracing::error!(error = %why, "a page failed");
    }
    // without a database there is nothing to frame it with
    let frame = match (&e, frame(visit, "").await) {
        (Error::Unavailable(_), _) | (_, Err(_)) => return bare(e, path, request_id),
        (_, Ok(frame)) => frame,
    };
    let body = answer::body(&e, path, request_id, Some(visit));
    let sheet = Sheet { live: false, ..Sheet::new(answer::title(&e), "", answer::crumbs(&e), body) };
    (Some(e), laid_out(frame, &visit.site(), sheet))
}

fn bare(e: Error, path: &str, request_id: &str) -> Shown {
    let body = answer::body(&e, path, request_id, None);
    let title = format!("{} · SSVirt", answer::title(&e));
    let view = view! {
        <Title text=title />
        <main id="main" class="col">
            {body}
        </main>
    }
    .into_any();
    (Some(e), view)
}

fn laid_out(frame: Frame, site: &Site, sheet: Sheet) -> AnyView {
    let Sheet { title, crumbs, live, body, margin, code, whole, .. } = sheet;
    if whole {
        return view! { <Title text=format!("{title} · SSVirt") /> {body} }.into_any();
    }
    let code = code.map(|code| view! { <CodePanel code site=site.clone() /> });
    let body = view! { {body} {code} };
    match margin {
        Some(margin) => view! { <Layout frame title crumbs live margin>{body}</Layout> }.into_any(),
        None => view! { <Layout frame title crumbs live>{body}</Layout> }.into_any(),
    }
}

async fn document<F, Fut>(ask: Ask, parts: Parts, shown: F) -> Response
where
    F: Fn(Ask) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Shown> + Send + 'static,
{
    let options = ask.portal.options.clone();
    let (theme, https, had_toast) = (ask.theme, ask.visitor.https, ask.toast.is_some());
    let context = {
        let (root, policy) = (options.site_root.clone(), Arc::clone(&options.policy));
        move || {
            provide_context(SiteRoot(root.clone()));
            provide_context(theme);
            let res = expect_context::<ResponseOptions>();
            if let Some(v) = use_nonce().and_then(|n| HeaderValue::from_str(&policy(&n)).ok()) {
                res.insert_header(header::CONTENT_SECURITY_POLICY, v);
            }
            res.insert_header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            if let Some(v) = flash::clear(https).filter(|_| had_toast) {
                res.append_header(header::SET_COOKIE, v);
            }
        }
    };
    let app = move || {
        provide_meta_context();
        let (ask, shown) = (ask.clone(), shown.clone());
        html_document(options.leptos.clone(), move || {
            Suspend::new(async move {
                let (error, view) = shown(ask).await;
                if let Some(e) = error {
                    set_status(&e);
                }
                view
            })
        })
    };
    let respond = leptos_axum::render_app_async_with_context(context, app);
    respond(Request::from_parts(parts, Body::empty())).await
}

fn set_status(e: &Error) {
    let res = expect_context::<ResponseOptions>();
    res.set_status(answer::status(e));
    if let Some(seconds) = answer::retry_after(e) {
        res.insert_header(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// 303 to another page, with a word about what was done.
pub(super) fn redirect(to: &str, toast: &str, https: bool) -> Response {
    let mut res = Response::new(Body::empty());
    *res.status_mut() = StatusCode::SEE_OTHER;
    if let Ok(v) = HeaderValue::from_str(to) {
        res.headers_mut().insert(header::LOCATION, v);
    }
    if let Some(v) = flash::write(toast, https).filter(|_| !toast.is_empty()) {
        res.headers_mut().append(header::SET_COOKIE, v);
    }
    res
}
