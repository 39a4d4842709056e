//! Get and list.

use super::{Api, Call, Door, decode, table, text};
use crate::{
    answer::{FieldError, Refusal, Result, json_response},
    faults::Fault,
    kinds::Kind,
    meta,
    select::Selector,
    store::{Key, KindId},
};
use axum::body::Body;
use base64::{
    Engine,
    alphabet::URL_SAFE,
    engine::{GeneralPurpose, GeneralPurposeConfig, general_purpose::NO_PAD},
};
use http::{Response, header};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};
use std::{borrow::Cow, collections::BTreeMap, sync::Arc, time::Duration};

/// How a client wants objects to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Yaml,
    Table,
    Metadata,
}

/// The first form of the Accept header that can be served.
pub(super) fn form(call: &Call) -> Result<Form> {
    let accept = text(&call.headers, header::ACCEPT);
    if accept.is_empty() {
        return Ok(Form::Json);
    }
    for one in accept.split(',') {
        let one = one.replace(' ', "");
        let kind = one.split(';').next().unwrap_or_default();
        let form = match one.split(';').find_map(|part| part.strip_prefix("as=")) {
            Some("Table") => Some(Form::Table),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(Form::Metadata),
            Some(_) => None,
            None => Some(Form::Json),
        };
        match (kind, form) {
            ("application/json" | "*/*" | "application/*", Some(form)) => return Ok(form),
            ("application/yaml", Some(Form::Json)) => return Ok(Form::Yaml),
            _ => {}
        }
    }
    Err(Refusal::not_acceptable())
}

/// The object in the version it was asked for.
/// Copied only if it is kept in another version.
pub(super) fn in_version<'a>(kind: &Kind, version: &str, object: &'a Value) -> Cow<'a, Value> {
    let wanted = kind.group_version(version);
    if object["apiVersion"] == wanted.as_str() {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    object["apiVersion"] = wanted.into();
    Cow::Owned(object)
}

