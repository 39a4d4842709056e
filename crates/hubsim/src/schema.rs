//! Structural schemas: what a kind's fields are. Drops unknown fields, fills in defaults, says what is wrong.

use crate::answer::FieldError;
use regex::Regex;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default)]
pub(crate) struct Schema {
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`, or empty for anything.
    pub kind: String,
    pub properties: BTreeMap<String, Schema>,
    /// The values of a map.
    pub values: Option<Box<Schema>>,
    /// The entries of a list.
    pub items: Option<Box<Schema>>,
    required: Vec<String>,
    choices: Vec<Value>,
    pattern: Option<(String, Option<Regex>)>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    default: Option<Value>,
    nullable: bool,
    /// Takes fields it does not name.
    pub open: bool,
    int_or_string: bool,
    pub list: ListKind,
    /// A map or object that is owned as one.
    pub atomic: bool,
    /// Here or below are rules in CEL, which are checked only when nothing else is wrong.
    pub rules: bool,
}

/// How entries of a list are told apart when several managers write it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum ListKind {
    #[default]
    Atomic,
    Set,
    Map(Vec<String>),
}

impl Schema {
    pub(crate) fn read(text: &Value) -> Self {
        let number = |key: &str| text[key].as_f64();
        let count = |key: &str| text[key].as_u64();
        let flag = |key: &str| text[key].as_bool().unwrap_or(false);
        let strings = |key: &str| -> Vec<String> {
            text[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let sub = |key: &str| text.get(key).filter(|one| one.is_object()).map(|one| Box::new(Self::read(one)));
        let embedded = flag("x-kubernetes-embedded-resource");
        Self {
            kind: text["type"].as_str().unwrap_or_default().to_owned(),
            properties: text["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.clone(), Self::read(schema)))
                .collect(),
            values: sub("additionalProperties"),
            items: sub("items"),
            required: strings("required"),
            choices: text["enum"].as_array().cloned().unwrap_or_default(),
            pattern: text["pattern"].as_str().map(|pattern| (pattern.to_owned(), Regex::new(pattern).ok())),
            minimum: number("minimum"),
            maximum: number("maximum"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            default: text.get("default").cloned(),
            nullable: flag("nullable"),
            open: embedded
                || flag("x-kubernetes-preserve-unknown-fields")
                || text["additionalProperties"].as_bool().unwrap_or(false),
            int_or_string: flag("x-kubernetes-int-or-string"),
            list: match text["x-kubernetes-list-type"].as_str() {
                Some("set") => ListKind::Set,
                Some("map") => ListKind::Map(strings("x-kubernetes-list-map-keys")),
                _ => ListKind::Atomic,
            },
            atomic: text["x-kubernetes-map-type"].as_str() == Some("atomic"),
            rules: has_rules(text),
        }
    }

    /// The schema of a field of an object or map.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(self.values.as_deref())
    }

    /// Removes fields that the schema does not know and notes their paths.
    pub(crate) fn prune(&self, value: &mut Value, path: &str, dropped: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                let mut unknown = Vec::new();
                for (name, inner) in fields.iter_mut() {
                    let at = join(path, name);
                    match self.field(name) {
                        Some(schema) => schema.prune(inner, &at, dropped),
                        None if self.open || self.kind != "object" => {}
                        None => unknown.push((name.clone(), at)),
                    }
                }
                for (name, at) in unknown {
                    fields.remove(&name);
                    dropped.push(at);
                }
            }
            Value::Array(entries) => {
                if let Some(schema) = &self.items {
                    for (index, entry) in entries.iter_mut().enumerate() {
                        schema.prune(entry, &format!("{path}[{index}]"), dropped);
                    }
                }
            }
            _ => {}
        }
    }

    /// Puts default values where nothing is.
    pub(crate) fn fill(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, schema) in &self.properties {
                    if let Some(default) = &schema.default
                        && fields.get(name).is_none_or(|present| present.is_null() && !schema.nullable)
                    {
                        fields.insert(name.clone(), default.clone());
                    }
                }
                for (name, inner) in fields.iter_mut() {
                    if let Some(schema) = self.field(name) {
                        schema.fill(inner);
                    }
                }
            }
            Value::Array(entries) => {
                if let Some(schema) = &self.items {
                    entries.iter_mut().for_each(|entry| schema.fill(entry));
                }
            }
            _ => {}
        }
    }

    /// Everything that is wrong with a value.
    pub(crate) fn check(&self, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
        if value.is_null() && (self.nullable || self.kind.is_empty() && !self.int_or_string) {
            return;
        }
        if !self.right_type(value) {
            let wanted = if self.int_or_string { "integer,string" } else { &self.kind };
            errors.push(FieldError {
                reason: "FieldValueTypeInvalid",
                field: path.to_owned(),
                message: format!(
                    "Invalid value: \"{got}\": {path} in body must be of type {wanted}: \"{got}\"",
                    got = type_name(value)
                ),
            });
            return;
        }
        match value {
            Value::Object(fields) => self.check_fields(fields, path, errors),
            Value::Array(entries) => self.check_entries(entries, path, errors),
            Value::String(text) => self.check_text(value, text, path, errors),
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                if let Some(least) = self.minimum.filter(|least| number < *least) {
                    let why = format!("{path} in body should be greater than or equal to {least}");
                    errors.push(FieldError::invalid(path, value, why));
                }
                if let Some(most) = self.maximum.filter(|most| number > *most) {
                    let why = format!("{path} in body should be less than or equal to {most}");
                    errors.push(FieldError::invalid(path, value, why));
                }
            }
            _ => {}
        }
        if !self.choices.is_empty() && !self.choices.contains(value) {
            let supported: Vec<&str> = self.choices.iter().filter_map(Value::as_str).collect();
            errors.push(FieldError::unsupported(path, value, &supported));
        }
    }

    /// Says nothing about what it holds.
    pub(crate) fn takes_anything(&self) -> bool {
        self.kind.is_empty() && !self.int_or_string
    }

    pub(crate) fn right_type(&self, value: &Value) -> bool {
        if self.int_or_string {
            return value.is_string() || value.is_i64() || value.is_u64();
        }
        match self.kind.as_str() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
            "number" => value.is_number(),
            _ => true,
        }
    }

    fn check_fields(&self, fields: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
        for name in &self.required {
            let absent = fields
                .get(name)
                .is_none_or(|value| value.is_null() && !self.field(name).is_some_and(|schema| schema.nullable));
            if absent {
                errors.push(FieldError::required(join(path, name), ""));
            }
        }
        for (name, value) in fields {
            let required_null = value.is_null() && self.required.contains(name);
            if let Some(schema) = self.field(name)
                && !required_null
            {
                schema.check(value, &join(path, name), errors);
            }
        }
    }

    fn check_entries(&self, entries: &[Value], path: &str, errors: &mut Vec<FieldError>) {
        if let Some(most) = self.max_items.filter(|most| entries.len() as u64 > *most) {
            errors.push(FieldError {
                reason: "FieldValueTooMany",
                field: path.to_owned(),
                message: format!("Too many: {}: must have at most {most} items", entries.len()),
            });
        }
        if let Some(least) = self.min_items.filter(|least| (entries.len() as u64) < *least) {
            let why = format!("{path} in body should have at least {least} items");
            errors.push(FieldError::invalid(path, &Value::from(entries.len()), why));
        }
        for (index, entry) in entries.iter().enumerate() {
            if let Some(schema) = &self.items {
                schema.check(entry, &format!("{path}[{index}]"), errors);
            }
            let key = self.key_of(entry);
            if self.list != ListKind::Atomic && entries[..index].iter().any(|earlier| self.key_of(earlier) == key) {
                errors.push(FieldError {
                    reason: "FieldValueDuplicate",
                    field: format!("{path}[{index}]"),
                    message: format!("Duplicate value: {key}"),
                });
            }
        }
    }

    fn key_of(&self, entry: &Value) -> Value {
        match &self.list {
            ListKind::Map(keys) => keys.iter().map(|key| (key.clone(), entry[key].clone())).collect(),
            _ => entry.clone(),
        }
    }

    fn check_text(&self, value: &Value, text: &str, path: &str, errors: &mut Vec<FieldError>) {
        if let Some(most) = self.max_length.filter(|most| text.chars().count() as u64 > *most) {
            errors.push(FieldError::too_long(path, usize::try_from(most).unwrap_or(usize::MAX)));
        }
        if let Some(least) = self.min_length.filter(|least| (text.chars().count() as u64) < *least) {
            let why = format!("{path} in body should be at least {least} chars long");
            errors.push(FieldError::invalid(path, value, why));
        }
        if let Some((pattern, Some(regex))) = &self.pattern
            && !regex.is_match(text)
        {
            errors.push(FieldError::invalid(path, value, format!("{path} in body should match '{pattern}'")));
        }
    }
}

fn has_rules(text: &Value) -> bool {
    match text {
        Value::Object(fields) => {
            fields.iter().any(|(key, value)| key == "x-kubernetes-validations" || has_rules(value))
        }
        Value::Array(entries) => entries.iter().any(has_rules),
        _ => false,
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::read(&json!({"type": "object", "required": ["spec"], "properties": {"spec": {
        "type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 1},
            "colour": {"type": "string", "default": "red"},
            "free": {"x-kubernetes-preserve-unknown-fields": true},
            "tags": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        }}}}))
    }

    #[test]
    fn unknown_fields_go_and_are_named_free_ones_stay() {
        let mut value =
            json!({"spec": {"size": 1, "shape": "round", "free": {"x": 1}, "tags": [{"name": "a", "y": 2}]}});
        let mut dropped = Vec::new();
        schema().prune(&mut value, "", &mut dropped);
        dropped.sort();
        assert_eq!(dropped, ["spec.shape", "spec.tags[0].y"]);
        assert_eq!(value, json!({"spec": {"size": 1, "free": {"x": 1}, "tags": [{"name": "a"}]}}));
    }

    #[test]
    fn defaults_are_filled_in() {
        let mut value = json!({"spec": {"size": 1}});
        schema().fill(&mut value);
        assert_eq!(value["spec"]["colour"], "red");
    }

    #[test]
    fn wrong_types_small_numbers_missing_fields_and_double_keys_are_told() {
        let check = |value: Value| {
            let mut errors = Vec::new();
            schema().check(&value, "", &mut errors);
            errors.into_iter().map(|error| format!("{}: {}", error.field, error.message)).collect::<Vec<_>>()
        };
        assert_eq!(check(json!({})), ["spec: Required value"]);
        assert_eq!(
            check(json!({"spec": {"size": 0}})),
            ["spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"]
        );
        assert_eq!(
            check(json!({"spec": {"size": "a"}})),
            ["spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\""]
        );
        assert_eq!(
            check(json!({"spec": {"size": 1, "tags": [{"name": "a"}, {"name": "a"}]}})),
            ["spec.tags[1]: Duplicate value: {\"name\":\"a\"}"]
        );
    }
}
