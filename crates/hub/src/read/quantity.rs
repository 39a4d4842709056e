//! Kubernetes quantities in JSON.
pub use model::quantity::{mib, milli, whole};

/// From JSON: a text or a bare number.
pub(super) fn of(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(s) => Some(s.clone()),
        serde_json::Value::Number(n) => Some(n.to_string()),
        _ => None,
    }
}
