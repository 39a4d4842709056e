//! Processing of an OpenShift Template: parameters get values, and objects get the parameters.
use super::expression;
use crate::actors::{
    chance::Chance,
    json::{Look, put, remove},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One thing wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// `FieldValueRequired` or `FieldValueInvalid`.
    pub reason: &'static str,
    pub field: String,
    pub message: String,
}

impl TemplateError {
    /// All of them as the server's answer.
    pub fn status(errors: &[TemplateError], name: &str) -> Value {
        let texts: Vec<String> = errors.iter().map(|e| format!("{}: {}", e.field, e.message)).collect();
        let list = if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) };
        let causes: Vec<Value> =
            errors.iter().map(|e| json!({"reason": e.reason, "message": e.message, "field": e.field})).collect();
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": format!("Template.template.openshift.io \"{name}\" is invalid: {list}"),
            "reason": "Invalid",
            "details": {"name": name, "group": "template.openshift.io", "kind": "Template", "causes": causes},
            "code": 422,
        })
    }
}

/// The same template with values for its parameters and objects that carry them. Nothing is created.
pub fn process(template: &Value, chance: Chance, occasion: &str) -> Result<Value, Vec<TemplateError>> {
    let mut done = template.clone();
    let values = fill_parameters(&mut done, chance, occasion)?;
    for field in ["message", "labels"] {
        if let Some(old) = template.get(field) {
            done[field] = substitute(old, &values);
        }
    }
    let labels = done.get("labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let objects = template.list("/objects").iter().map(|object| {
        let mut object = object.clone();
        let fixed = object.text("/metadata/namespace").is_some_and(|ns| !has_parameter(ns));
        if fixed {
            remove(&mut object, "/metadata/namespace");
        }
        let mut object = substitute(&object, &values);
        if !labels.is_empty() {
            let mut all = object.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
            all.extend(labels.clone());
            put(&mut object, "/metadata/labels", Value::Object(all));
        }
        object
    });
    done["objects"] = Value::Array(objects.collect());
    Ok(done)
}

fn fill_parameters(
    template: &mut Value,
    chance: Chance,
    occasion: &str,
) -> Result<BTreeMap<String, String>, Vec<TemplateError>> {
    let mut values = BTreeMap::new();
    let mut errors = Vec::new();
    let parameters = template.pointer_mut("/parameters").and_then(Value::as_array_mut);
    for (i, parameter) in parameters.into_iter().flatten().enumerate() {
        let name = parameter.text("/name").unwrap_or_default().to_owned();
        let error = |reason, message| TemplateError { reason, field: format!("template.parameters[{i}]"), message };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            errors
                .push(error("FieldValueInvalid", format!("Invalid value: \"{name}\": does not match ^[a-zA-Z0-9_]+$")));
            continue;
        }
        if parameter.text("/value").is_none()
            && let Some(generator) = parameter.text("/generate")
        {
            let from = parameter.text("/from").unwrap_or_default();
            let made = if generator == "expression" {
                expression::generate(from, &mut chance.stream(&["parameter", occasion, &name]))
            } else {
                Err(format!("Unknown generator name '{generator}' for parameter {name}"))
            };
            match made {
                Ok(value) => parameter["value"] = json!(value),
                Err(message) => {
                    errors.push(error("FieldValueInvalid", message));
                    continue;
                }
            }
        }
        let value = parameter.text("/value").unwrap_or_default().to_owned();
        if value.is_empty() && parameter.flag("/required") {
            let message = format!("Required value: parameter {name} is required and must be specified");
            errors.push(error("FieldValueRequired", message));
        }
        values.insert(name, value);
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}

