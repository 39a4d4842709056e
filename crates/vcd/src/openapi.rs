//! The OpenAPI document of `/cloudapi` and `/oauth`. Each route says what it takes and gives where it is registered; here it
//! becomes one document.
use crate::{cloudapi, fault, routes::RouteInfo};
use serde_json::{Map, Value, json};

/// What one route takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub(crate) summary: &'static str,
    takes: Option<Body>,
    /// The status of success, and the schema of what comes with it.
    gives: (u16, Option<Gives>),
    /// The fields to filter and sort by, where there are many things to choose from.
    fields: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    Json(&'static str),
    Form(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    One(&'static str),
    Page(&'static str),
}

impl Told {
    const fn new(summary: &'static str, status: u16, gives: Option<Gives>) -> Told {
        Told { summary, takes: None, gives: (status, gives), fields: &[] }
    }

    /// 200 with a thing.
    pub(crate) const fn one(summary: &'static str, schema: &'static str) -> Told {
        Told::new(summary, 200, Some(Gives::One(schema)))
    }

    /// 200 with a page of things.
    pub(crate) const fn page(
        summary: &'static str,
        schema: &'static str,
        fields: &'static [(&'static str, &'static str)],
    ) -> Told {
        Told { fields, ..Told::new(summary, 200, Some(Gives::Page(schema))) }
    }

    /// 201 with what was made.
    pub(crate) const fn made(summary: &'static str, schema: &'static str) -> Told {
        Told::new(summary, 201, Some(Gives::One(schema)))
    }

    /// 204
    pub(crate) const fn done(summary: &'static str) -> Told {
        Told::new(summary, 204, None)
    }

    /// 202 with the address of a task.
    pub(crate) const fn begun(summary: &'static str) -> Told {
        Told::new(summary, 202, None)
    }

    pub(crate) const fn takes(self, schema: &'static str) -> Told {
        Told { takes: Some(Body::Json(schema)), ..self }
    }

    pub(crate) const fn form(self, schema: &'static str) -> Told {
        Told { takes: Some(Body::Form(schema)), ..self }
    }
}

/// A schema: a name, and its JSON.
pub(crate) type Schema = (&'static str, Value);

/// What a property holds, in a word.
pub(crate) enum Is {
    Text,
    /// Text, or nothing.
    MaybeText,
    /// `urn:vcloud:<kind>:<uuid>`
    Urn,
    Time,
    MaybeTime,
    Int,
    MaybeInt,
    Bool,
    MaybeBool,
    /// `{name, id}`
    Ref,
    MaybeRef,
    Refs,
    Texts,
    /// Another schema.
    Of(&'static str),
    ListOf(&'static str),
    Other(Value),
}

impl Is {
    fn schema(self) -> Value {
        let of = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        match self {
            Is::Text => json!({"type": "string"}),
            Is::MaybeText => json!({"type": "string", "nullable": true}),
            Is::Urn => json!({"type": "string", "pattern": URN}),
            Is::Time => json!({"type": "string", "format": "date-time"}),
            Is::MaybeTime => json!({"type": "string", "format": "date-time", "nullable": true}),
            Is::Int => json!({"type": "integer", "format": "int64"}),
            Is::MaybeInt => json!({"type": "integer", "format": "int64", "nullable": true}),
            Is::Bool => json!({"type": "boolean"}),
            Is::MaybeBool => json!({"type": "boolean", "nullable": true}),
            Is::Ref => of("EntityReference"),
            Is::MaybeRef => json!({"allOf": [of("EntityReference")], "nullable": true}),
            Is::Refs => json!({"type": "array", "items": of("EntityReference")}),
            Is::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Is::Of(name) => of(name),
            Is::ListOf(name) => json!({"type": "array", "items": of(name)}),
            Is::Other(value) => value,
        }
    }
}

const URN: &str = "^urn:vcloud:[A-Za-z]+:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

/// What we send: every property is there.
pub(crate) fn sent(name: &'static str, properties: Vec<(&'static str, Is)>) -> Schema {
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let all: Map<String, Value> = properties.into_iter().map(|(name, is)| (name.to_owned(), is.schema())).collect();
    (name, json!({"type": "object", "required": required, "properties": all}))
}

/// What we read: only what is named is needed.
pub(crate) fn read(name: &'static str, required: &[&str], properties: Vec<(&'static str, Is)>) -> Schema {
    let all: Map<String, Value> = properties.into_iter().map(|(name, is)| (name.to_owned(), is.schema())).collect();
    let mut schema = json!({"type": "object", "properties": all});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    (name, schema)
}

/// The whole document, of a list of routes.
pub fn document(list: &[RouteInfo]) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in list.iter().filter(|r| fault::is_json(r.path)) {
        let Some(told) = &route.told else { continue };
        let place = paths.entry(route.path).or_insert_with(|| json!({}));
        place[route.method.as_str().to_lowercase()] = operation(route, told);
    }
    let mut schemas: Map<String, Value> = cloudapi::schemas().into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    schemas.extend(common().into_iter().map(|(k, v)| (k.to_owned(), v)));
    let pages: Vec<&str> = list
        .iter()
        .filter_map(|r| match r.told?.gives.1? {
            Gives::Page(of) => Some(of),
            Gives::One(_) => None,
        })
        .collect();
    for of in pages {
        schemas.insert(format!("{of}Page"), page(of));
    }
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "SSVirt: VMware Cloud Director's CloudAPI",
            "description": "The JSON part of the API that VCD's clients use. The XML part under /api has no such document.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {"type": "http", "scheme": "basic"},
            },
        },
        "security": [{"token": []}],
    })
}

