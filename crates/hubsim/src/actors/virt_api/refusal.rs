//! virt-api's refusals: Status objects that name the resource in the singular.
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
    /// Singular kind and name the refusal is about.
    about: Option<(&'static str, String)>,
    /// Sent as text, as virt-api does where it forgets to make a Status.
    pub plain: bool,
}

pub(crate) const MACHINE: &str = "virtualmachine";
pub(crate) const INSTANCE: &str = "virtualmachineinstance";

impl Refusal {
    pub(crate) fn not_found(kind: &'static str, name: &str) -> Refusal {
        let message = format!("{kind}.kubevirt.io {name:?} not found");
        Refusal { code: 404, reason: "NotFound", message, about: Some((kind, name.to_owned())), plain: false }
    }

    pub(crate) fn conflict(kind: &'static str, name: &str, why: &str) -> Refusal {
        let message = format!("Operation cannot be fulfilled on {kind}.kubevirt.io {name:?}: {why}");
        Refusal { code: 409, reason: "Conflict", message, about: Some((kind, name.to_owned())), plain: false }
    }

    pub(crate) fn forbidden(kind: &'static str, name: &str, why: &str) -> Refusal {
        let message = format!("{kind}.kubevirt.io {name:?} is forbidden: {why}");
        Refusal { code: 403, reason: "Forbidden", message, about: Some((kind, name.to_owned())), plain: false }
    }

    pub(crate) fn bad_request(why: impl Into<String>) -> Refusal {
        Refusal { code: 400, reason: "BadRequest", message: why.into(), about: None, plain: false }
    }

    pub(crate) fn internal(why: &str) -> Refusal {
        let message = format!("Internal error occurred: {why}");
        Refusal { code: 500, reason: "InternalError", message, about: None, plain: false }
    }

    pub(crate) fn page_not_found() -> Refusal {
        let message = "404 page not found\n".to_owned();
        Refusal { code: 404, reason: "NotFound", message, about: None, plain: true }
    }

    /// Somebody looks already, and whoever comes said to leave them alone.
    pub(crate) fn in_use() -> Refusal {
        let message = "Active VNC connection. Request denied.".to_owned();
        Refusal { code: 503, reason: "ServiceUnavailable", message, about: None, plain: true }
    }

    /// The text of a conflict as a bare 500.
    pub(crate) fn into_text(self) -> Refusal {
        Refusal { code: 500, plain: true, ..self }
    }

    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some((kind, name)) = &self.about {
            status["details"] = json!({"name": name, "group": "kubevirt.io", "kind": kind});
        } else if self.code == 500 {
            let cause = self.message.trim_start_matches("Internal error occurred: ");
            status["details"] = json!({"causes": [{"message": cause}]});
        }
        status
    }
}
