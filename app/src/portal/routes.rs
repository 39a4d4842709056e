//! The table of routes. Building it is registering it: what the router serves and what tests walk through is one list.
use super::{
    Ask, Csv, Done, Portal, Sheet, Values, Visit,
    answer::belongs_to_form,
    form::FormState,
    render::{redirect, respond_error, respond_page, respond_trouble},
};
use axum::{
    Router,
    body::Body,
    http::{Method, Request},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use model::{Error, Result};
use std::future::Future;

/// One address and what it answers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteInfo {
    pub method: Method,
    pub path: String,
}

/// Both portals have most pages; these are the beginnings of their addresses.
const PLACES: [&str; 2] = ["/provider", "/tenant/{org}"];

pub struct Routes {
    portal: Portal,
    router: Router,
    pub list: Vec<RouteInfo>,
}

impl Routes {
    pub fn new(portal: Portal) -> Routes {
        Routes { portal, router: Router::new(), list: Vec::new() }
    }

    pub fn into_router(self) -> (Router, Vec<RouteInfo>) {
        (self.router, self.list)
    }

    /// Anything else that answers at an address.
    pub fn route(mut self, method: Method, path: impl Into<String>, handler: MethodRouter) -> Routes {
        let path = path.into();
        self.router = self.router.route(&path, handler);
        self.list.push(RouteInfo { method, path });
        self
    }

    /// A page.
    pub fn page<F, Fut>(self, path: impl Into<String>, page: F) -> Routes
    where
        F: Fn(Visit) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Sheet>> + Send + 'static,
    {
        let portal = self.portal.clone();
        let handler = get(async move |req: Request<Body>| {
            let (mut parts, _) = req.into_parts();
            let ask = Ask::read(portal, &mut parts).await;
            if let Some(e) = ask.visitor.trouble.clone() {
                return respond_error(ask, parts, e).await;
            }
            if ask.visitor.actor.is_none() {
                return sign_in_first(&ask);
            }
            respond_page(ask, parts, None, page).await
        });
        self.route(Method::GET, path, handler)
    }

    /// A page in both portals.
    pub fn both<F, Fut>(mut self, rest: &str, page: F) -> Routes
    where
        F: Fn(Visit) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Sheet>> + Send + 'static,
    {
        for place in PLACES {
            self = self.page(format!("{place}{rest}"), page.clone());
        }
        self
    }

    /// A page with a form that posts to the page's own address.
    pub fn form<F, Fut, G, Gut>(self, path: impl Into<String>, page: F, act: G) -> Routes
    where
        F: Fn(Visit) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Sheet>> + Send + 'static,
        G: Fn(Visit, Values) -> Gut + Clone + Send + Sync + 'static,
        Gut: Future<Output = Result<Done>> + Send + 'static,
    {
        let (path, portal) = (path.into(), self.portal.clone());
        let back = page.clone();
        let handler = post(async move |req: Request<Body>| {
            let (ask, parts, values) = match read_form(portal, req).await {
                Ok(all) => all,
                Err(res) => return res,
            };
            match run(&ask, act, values.clone()).await {
                Ok(done) => redirect(&done.to, &done.toast, ask.visitor.https),
                Err(e) if belongs_to_form(&e) => {
                    respond_page(ask, parts, Some(FormState { values, error: Some(e) }), back).await
                }
                Err(e @ Error::Unavailable(_)) => respond_trouble(ask, parts, e, values).await,
                Err(e) => respond_error(ask, parts, e).await,
            }
        });
        self.page(path.clone(), page).route(Method::POST, path, handler)
    }

