//! Options that come in the query.

use crate::answer::{FieldError, Refusal, Result};
use serde_json::{Value, json};

#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn read(text: Option<&str>) -> Self {
        Self(serde_urlencoded::from_str(text.unwrap_or_default()).unwrap_or_default())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Anything but a clear no counts as yes, as on the real server.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value, "false" | "0" | "f" | "F" | "False" | "FALSE"))
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>> {
        match self.get(name) {
            None | Some("") => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|_| Refusal::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax"))),
        }
    }

    fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str()).collect()
    }
}

/// What happens to unknown fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validation {
    Strict,
    Warn,
    Ignore,
}

/// Options of a create, update or patch.
#[derive(Debug, Clone)]
pub(crate) struct WriteOptions {
    pub dry_run: bool,
    pub manager: String,
    pub validation: Validation,
    pub force: bool,
}

impl WriteOptions {
    pub(crate) fn read(query: &Query, user_agent: &str, options: &str) -> Result<Self> {
        let dry_run = dry_run(&query.all("dryRun"), options)?;
        let validation = match query.text("fieldValidation") {
            "" | "Warn" => Validation::Warn,
            "Strict" => Validation::Strict,
            "Ignore" => Validation::Ignore,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                let error = FieldError::unsupported("fieldValidation", &other.into(), &supported);
                return Err(Refusal::invalid_options(options, error));
            }
        };
        let manager = query.text("fieldManager");
        if manager.len() > 128 {
            return Err(Refusal::invalid_options(options, FieldError::too_long("fieldManager", 128)));
        }
        let fallback: String = user_agent.split('/').next().unwrap_or_default().chars().take(128).collect();
        Ok(Self {
            dry_run,
            manager: if manager.is_empty() { fallback } else { manager.to_owned() },
            validation,
            force: query.flag("force"),
        })
    }
}

pub(crate) fn dry_run(values: &[&str], options: &str) -> Result<bool> {
    if values.iter().any(|value| *value != "All") {
        let error = FieldError::unsupported("dryRun", &json!(values), &["All"]);
        return Err(Refusal::invalid_options(options, error));
    }
    Ok(!values.is_empty())
}

#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub dry_run: bool,
    pub uid: Option<String>,
    pub version: Option<String>,
    pub propagation: Option<Propagation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

impl DeleteOptions {
    /// From the body, or from the query when there is no body. Unknown fields are ignored, misspelt ones too.
    pub(crate) fn read(body: &[u8], query: &Query) -> Result<Self> {
        let options: Value = if body.iter().all(u8::is_ascii_whitespace) {
            let mut options = json!({});
            if let Some(policy) = query.get("propagationPolicy") {
                options["propagationPolicy"] = policy.into();
            }
            if query.get("orphanDependents").is_some() {
                options["orphanDependents"] = query.flag("orphanDependents").into();
            }
            options["dryRun"] = json!(query.all("dryRun"));
            options
        } else {
            super::decode::delete_options(body)?
        };
        let values: Vec<&str> = crate::meta::strings(&options["dryRun"]);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Ok(Self {
            dry_run: dry_run(&values, "DeleteOptions")?,
            uid: text(&options["preconditions"]["uid"]),
            version: text(&options["preconditions"]["resourceVersion"]),
            propagation: match (options["propagationPolicy"].as_str(), options["orphanDependents"].as_bool()) {
                (None, Some(true)) | (Some("Orphan"), _) => Some(Propagation::Orphan),
                (None, Some(false)) | (Some("Background"), _) => Some(Propagation::Background),
                (Some("Foreground"), _) => Some(Propagation::Foreground),
                (None, None) => None,
                (Some(other), _) => {
                    let supported = ["Foreground", "Background", "Orphan", "nil"];
                    let error = FieldError::unsupported("propagationPolicy", &other.into(), &supported);
                    return Err(Refusal::invalid_options("DeleteOptions", error));
                }
            },
        })
    }
}
