//! Bodies: JSON, YAML and protobuf into values, with the real server's complaints.

use super::protobuf;
use crate::{
    answer::{Refusal, Result},
    kinds::Kind,
};
use http::{HeaderMap, header};
use serde_json::Value;

/// The largest body taken.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

/// The media type of a body without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// The object of a create or update, of the right kind and version.
pub(crate) fn object(kind: &Kind, version: &str, headers: &HeaderMap, body: &[u8]) -> Result<Value> {
    let value = match media_type(headers) {
        "" | "application/json" => parse(kind, body)?,
        "application/yaml" => yaml(body)?,
        protobuf::MEDIA_TYPE if protobuf::knows(kind) => protobuf::object(&kind.kind, body)?,
        _ => {
            return Err(Refusal::unsupported_media_type(
                "application/json, application/yaml, application/vnd.kubernetes.protobuf",
            ));
        }
    };
    right_type(kind, version, body, value)
}

fn parse(kind: &Kind, body: &[u8]) -> Result<Value> {
    let wrong = |why: String, shown: String| {
        Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: {why} ({shown})",
            kind.kind
        ))
    };
    if body.is_empty() {
        return Err(wrong("unexpected end of JSON input".to_owned(), "<empty>".to_owned()));
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(value) if value.is_object() => Ok(value),
        Ok(value) => {
            let got = if value.is_array() { "array" } else { "value" };
            let hex: String = body.iter().take(20).map(|byte| format!("{byte:02x}")).collect();
            Err(wrong(
                format!(
                    "json: cannot unmarshal {got} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
                ),
                hex,
            ))
        }
        Err(_) => Err(wrong(complaint(body), start(body))),
    }
}

/// The first 30 bytes, as the real server quotes a body it cannot read.
fn start(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if text.len() <= 30 { text.into_owned() } else { format!("{} ...", text.chars().take(30).collect::<String>()) }
}

/// How Go's decoder names the first thing wrong with a text.
pub(crate) fn complaint(body: &[u8]) -> String {
    let Err(error) = serde_json::from_slice::<Value>(body) else { return String::new() };
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let text = String::from_utf8_lossy(body);
    let at = text.split('\n').take(error.line().saturating_sub(1)).map(|line| line.len() + 1).sum::<usize>()
        + error.column().saturating_sub(1);
    let character = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\u{fffd}');
    let before = text.get(..at).unwrap_or_default().trim_end();
    let word = before.rsplit(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
    let literal = ["null", "true", "false"].into_iter().find(|one| !word.is_empty() && one.starts_with(word));
    if let Some(literal) = literal {
        let expected = literal.chars().nth(word.len()).unwrap_or('?');
        return format!("invalid character '{character}' in literal {literal} (expecting '{expected}')");
    }
    let place = match before.chars().last() {
        Some('{') => "looking for beginning of object key string",
        Some(',') if error.to_string().contains("key") => "looking for beginning of object key string",
        None | Some('[' | ':' | ',') => "looking for beginning of value",
        Some('"') => "after object key",
        _ => "after object key:value pair",
    };
    format!("invalid character '{character}' {place}")
}

pub(crate) fn yaml(body: &[u8]) -> Result<Value> {
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    let text = String::from_utf8_lossy(body);
    serde_saphyr::from_str::<Value>(&text).map_err(|error| {
        let why = error.to_string();
        let why = why.lines().next().unwrap_or_default();
        Refusal::bad_request(format!("error decoding YAML: error converting YAML to JSON: yaml: line 1: {why}"))
    })
}

fn right_type(kind: &Kind, version: &str, body: &[u8], mut value: Value) -> Result<Value> {
    let wanted = kind.group_version(version);
    let (got_version, got_kind) = (text(&value, "apiVersion"), text(&value, "kind"));
    if got_kind.is_empty() && kind.custom {
        let shown = String::from_utf8_lossy(body);
        return Err(Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{shown}' ({})",
            kind.kind,
            start(body)
        )));
    }
    if !got_version.is_empty() && got_version != wanted {
        return Err(Refusal::bad_request(format!(
            "the API version in the data ({got_version}) does not match the expected API version ({wanted})"
        )));
    }
    if !got_kind.is_empty() && got_kind != kind.kind && !kind.custom {
        return Err(Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): no kind \"{got_kind}\" is registered for version \"{wanted}\"",
            kind.kind
        )));
    }
    value["apiVersion"] = kind.api_version().into();
    if got_kind.is_empty() {
        value["kind"] = kind.kind.clone().into();
    }
    Ok(value)
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

pub(super) fn delete_options(body: &[u8]) -> Result<Value> {
    if protobuf::is_protobuf(body) {
        return protobuf::object("DeleteOptions", body);
    }
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return Err(Refusal::bad_request(format!("couldn't get version/kind; json parse error: {}", complaint(body))));
    };
    let (version, kind) = (text(&value, "apiVersion"), text(&value, "kind"));
    if !kind.is_empty() && kind != "DeleteOptions" {
        return Err(Refusal::bad_request(format!(
            "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    Ok(value)
}

/// Keys that an object names twice, as paths.
pub(crate) fn duplicates(body: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let seed = Doubles { path: String::new(), found: &mut found };
    let _ = serde::de::DeserializeSeed::deserialize(seed, &mut reader);
    found
}

struct Doubles<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> serde::de::DeserializeSeed<'de> for Doubles<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> serde::de::Visitor<'de> for Doubles<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut entries: A) -> std::result::Result<(), A::Error> {
        let mut index = 0;
        while entries
            .next_element_seed(Doubles { path: format!("{}[{index}]", self.path), found: &mut *self.found })?
            .is_some()
        {
            index += 1;
        }
        Ok(())
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut fields: A) -> std::result::Result<(), A::Error> {
        let mut seen = std::collections::HashSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            if !seen.insert(name) {
                self.found.push(path.clone());
            }
            fields.next_value_seed(Doubles { path, found: &mut *self.found })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_given_twice_are_found_with_their_path() {
        assert_eq!(duplicates(br#"{"data": {"a": 1, "a": 2}, "list": [{"b": 1, "b": 2}]}"#), ["data.a", "list[0].b"]);
        assert!(duplicates(br#"{"a": {"a": 1}}"#).is_empty());
    }

    #[test]
    fn broken_json_is_named_as_go_names_it() {
        assert_eq!(complaint(b"{nope"), "invalid character 'n' looking for beginning of object key string");
        assert_eq!(complaint(b"nope"), "invalid character 'o' in literal null (expecting 'u')");
        assert_eq!(complaint(b"{\"a\":"), "unexpected end of JSON input");
    }
}
