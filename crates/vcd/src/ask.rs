//! A request as handlers see it: who asks, for what, in which form.
use crate::{
    Vcd, session,
    wire::{
        body::{self, Read},
        href::Base,
        params::Params,
    },
};
use axum::{
    body::{Body, to_bytes},
    extract::{FromRequestParts, RawPathParams},
    http::{HeaderMap, Request, header},
};
use bytes::Bytes;
use domain::Domain;
use model::{Actor, Error, Kind, OrgId, Origin, Result, Via, query::last_uuid};
use serde::de::DeserializeOwned;
use uuid::Uuid;
use xml::Element;

/// Set by the edge of the server: this site as the client named it, and where the request came from.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// `https://cloud.example.com`
    pub base: String,
    pub address: String,
    pub request_id: String,
}

/// The longest body that is read; images go elsewhere.
const LONGEST: usize = 4 << 20;
/// For clients that do not say.
const VERSION: &str = "39.0";

/// Everything but who asks: for signing in, and for what anybody may know.
pub(crate) struct Open {
    pub(crate) vcd: Vcd,
    pub(crate) base: Base,
    pub(crate) origin: Origin,
    pub(crate) version: String,
    /// Documents of `/api` are wanted in JSON.
    pub(crate) as_json: bool,
    pub(crate) headers: HeaderMap,
    pub(crate) params: Params,
    /// The address without what stands after `?`.
    pub(crate) at: String,
    path: Vec<(String, String)>,
    body: Bytes,
    body_is_json: bool,
    /// What a vendor's media type says that the body is: `media`, `CreateVmParams`. None: it says nothing.
    body_is: Option<String>,
}

/// With somebody who has signed in.
pub(crate) struct Ask {
    pub(crate) open: Open,
    pub(crate) actor: Actor,
    /// What the database knows the session by.
    pub(crate) session: Vec<u8>,
    /// The organization that somebody of the provider acts in; lists keep to it.
    pub(crate) context: Option<OrgId>,
}

impl Open {
    pub(crate) async fn read(vcd: Vcd, request: Request<Body>) -> Result<Open> {
        let (mut parts, body) = request.into_parts();
        let site = parts.extensions.get::<Site>().cloned().unwrap_or_default();
        let params = RawPathParams::from_request_parts(&mut parts, &()).await;
        let path =
            params.map(|all| all.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect()).unwrap_or_default();
        let body = to_bytes(body, LONGEST)
            .await
            .map_err(|_| Error::BadRequest("The request is longer than 4 MiB, or broke off.".into()))?;
        let accept = accepted(&parts.headers);
        let text = |name| parts.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
        Ok(Open {
            vcd,
            base: Base(site.base),
            origin: Origin { via: Via::Vcd, address: site.address, request_id: site.request_id },
            version: version(&accept).unwrap_or_else(|| VERSION.to_owned()),
            as_json: accept.contains("json") && !accept.contains("xml"),
            body_is_json: text(header::CONTENT_TYPE).contains("json"),
            body_is: vendors_word(text(header::CONTENT_TYPE)),
            params: Params::read(parts.uri.query()),
            at: parts.uri.path().to_owned(),
            headers: parts.headers,
            path,
            body,
        })
    }

    pub(crate) fn d(&self) -> &Domain {
        &self.vcd.domain
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok()).map(str::trim).filter(|v| !v.is_empty())
    }

    pub(crate) fn part(&self, name: &str) -> &str {
        self.path.iter().find(|(k, _)| k == name).map_or("", |(_, v)| v)
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The one who asks, if their token is good.
    pub(crate) async fn ask(self) -> Result<Ask> {
        let (actor, session) = session::who(&self).await?;
        let context = context(&self, &actor)?;
        Ok(Ask { open: self, actor, session, context })
    }
}

/// All Accept headers together: clients send two of them, one of which is no media type.
fn accepted(headers: &HeaderMap) -> String {
    let all = headers.get_all(header::ACCEPT).iter().filter_map(|v| v.to_str().ok());
    all.collect::<Vec<_>>().join(",").to_lowercase()
}

/// `application/vnd.vmware.vcloud.media+json;version=37.0` is `media`.
fn vendors_word(content_type: &str) -> Option<String> {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let of_vendor = kind.split_once("vnd.vmware.")?.1.split_once('.')?.1;
    of_vendor.split('+').next().map(str::to_owned)
}

/// The parameter `version` of the first media type that has one which is a version.
fn version(accept: &str) -> Option<String> {
    let said = accept.split([';', ',']).filter_map(|part| part.trim().strip_prefix("version="));
    let mut versions = said.map(|version| version.trim_matches('"'));
    let found = versions.find(|version| {
        let mut numbers = version.split('.');
        let whole =
            |n: Option<&str>| n.is_some_and(|n| (1..=3).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_digit()));
        whole(numbers.next()) && whole(numbers.next()) && numbers.next().is_none()
    });
    found.map(str::to_owned)
}