fn operation(route: &RouteInfo, told: &Told) -> Value {
    let mut responses = errors(route);
    let (status, gives) = told.gives;
    let mut good = json!({"description": told.summary});
    if let Some(gives) = gives {
        let name = match gives {
            Gives::One(name) => name.to_owned(),
            Gives::Page(name) => format!("{name}Page"),
        };
        good["content"] = json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{name}")}}});
    }
    if status == 202 {
        good["headers"] = json!({"Location": {"description": "The task", "schema": {"type": "string"}}});
    }
    responses.insert(status.to_string(), good);
    let mut out = json!({
        "summary": told.summary,
        "operationId": format!("{} {}", route.method.as_str().to_lowercase(), route.path),
        "tags": [route.path.split('/').nth(3).unwrap_or("oauth")],
        "parameters": parameters(route.path, told),
        "responses": responses,
    });
    let password = route.path.contains("/sessions") && route.method == "POST";
    match (route.open, password) {
        (_, true) => out["security"] = json!([{"password": []}]),
        (true, false) => out["security"] = json!([]),
        (false, _) => {}
    }
    if let Some(body) = told.takes {
        let (media, name) = match body {
            Body::Json(name) => ("application/json", name),
            Body::Form(name) => ("application/x-www-form-urlencoded", name),
        };
        let schema = json!({"$ref": format!("#/components/schemas/{name}")});
        out["requestBody"] = json!({"required": true, "content": {media: {"schema": schema}}});
    }
    out
}

fn parameters(path: &str, told: &Told) -> Vec<Value> {
    let text = json!({"type": "string"});
    let mut all: Vec<Value> = path
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| json!({"name": name, "in": "path", "required": true, "schema": text}))
        .collect();
    if matches!(told.gives.1, Some(Gives::Page(_))) {
        let number = |most: u32| json!({"type": "integer", "minimum": 1, "maximum": most});
        let fields: Vec<&str> = told.fields.iter().map(|(name, _)| *name).collect();
        let words = format!("FIQL, as name==x;(id==y,id==z). Fields: {}.", fields.join(", "));
        let one_of = json!({"type": "string", "enum": fields});
        all.push(json!({"name": "page", "in": "query", "schema": number(1_000_000)}));
        all.push(json!({"name": "pageSize", "in": "query", "schema": number(128)}));
        if !fields.is_empty() {
            all.push(json!({"name": "filter", "in": "query", "description": words, "schema": text}));
            all.push(json!({"name": "sortAsc", "in": "query", "schema": one_of}));
            all.push(json!({"name": "sortDesc", "in": "query", "schema": one_of}));
        }
    }
    all
}

/// Every route may give these.
fn errors(route: &RouteInfo) -> Map<String, Value> {
    let schema = if route.path.starts_with("/oauth") { "OAuthError" } else { "Error" };
    let content = json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}});
    let all = [
        ("400", "The request can't be read, has a wrong value, or can't be done now."),
        ("401", "Nobody is signed in."),
        ("403", "There is no such thing, or it is not yours to see or do."),
        ("404", "There is nothing at this address."),
        ("409", "Somebody else changed it meanwhile."),
        ("429", "Too much at once; Retry-After says when to come back."),
        ("503", "The database does not answer; Retry-After says when to come back."),
    ];
    all.into_iter().map(|(status, why)| (status.into(), json!({"description": why, "content": content}))).collect()
}

fn page(of: &str) -> Value {
    json!({
        "type": "object",
        "required": ["resultTotal", "pageCount", "page", "pageSize", "associations", "values"],
        "properties": {
            "resultTotal": {"type": "integer", "format": "int64"},
            "pageCount": {"type": "integer", "format": "int64"},
            "page": {"type": "integer"},
            "pageSize": {"type": "integer"},
            "associations": {"type": "array", "nullable": true, "items": {"type": "object"}},
            "values": {"type": "array", "items": {"$ref": format!("#/components/schemas/{of}")}},
        },
    })
}

fn common() -> Vec<Schema> {
    vec![
        (
            "EntityReference",
            json!({
                "type": "object",
                "required": ["id"],
                "properties": {
                    "name": {"type": "string", "nullable": true},
                    "id": {"type": "string", "nullable": true},
                },
            }),
        ),
        sent("Error", vec![("minorErrorCode", Is::Text), ("message", Is::Text), ("stackTrace", Is::MaybeText)]),
        read(
            "OAuthError",
            &["message"],
            vec![("error", Is::Text), ("error_description", Is::Text), ("message", Is::Text)],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_route_of_cloudapi_and_oauth_is_told_of() {
        let silent: Vec<String> = crate::list()
            .iter()
            .filter(|r| fault::is_json(r.path) && r.told.is_none())
            .map(|r| format!("{} {}", r.method, r.path))
            .collect();
        assert!(silent.is_empty(), "say with .told(…) what these take and give: {silent:#?}");
    }

    #[test]
    fn schemas_that_are_named_are_there() {
        let document = document(&crate::list());
        let there: HashSet<&String> = document["components"]["schemas"].as_object().expect("schemas").keys().collect();
        let text = document.to_string();
        for name in text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(there.contains(&name.to_owned()), "there is no schema {name}");
        }
    }
}
