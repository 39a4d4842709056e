//! A request as a page sees it: who asks, in which of the two portals, for what.
use super::{Fill, Values, flash};
use crate::{
    code::{AsCode, Site},
    shell::{Crumb, Theme},
};
use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::{Uri, header, request::Parts},
};
use domain::Domain;
use leptos::prelude::{AnyView, LeptosOptions};
use model::{
    Action, Actor, Error, Kind, OrgId, Origin, Result,
    action::Reach,
    decide::{Resource, authorize, list_scope},
    list::{FilterSpec, ListQuery, ListSpec, ORGANIZATION, for_provider},
};
use std::{str::FromStr, sync::Arc};
use time::OffsetDateTime;
use tower_sessions::Session;
use uuid::Uuid;

/// What the server hands to the portal once.
#[derive(Clone)]
pub struct PortalOptions {
    pub leptos: LeptosOptions,
    /// Where the site's files are.
    pub site_root: String,
    /// The content security policy for a page's nonce.
    pub policy: Arc<dyn Fn(&str) -> String + Send + Sync>,
}

#[derive(Clone)]
pub struct Portal {
    pub domain: Domain,
    pub options: PortalOptions,
}

/// What the server's edge knows about a request. A request extension.
#[derive(Clone, Debug, Default)]
pub struct Visitor {
    pub actor: Option<Actor>,
    /// Why it is not known who asks, as while the database is away.
    pub trouble: Option<Error>,
    pub origin: Origin,
    /// Names the session without giving it away; empty when nobody is signed in.
    pub session_hash: Vec<u8>,
    /// Over https: cookies are marked so.
    pub https: bool,
    /// This site as the visitor sees it: `https://cloud.example.com`.
    pub base: String,
}

/// A request before it is clear whether somebody is signed in.
#[derive(Clone)]
pub struct Ask {
    pub portal: Portal,
    pub visitor: Visitor,
    /// None without the session layer.
    pub session: Option<Session>,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub(super) params: Vec<(String, String)>,
    pub agent: String,
    pub theme: Theme,
    pub toast: Option<String>,
    pub form: Option<super::form::FormState>,
}

impl Ask {
    pub async fn read(portal: Portal, parts: &mut Parts) -> Ask {
        let params = RawPathParams::from_request_parts(parts, &()).await;
        let params =
            params.map(|all| all.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect()).unwrap_or_default();
        let header = |name| parts.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let cookie =
            |name: &str| header(header::COOKIE).split("; ").find_map(|c| c.strip_prefix(name)?.strip_prefix('='));
        // a page that refreshes itself leaves the message to the one that was asked for
        let toast =
            if parts.headers.contains_key("x-refresh") { None } else { cookie(flash::COOKIE).and_then(flash::read) };
        Ask {
            visitor: parts.extensions.get::<Visitor>().cloned().unwrap_or_default(),
            session: parts.extensions.get::<Session>().cloned(),
            path: parts.uri.path().to_owned(),
            query: pairs(&parts.uri),
            params,
            agent: header(header::USER_AGENT).chars().filter(|c| !c.is_control()).take(200).collect(),
            theme: cookie("theme").map(Theme::parse).unwrap_or_default(),
            toast,
            form: None,
            portal,
        }
    }

    pub fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(k, _)| k == name).map_or("", |(_, v)| v)
    }

    pub fn query(&self, name: &str) -> &str {
        self.query.iter().find(|(k, _)| k == name).map_or("", |(_, v)| v)
    }

    /// The request of somebody who is signed in, at a place they may enter.
    pub async fn visit(self) -> Result<Visit> {
        let actor = self.visitor.actor.clone().ok_or(Error::SignInNeeded)?;
        let place = if self.path.starts_with("/tenant/") {
            let (id, name, display_name) = self.portal.domain.store.org_place(&actor, self.param("org")).await?;
            Place::Tenant { id, name, display_name }
        } else if self.path.starts_with("/provider") {
            if !actor.provider {
                return Err(Error::NotFound(Kind::Installation));
            }
            Place::Provider
        } else {
            Place::home(&actor)
        };
        let now = self.portal.domain.now();
        Ok(Visit { actor, place, now, ask: self })
    }
}

fn pairs(uri: &Uri) -> Vec<(String, String)> {
    Values::read(uri.query().unwrap_or_default().as_bytes()).into_pairs()
}

/// Which portal, and for a tenant's which organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Provider,
    Tenant { id: OrgId, name: String, display_name: String },
}

impl Place {
    pub fn home(actor: &Actor) -> Place {
        if actor.provider {
            return Place::Provider;
        }
        Place::Tenant { id: actor.org, name: actor.org_name.clone(), display_name: actor.org_display_name.clone() }
    }

    /// The beginning of every address in it.
    pub fn base(&self) -> String {
        match self {
            Place::Provider => "/provider".into(),
            Place::Tenant { name, .. } => format!("/tenant/{name}"),
        }
    }
}