/// Puts parameters into every text and every key.
fn substitute(value: &Value, values: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => in_text(text, values),
        Value::Array(list) => list.iter().map(|v| substitute(v, values)).collect(),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, v)| {
                let key = match in_text(key, values) {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                (key, substitute(v, values))
            });
            Value::Object(pairs.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn in_text(text: &str, values: &BTreeMap<String, String>) -> Value {
    let whole = text.strip_prefix("${{").and_then(|t| t.strip_suffix("}}"));
    if let Some(value) = whole.and_then(|name| values.get(name)) {
        return serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    }
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        made.push_str(before);
        let named = from.find('}').map(|end| (&from[2..end], end + 1));
        match named.and_then(|(name, length)| values.get(name).map(|v| (v, length))) {
            Some((value, length)) => {
                made.push_str(value);
                rest = &from[length..];
            }
            None => {
                made.push_str("${");
                rest = &from[2..];
            }
        }
    }
    made.push_str(rest);
    Value::String(made)
}

fn has_parameter(text: &str) -> bool {
    text.find("${").is_some_and(|at| text[at..].contains('}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(template: Value) -> Result<Value, Vec<TemplateError>> {
        process(&template, Chance::new(1), "test")
    }

    #[test]
    fn parameters_reach_texts_keys_labels_and_the_message() {
        let done = run(json!({
            "message": "made ${NAME}",
            "labels": {"app-${NAME}": "${NAME}"},
            "parameters": [{"name": "NAME", "value": "web"}, {"name": "CPUS", "value": "4"}, {"name": "OPEN", "value": "yes no"}],
            "objects": [{"metadata": {"name": "${NAME}-${NAME}", "labels": {"own": "x"}}, "${NAME}": "${{CPUS}}",
                "text": "${{OPEN}}", "part": "a ${{CPUS}}", "unknown": "${OTHER} ${NAME", "number": 3}],
        }))
        .unwrap();
        assert_eq!(done["message"], "made web");
        let object = &done["objects"][0];
        assert_eq!(object["metadata"]["name"], "web-web");
        assert_eq!(object["metadata"]["labels"], json!({"own": "x", "app-web": "web"}));
        assert_eq!(object["web"], 4);
        assert_eq!(object["text"], "yes no");
        assert_eq!(object["part"], "a ${{CPUS}}");
        assert_eq!(object["unknown"], "${OTHER} ${NAME");
        assert_eq!(object["number"], 3);
    }

    #[test]
    fn a_value_is_not_expanded_a_second_time() {
        let done = run(json!({
            "parameters": [{"name": "A", "value": "${B}"}, {"name": "B", "value": "x"}],
            "objects": [{"a": "${A}"}],
        }));
        assert_eq!(done.unwrap()["objects"][0]["a"], "${B}");
    }

    #[test]
    fn a_fixed_namespace_goes_and_one_from_a_parameter_stays() {
        let done = run(json!({
            "parameters": [{"name": "NS", "value": "there"}],
            "objects": [{"metadata": {"namespace": "here"}}, {"metadata": {"namespace": "${NS}"}}],
        }))
        .unwrap();
        assert!(done["objects"][0]["metadata"].get("namespace").is_none());
        assert_eq!(done["objects"][1]["metadata"]["namespace"], "there");
    }

    #[test]
    fn values_are_generated_unless_they_are_given() {
        let done = run(json!({"parameters": [
            {"name": "A", "generate": "expression", "from": "x-[a-z]{4}"},
            {"name": "B", "generate": "expression", "from": "x-[a-z]{4}", "value": "mine"},
        ]}))
        .unwrap();
        assert_eq!(done["parameters"][0]["value"].as_str().unwrap().len(), 6);
        assert_eq!(done["parameters"][1]["value"], "mine");
    }

    #[test]
    fn a_missing_value_and_an_unknown_generator_are_refused() {
        let errors = run(json!({"parameters": [
            {"name": "P", "required": true},
            {"name": "Q", "generate": "uuid"},
        ]}))
        .unwrap_err();
        assert_eq!(errors[0].field, "template.parameters[0]");
        assert_eq!(errors[0].message, "Required value: parameter P is required and must be specified");
        assert_eq!(errors[1].message, "Unknown generator name 'uuid' for parameter Q");
        assert_eq!(
            TemplateError::status(&errors[..1], "t")["message"],
            "Template.template.openshift.io \"t\" is invalid: template.parameters[0]: Required value: parameter P is required and must be specified"
        );
    }
}