/// An object of a list or watch, written without being copied first.
pub(super) struct Shown<'a> {
    pub object: &'a Value,
    /// None: built-in kinds leave the type out in lists.
    pub api_version: Option<&'a str>,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Some(fields) = self.object.as_object() else { return self.object.serialize(serializer) };
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in fields {
            match (name.as_str(), self.api_version) {
                ("apiVersion" | "kind", None) => {}
                ("apiVersion", Some(version)) => map.serialize_entry(name, version)?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    kind: String,
    api_version: &'a str,
    metadata: Value,
    items: Vec<Shown<'a>>,
}

impl Api {
    pub(super) async fn get(&self, id: KindId, kind: &Kind, call: &Call) -> Result<Response<Body>> {
        let form = form(call)?;
        self.wait_for(call.query.text("resourceVersion")).await?;
        let name = call.path.name.as_deref().unwrap_or_default();
        let namespace = if kind.namespaced { call.path.namespace.as_deref().unwrap_or_default() } else { "" };
        let found = self.state().get(id, namespace, name).ok_or_else(|| Refusal::not_found(kind, name))?;
        Ok(match form {
            Form::Json => json_response(200, &in_version(kind, &call.path.version, &found)),
            Form::Yaml => yaml(&in_version(kind, &call.path.version, &found)),
            Form::Metadata => json_response(200, &table::metadata_only(&found)),
            Form::Table => {
                let include = call.query.text("includeObject");
                table::check_include(include)?;
                let metadata = json!({"resourceVersion": meta::text(&found, "resourceVersion")});
                json_response(200, &table::table(kind, &[found], metadata, include, self.clock.now()))
            }
        })
    }

    /// A version from the future is waited for, then refused.
    async fn wait_for(&self, version: &str) -> Result<()> {
        let Ok(wanted) = version.parse::<u64>() else { return Ok(()) };
        for _ in 0..30 {
            if self.state().version() >= wanted {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let message = format!("Timeout: Too large resource version: {wanted}, current: {}", self.state().version());
        let mut refusal = Refusal::new(504, "Timeout", message).with_details(json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }));
        refusal.retry_after = Some(1);
        Err(refusal)
    }

    pub(super) async fn list(&self, id: KindId, kind: &Kind, call: &Call) -> Result<Response<Body>> {
        let form = form(call)?;
        let selector = selector(kind, call)?;
        let page = Page::read(call)?;
        self.wait_for(call.query.text("resourceVersion")).await?;
        let found = self.page_of(id, kind, call, &selector, &page)?;
        let mut metadata = json!({"resourceVersion": found.version.to_string()});
        if kind.custom && form == Form::Json {
            metadata["continue"] = "".into();
        }
        if let Some(next) = found.next {
            metadata["continue"] = next.into();
        }
        if let Some(remaining) = found.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        if form == Form::Table {
            let include = call.query.text("includeObject");
            table::check_include(include)?;
            return Ok(json_response(200, &table::table(kind, &found.objects, metadata, include, self.clock.now())));
        }
        if form == Form::Metadata {
            let items: Vec<Value> = found.objects.iter().map(|object| table::metadata_only(object)).collect();
            return Ok(json_response(
                200,
                &json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                    "items": items,
                }),
            ));
        }
        let api_version = kind.group_version(&call.path.version);
        let shown = |object| Shown { object, api_version: kind.custom.then_some(api_version.as_str()) };
        let list = List {
            kind: format!("{}List", kind.kind),
            api_version: &api_version,
            metadata,
            items: found.objects.iter().map(|object| shown(&**object)).collect(),
        };
        let text = serde_json::to_string(&list).map_err(|error| Refusal::internal(error.to_string()))?;
        if form == Form::Yaml {
            return Ok(yaml(&serde_json::from_str(&text).unwrap_or_default()));
        }
        let mut response = json_response(200, &Value::Null);
        *response.body_mut() = Body::from(text);
        Ok(response)
    }

    fn page_of(&self, id: KindId, kind: &Kind, call: &Call, selector: &Selector, page: &Page) -> Result<Found> {
        let state = self.state();
        let namespace = call.path.namespace.as_deref().filter(|_| kind.namespaced);
        let (version, after) = match (&page.token, page.exact) {
            (Some(token), _) if token.version == 0 => (state.version(), Some(token.after.clone())),
            (Some(token), _) => (token.version, Some(token.after.clone())),
            (None, Some(version)) => (version, None),
            (None, None) => (state.version(), None),
        };
        let all: BTreeMap<Key, Arc<Value>> = if version == state.version() {
            BTreeMap::new()
        } else {
            let expired = call.door == Door::Outside && self.faults.is_on(Fault::Expired);
            state.list_at(id, version).filter(|_| !expired).ok_or_else(|| match &after {
                Some(after) => too_old(after),
                None => Refusal::expired("The resourceVersion for the provided list is too old."),
            })?
        };
        let at_present = version == state.version();
        let wanted = |object: &&Arc<Value>| {
            namespace.is_none_or(|namespace| meta::namespace(object) == namespace)
                && after.as_ref().is_none_or(|(namespace, name)| {
                    (meta::namespace(object), meta::name(object)) > (namespace.as_str(), name.as_str())
                })
                && selector.matches(object)
        };
        let mut objects: Vec<Arc<Value>> = if at_present {
            state.list(id, namespace).filter(wanted).cloned().collect()
        } else {
            all.values().filter(wanted).cloned().collect()
        };
        let rest = page.limit.filter(|limit| objects.len() > *limit).map(|limit| objects.len() - limit);
        let mut next = None;
        if let (Some(rest), Some(limit)) = (rest, page.limit) {
            objects.truncate(limit);
            next = objects.last().map(|last| {
                let after = (meta::namespace(last).to_owned(), meta::name(last).to_owned());
                Token { version, after }.write()
            });
            return Ok(Found { objects, version, next, remaining: selector.is_empty().then_some(rest) });
        }
        Ok(Found { objects, version, next, remaining: None })
    }
}

/// Go's decoder does not mind bits that are left over.
const LOOSE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LOOSE_CONFIG);
const LOOSE_CONFIG: GeneralPurposeConfig = NO_PAD.with_decode_allow_trailing_bits(true);

struct Found {
    objects: Vec<Arc<Value>>,
    version: u64,
    next: Option<String>,
    remaining: Option<usize>,
}

