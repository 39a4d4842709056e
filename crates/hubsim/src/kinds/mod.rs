//! The kinds a hub serves. A new one is one line in `table`.

pub(crate) mod schema_text;
mod table;

pub(crate) use table::{served, unserved};

use crate::schema::Schema;
use std::sync::Arc;

/// Everything the server has to know of a kind.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    /// Empty for the core group.
    pub group: String,
    /// Served versions, the preferred one first. Objects are stored in `storage`.
    pub versions: Vec<String>,
    pub storage: String,
    pub kind: String,
    pub plural: String,
    pub singular: String,
    pub short: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    pub status: bool,
    /// Defined by a CustomResourceDefinition; many answers differ from built-in kinds'.
    pub custom: bool,
    pub schema: Option<Arc<Schema>>,
    pub columns: Vec<Column>,
    /// Answered by code instead of the store: reviews, processed templates.
    pub create_only: bool,
}

/// A column of `kubectl get`.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub name: String,
    pub kind: String,
    pub path: String,
    pub priority: i64,
}

impl Kind {
    pub(crate) fn group_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// The `apiVersion` objects are stored with.
    pub(crate) fn api_version(&self) -> String {
        self.group_version(&self.storage)
    }

    /// `virtualmachines.kubevirt.io`: how errors name the resource.
    pub(crate) fn resource(&self) -> String {
        qualified(&self.plural, &self.group)
    }

    /// `VirtualMachine.kubevirt.io`: how errors name the kind.
    pub(crate) fn qualified_kind(&self) -> String {
        qualified(&self.kind, &self.group)
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    pub(crate) fn verbs(&self) -> Vec<&'static str> {
        if self.create_only {
            vec!["create"]
        } else if self.custom {
            vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
        } else if self.is("", "namespaces") {
            vec!["create", "delete", "get", "list", "patch", "update", "watch"]
        } else {
            vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        }
    }

    /// Whether `metadata.generation` counts changes of what the user wants.
    pub(crate) fn counts_generations(&self) -> bool {
        self.custom
            || matches!(
                (self.group.as_str(), self.plural.as_str()),
                ("apps", _)
                    | ("networking.k8s.io", "networkpolicies")
                    | ("apiextensions.k8s.io", "customresourcedefinitions")
            )
    }

    /// A delete answers the deleted object instead of a Status.
    pub(crate) fn delete_answers_object(&self) -> bool {
        !self.custom
            && matches!(
                (self.group.as_str(), self.plural.as_str()),
                (
                    "",
                    "namespaces"
                        | "serviceaccounts"
                        | "services"
                        | "resourcequotas"
                        | "persistentvolumeclaims"
                        | "pods"
                ) | ("apiextensions.k8s.io", "customresourcedefinitions")
            )
    }
}

pub(crate) fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}