#[derive(Clone)]
pub struct Visit {
    pub actor: Actor,
    pub place: Place,
    pub now: OffsetDateTime,
    pub ask: Ask,
}

impl Visit {
    pub fn domain(&self) -> &Domain {
        &self.ask.portal.domain
    }

    /// An address in this place: `visit.at("/users")`.
    pub fn at(&self, rest: impl AsRef<str>) -> String {
        format!("{}{}", self.place.base(), rest.as_ref())
    }

    /// The organization whose pages these are; None in the provider's portal, which shows all.
    pub fn org(&self) -> Option<OrgId> {
        match &self.place {
            Place::Provider => None,
            Place::Tenant { id, .. } => Some(*id),
        }
    }

    /// The organization that something new is made in: the place's, or in the provider's portal the one in field `org`.
    pub fn org_for_new(&self, values: &Values) -> Result<OrgId> {
        match self.org() {
            Some(id) => Ok(id),
            None => values.get("org").parse().map_err(|_| Error::field("org", "Choose an organization.")),
        }
    }

    /// The id in the address. One that can't be an id stands for something that is not there.
    pub fn id<T: FromStr + From<Uuid>>(&self) -> T {
        self.ask.param("id").parse().unwrap_or_else(|_| T::from(Uuid::nil()))
    }

    /// The word in the address, for what people gave one as its id. What can't be one stands for something that is not
    /// there.
    pub fn word(&self) -> String {
        model::name::check_label(self.ask.param("id")).unwrap_or_default()
    }

    /// A thing of `org` is shown in that organization's portal and in the provider's, and nowhere else.
    pub fn within(&self, org: OrgId, kind: Kind) -> Result<()> {
        if self.org().is_none_or(|here| here == org) { Ok(()) } else { Err(Error::NotFound(kind)) }
    }

    /// May the visitor do this to things of this place's organization?
    pub fn may(&self, action: Action) -> bool {
        // a list shows one's own things, and what is shared with one
        let looks = !action.changes() && action.reach() == Reach::Mine;
        self.actor.may(action, self.resource()) || looks && list_scope(&self.actor, action, self.org()).is_ok()
    }

    /// The same as a result, for pages that are about one action.
    pub fn authorize(&self, action: Action) -> Result<()> {
        authorize(&self.actor, action, self.resource())
    }

    fn resource(&self) -> Resource {
        match &self.place {
            Place::Provider => Resource::Installation,
            Place::Tenant { id, .. } => Resource::Of(*id),
        }
    }

    pub fn list_query(&self, spec: &ListSpec) -> Result<ListQuery> {
        let mut query = ListQuery::read(spec, self.ask.query.iter().map(|(k, v)| (k.as_str(), v.as_str())))?;
        if self.org().is_some() {
            // nobody finds out by guessing what only the provider knows; one's own organization is known
            let secret = |f: &FilterSpec| for_provider(f) && *f != ORGANIZATION;
            query.filters.retain(|(key, _)| !spec.filters.iter().any(|f| f.key == *key && secret(f)));
        }
        Ok(query)
    }

    /// Where what is written as code is for.
    pub fn site(&self) -> Site {
        let (org, user) = (self.actor.org_name.clone(), self.actor.name.clone());
        Site { base: self.ask.visitor.base.clone(), org, user, provider: self.actor.provider }
    }

    /// What the fields of this page's form hold.
    pub fn fill(&self) -> Fill {
        Fill::new(self.ask.form.clone())
    }
}

/// A page: what goes into the layout.
pub struct Sheet {
    pub title: String,
    /// The label of the navigation's entry that is lit.
    pub on: &'static str,
    pub crumbs: Vec<Crumb>,
    /// Refreshes itself when something changes. Not for forms.
    pub live: bool,
    pub body: AnyView,
    pub margin: Option<AnyView>,
    /// The same as code, at its foot.
    pub code: Option<AsCode>,
    /// It fills the window by itself, without the frame.
    pub whole: bool,
}

impl Sheet {
    pub fn new(title: impl Into<String>, on: &'static str, crumbs: Vec<Crumb>, body: AnyView) -> Sheet {
        Sheet { title: title.into(), on, crumbs, live: true, body, margin: None, code: None, whole: false }
    }

    /// For pages with a form: they stay as they are.
    pub fn still(mut self) -> Sheet {
        self.live = false;
        self
    }

    /// For a page that fills the window by itself.
    pub fn whole(mut self) -> Sheet {
        (self.whole, self.live) = (true, false);
        self
    }

    pub fn margin(mut self, margin: AnyView) -> Sheet {
        self.margin = Some(margin);
        self
    }

    pub fn code(mut self, code: impl Into<Option<AsCode>>) -> Sheet {
        self.code = code.into();
        self
    }
}

/// How a form that was accepted ends: at another page, with a word about what was done.
pub struct Done {
    pub to: String,
    pub toast: String,
}

impl Done {
    pub fn new(to: impl Into<String>, toast: impl Into<String>) -> Done {
        Done { to: to.into(), toast: toast.into() }
    }
}