/// Somebody of the provider may act in any organization; others only say which one they are in.
fn context(open: &Open, actor: &Actor) -> Result<Option<OrgId>> {
    let Some(text) = open.header("x-vmware-vcloud-tenant-context") else { return Ok(None) };
    let org = last_uuid(text)
        .map(OrgId)
        .ok_or_else(|| Error::BadRequest("X-VMWARE-VCLOUD-TENANT-CONTEXT is the id of an organization.".into()))?;
    match actor.provider {
        true => Ok(Some(org).filter(|org| *org != actor.org)),
        false if org == actor.org => Ok(None),
        false => Err(Error::NotFound(Kind::Org)),
    }
}

impl Ask {
    pub(crate) fn d(&self) -> &Domain {
        &self.open.vcd.domain
    }

    pub(crate) fn base(&self) -> &Base {
        &self.open.base
    }

    pub(crate) fn params(&self) -> &Params {
        &self.open.params
    }

    /// A part of the address.
    pub(crate) fn part(&self, name: &str) -> &str {
        self.open.part(name)
    }

    /// The id in the address, bare or as a URN of the right kind. One of another kind, or none at all, is an error of the client's.
    pub(crate) fn id<T: From<Uuid>>(&self, kind: Kind) -> Result<T> {
        self.id_in("id", kind)
    }

    pub(crate) fn id_in<T: From<Uuid>>(&self, part: &str, kind: Kind) -> Result<T> {
        let text = self.part(part);
        read_id(text, kind).map(T::from)
    }

    /// The body, with the root element that belongs here. JSON names none, and clients are careless with media types: it is what the
    /// address takes.
    pub(crate) fn xml(&self, root: &'static str) -> Result<Element> {
        match self.open.body_is_json {
            true => body::json(&self.open.body, root),
            false => self.xml_of(&[(root, &[])]),
        }
    }

    /// The same where the address takes one of several. JSON is what its media type says, or else the first of them of which it has a part
    /// that only that one has; one without such parts stands last.
    pub(crate) fn xml_of(&self, roots: &[(&'static str, &[&str])]) -> Result<Element> {
        let expected = |sent: &str| {
            let all: Vec<&str> = roots.iter().map(|(root, _)| *root).collect();
            Error::BadRequest(format!("{} is expected here, and {} was sent.", all.join(" or "), shown(sent)))
        };
        if !self.open.body_is_json {
            let element = body::xml(&self.open.body)?;
            let known = roots.iter().any(|(root, _)| element.name == *root);
            return if known { Ok(element) } else { Err(expected(&element.name)) };
        }
        let mut element = body::json(&self.open.body, "")?;
        let root = match &self.open.body_is {
            Some(word) => {
                roots.iter().find(|(root, _)| root.eq_ignore_ascii_case(word)).ok_or_else(|| expected(word))?
            }
            None => {
                let has = |parts: &[&str]| parts.is_empty() || parts.iter().any(|part| element.child(part).is_some());
                roots.iter().find(|(_, parts)| has(parts)).ok_or_else(|| expected("another document"))?
            }
        };
        root.0.clone_into(&mut element.name);
        Ok(element)
    }

    /// The same where nothing may be sent at all.
    pub(crate) fn xml_or_nothing(&self, root: &'static str) -> Result<Element> {
        if self.open.body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Element::new(root, ""));
        }
        self.xml(root)
    }

    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.open.body)
            .map_err(|e| Error::BadRequest(format!("The request can't be read: {e}.")))
    }
}

/// An id of that kind from an address or a body.
pub(crate) fn read_id(text: &str, kind: Kind) -> Result<Uuid> {
    let bare = match text.strip_prefix("urn:vcloud:") {
        None => text,
        Some(rest) => match rest.rsplit_once(':') {
            Some((of, id)) if of.eq_ignore_ascii_case(kind.key()) || same_thing(of, kind) => id,
            _ => {
                return Err(Error::BadRequest(format!(
                    "“{}” is an id of another kind: here goes one of: {}.",
                    shown(text),
                    kind.word()
                )));
            }
        },
    };
    match bare.len() {
        36 => Uuid::try_parse(bare).map_err(|_| Error::NotFound(kind)),
        _ => Err(Error::NotFound(kind)),
    }
}

/// Kinds that have another name on the wire in places.
fn same_thing(urn: &str, kind: Kind) -> bool {
    match kind {
        Kind::Template => matches!(urn, "vapptemplate" | "catalogitem" | "media"),
        Kind::StoragePolicy => urn.eq_ignore_ascii_case("vdcstorageProfile"),
        _ => false,
    }
}

pub(crate) fn shown(text: &str) -> String {
    text.chars().take(64).filter(|c| !c.is_control()).collect()
}

/// The id that a reference in a body names.
pub(crate) fn referred<T: From<Uuid>>(e: &Element, kind: Kind) -> Result<T> {
    e.id()
        .map(T::from)
        .ok_or_else(|| Error::BadRequest(format!("{} names no {}: its href has no id.", e.name, kind.word())))
}