/// Where the next page begins. Version 0: whatever there is by then.
struct Token {
    version: u64,
    after: Key,
}

impl Token {
    fn write(&self) -> String {
        let (namespace, name) = &self.after;
        let start = if namespace.is_empty() { name.clone() } else { format!("{namespace}/{name}") };
        LOOSE.encode(json!({"v": "meta.k8s.io/v1", "rv": self.version, "start": format!("{start}\0")}).to_string())
    }

    fn read(text: &str) -> Result<Self> {
        let wrong =
            |why: String| Refusal::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = LOOSE.decode(text.trim_end_matches('=')).map_err(|error| wrong(error.to_string()))?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
            // Go reads bytes, not characters
            let first = bytes.first().map(|byte| char::from(*byte)).unwrap_or_default();
            let why = decode::complaint(&bytes);
            wrong(if first.is_ascii() {
                why
            } else {
                format!("invalid character '{first}' looking for beginning of value")
            })
        })?;
        let start = value["start"].as_str().unwrap_or_default().trim_end_matches('\0');
        let (namespace, name) = start.split_once('/').unwrap_or(("", start));
        Ok(Self { version: value["rv"].as_u64().unwrap_or_default(), after: (namespace.to_owned(), name.to_owned()) })
    }
}

fn too_old(after: &Key) -> Refusal {
    let mut refusal = Refusal::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    refusal.metadata = json!({"continue": Token { version: 0, after: after.clone() }.write()});
    refusal
}

struct Page {
    limit: Option<usize>,
    token: Option<Token>,
    exact: Option<u64>,
}

impl Page {
    fn read(call: &Call) -> Result<Self> {
        // whoever takes any version gets it whole
        let whole = call.query.text("resourceVersion") == "0";
        let limit = call
            .query
            .number("limit")?
            .filter(|_| !whole)
            .and_then(|limit| usize::try_from(limit).ok())
            .filter(|limit| *limit > 0);
        let (version, how) = (call.query.text("resourceVersion"), call.query.text("resourceVersionMatch"));
        list_options(call)?;
        let token = call.query.get("continue").filter(|token| !token.is_empty()).map(Token::read).transpose()?;
        if !version.is_empty() && version.parse::<u64>().is_err() {
            return Err(Refusal::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: \"{version}\": strconv.ParseUint: parsing \"{version}\": invalid syntax"
            )));
        }
        let exact = if how == "Exact" { version.parse().ok() } else { None };
        Ok(Self { limit, token, exact })
    }
}

/// Which combinations of version options make sense.
pub(super) fn list_options(call: &Call) -> Result<()> {
    let (version, how) = (call.query.text("resourceVersion"), call.query.text("resourceVersionMatch"));
    let initial = call.query.get("sendInitialEvents").is_some();
    let watching = call.query.flag("watch");
    let mut errors = Vec::new();
    let mut forbid = |field: &str, why: &str| errors.push(FieldError::forbidden(field, why));
    match (watching, how) {
        (true, "") if initial => {
            forbid("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        }
        (true, "") => {}
        (true, _) if !initial => {
            forbid(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            );
        }
        (true, _) => {}
        (false, "") => {}
        (false, _) if version.is_empty() => {
            forbid("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        (false, "Exact") if version == "0" => {
            forbid("resourceVersionMatch", "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
        (false, "Exact" | "NotOlderThan") => {}
        (false, other) => {
            errors.push(FieldError::unsupported("resourceVersionMatch", &other.into(), &["Exact", "NotOlderThan", ""]))
        }
    }
    if initial && !watching {
        errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    if errors.is_empty() { Ok(()) } else { Err(Refusal::invalid("ListOptions", "meta.k8s.io", "", &errors)) }
}

pub(super) fn selector(kind: &Kind, call: &Call) -> Result<Selector> {
    Selector::read(kind, call.query.text("labelSelector"), call.query.text("fieldSelector"))
}

fn yaml(value: &Value) -> Response<Body> {
    let mut response = json_response(200, value);
    if let Ok(text) = serde_saphyr::to_string(value) {
        *response.body_mut() = Body::from(text);
        response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/yaml"));
    }
    response
}