    /// A second button of a form, which only looks: the form's page comes back with what was found, and with what was
    /// typed. Who comes to its address otherwise finds the form.
    pub fn look<T, F, Fut, G, Gut>(self, path: impl Into<String>, page: F, look: G) -> Routes
    where
        T: Clone + Send + Sync + 'static,
        F: Fn(Visit, Option<T>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Sheet>> + Send + 'static,
        G: Fn(Visit, Values) -> Gut + Clone + Send + Sync + 'static,
        Gut: Future<Output = Result<T>> + Send + 'static,
    {
        let (path, portal) = (path.into(), self.portal.clone());
        let form = page.clone();
        let handler = post(async move |req: Request<Body>| {
            let (ask, parts, values) = match read_form(portal, req).await {
                Ok(all) => all,
                Err(res) => return res,
            };
            let (found, error) = match run(&ask, look, values.clone()).await {
                Ok(found) => (Some(found), None),
                Err(e) if belongs_to_form(&e) => (None, Some(e)),
                Err(e @ Error::Unavailable(_)) => return respond_trouble(ask, parts, e, values).await,
                Err(e) => return respond_error(ask, parts, e).await,
            };
            let back = move |visit| page(visit, found.clone());
            respond_page(ask, parts, Some(FormState { values, error }), back).await
        });
        self.page(path.clone(), move |visit| form(visit, None)).route(Method::POST, path, handler)
    }

    pub fn both_look<T, F, Fut, G, Gut>(mut self, rest: &str, page: F, look: G) -> Routes
    where
        T: Clone + Send + Sync + 'static,
        F: Fn(Visit, Option<T>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Sheet>> + Send + 'static,
        G: Fn(Visit, Values) -> Gut + Clone + Send + Sync + 'static,
        Gut: Future<Output = Result<T>> + Send + 'static,
    {
        for place in PLACES {
            self = self.look(format!("{place}{rest}"), page.clone(), look.clone());
        }
        self
    }

    pub fn both_form<F, Fut, G, Gut>(mut self, rest: &str, page: F, act: G) -> Routes
    where
        F: Fn(Visit) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Sheet>> + Send + 'static,
        G: Fn(Visit, Values) -> Gut + Clone + Send + Sync + 'static,
        Gut: Future<Output = Result<Done>> + Send + 'static,
    {
        for place in PLACES {
            self = self.form(format!("{place}{rest}"), page.clone(), act.clone());
        }
        self
    }

    /// A button: it posts, and there is no page at its address.
    pub fn act<G, Gut>(self, path: impl Into<String>, act: G) -> Routes
    where
        G: Fn(Visit, Values) -> Gut + Clone + Send + Sync + 'static,
        Gut: Future<Output = Result<Done>> + Send + 'static,
    {
        let portal = self.portal.clone();
        let handler = post(async move |req: Request<Body>| {
            let (ask, parts, values) = match read_form(portal, req).await {
                Ok(all) => all,
                Err(res) => return res,
            };
            match run(&ask, act, values).await {
                Ok(done) => redirect(&done.to, &done.toast, ask.visitor.https),
                Err(e) => respond_error(ask, parts, e).await,
            }
        });
        self.route(Method::POST, path, handler)
    }

    pub fn both_act<G, Gut>(mut self, rest: &str, act: G) -> Routes
    where
        G: Fn(Visit, Values) -> Gut + Clone + Send + Sync + 'static,
        Gut: Future<Output = Result<Done>> + Send + 'static,
    {
        for place in PLACES {
            self = self.act(format!("{place}{rest}"), act.clone());
        }
        self
    }

    /// A list as a file.
    pub fn csv<F, Fut>(self, path: impl Into<String>, file: F) -> Routes
    where
        F: Fn(Visit) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Csv>> + Send + 'static,
    {
        let portal = self.portal.clone();
        let handler = get(async move |req: Request<Body>| {
            let (mut parts, _) = req.into_parts();
            let ask = Ask::read(portal, &mut parts).await;
            if let Some(e) = ask.visitor.trouble.clone() {
                return respond_error(ask, parts, e).await;
            }
            if ask.visitor.actor.is_none() {
                return sign_in_first(&ask);
            }
            let made = match ask.clone().visit().await {
                Ok(visit) => file(visit).await,
                Err(e) => Err(e),
            };
            match made {
                Ok(csv) => csv.into_response(),
                Err(e) => respond_error(ask, parts, e).await,
            }
        });
        self.route(Method::GET, path, handler)
    }

    pub fn both_csv<F, Fut>(mut self, rest: &str, file: F) -> Routes
    where
        F: Fn(Visit) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Csv>> + Send + 'static,
    {
        for place in PLACES {
            self = self.csv(format!("{place}{rest}"), file.clone());
        }
        self
    }

    /// For routes that need the raw request.
    pub fn portal(&self) -> Portal {
        self.portal.clone()
    }
}

async fn run<T, G, Gut>(ask: &Ask, act: G, values: Values) -> Result<T>
where
    G: Fn(Visit, Values) -> Gut,
    Gut: Future<Output = Result<T>>,
{
    let visit = ask.clone().visit().await?;
    act(visit, values).await
}

/// The form's fields, for somebody who is signed in. For anybody else the sign-in page, which keeps what was typed.
async fn read_form(portal: Portal, req: Request<Body>) -> Result<(Ask, axum::http::request::Parts, Values), Response> {
    let (mut parts, body) = req.into_parts();
    let ask = Ask::read(portal, &mut parts).await;
    let values = match read_values(body).await {
        Ok(values) => values,
        Err(e) => return Err(respond_error(ask, parts, e).await),
    };
    if let Some(e) = ask.visitor.trouble.clone() {
        return Err(respond_trouble(ask, parts, e, values).await);
    }
    if ask.visitor.actor.is_none() {
        return Err(crate::pages::sign_in::resume_later(ask, parts, values).await);
    }
    Ok((ask, parts, values))
}

/// The edge has limited the size and checked the encoding.
pub(crate) async fn read_values(body: Body) -> Result<Values> {
    let bytes = axum::body::to_bytes(body, 4 << 20).await;
    let bytes =
        bytes.map_err(|_| Error::BadRequest("The form could not be read: it is too large or was cut off.".into()))?;
    Ok(Values::read(&bytes))
}

fn sign_in_first(ask: &Ask) -> Response {
    let next = crate::parts::Query::new(ask.path.clone(), ask.query.clone()).href();
    let to = crate::parts::Query::new("/sign-in", [("next".to_owned(), next)]).href();
    redirect(&to, "", ask.visitor.https)
}
