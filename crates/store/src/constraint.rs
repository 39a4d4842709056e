//! What PostgreSQL says, in our words: constraint names become fields, lost connections become "unavailable".
use model::{Error, FieldError};
use sqlx::error::ErrorKind;
use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Unique constraints and indexes: the field they are about and what to say.
const TAKEN: &[(&str, &str, &str)] = &[
    ("organizations_name_taken", "name", "Another organization has that name. Choose another one."),
    ("roles_name_taken", "name", "Another role has that name. Choose another one."),
    ("users_name_taken", "name", "Another user of this organization has that name. Choose another one."),
    ("users_identity_taken", "name", "This identity belongs to another user already."),
    ("vdcs_name_taken", "name", "Another VDC of this organization has that name. Choose another one."),
    ("hubs_pkey", "id", "Another hub has that id. Choose another one."),
    ("catalogs_name_taken", "name", "Another catalog of this organization has that name. Choose another one."),
    ("templates_name_taken", "name", "Another template of this catalog has that name. Choose another one."),
    ("upload_files_name_taken", "file", "A file of that name is being uploaded already."),
    ("templates_source_taken", "name", "The catalog has this template already."),
    ("vapps_name_taken", "name", "Another vApp of this VDC has that name. Choose another one."),
    ("vms_name_taken", "name", "Another VM of this vApp has that name. Choose another one."),
    ("networks_name_taken", "name", "Another network of this VDC has that name. Choose another one."),
    ("networks_vapp_name_taken", "name", "Another network of this vApp has that name. Choose another one."),
    ("nics_mac_taken", "nics", "Another NIC has that MAC address. Leave it empty, or choose another one."),
    ("addresses_taken", "nics", "That address was taken a moment ago. Choose another one."),
    ("storage_policies_name_taken", "name", "Another storage policy has that name. Choose another one."),
    ("sizing_policies_name_taken", "name", "Another sizing policy has that name. Choose another one."),
    ("affinity_rules_name_taken", "name", "Another rule of this VDC has that name. Choose another one."),
    ("disks_name_taken", "name", "Another disk of this VDC has that name. Choose another one."),
    ("disks_in_vm_taken", "name", "Another disk of this VM has that name. Choose another one."),
    ("snapshots_name_taken", "name", "Another snapshot of this VM has that name. Choose another one."),
    ("api_tokens_name_taken", "name", "Another of your tokens has that name. Choose another one."),
];

/// Check constraints end in one of these; what stands before is the column.
const CHECKS: [&str; 4] = ["_form", "_length", "_range", "_known"];
const TABLES: [&str; 16] = [
    "organizations_",
    "roles_",
    "users_",
    "vdcs_",
    "api_tokens_",
    "hubs_",
    "catalogs_",
    "templates_",
    "vapps_",
    "vms_",
    "networks_",
    "storage_policies_",
    "sizing_policies_",
    "affinity_rules_",
    "disks_",
    "snapshots_",
];
const FIELDS: &[&str] = &[
    "name",
    "display_name",
    "description",
    "full_name",
    "email",
    "vdc_limit",
    "vm_limit",
    "cpu_limit",
    "memory_limit",
    "storage_limit",
    "runtime_lease",
    "storage_lease",
    "template_lease",
    "lease_warning",
    "allocation_model",
    "id",
    "hub_type",
    "namespace",
    "computer_name",
    "cpus",
    "memory",
    "start_order",
    "start_delay",
    "gateway",
    "prefix",
    "dns_suffix",
    "class",
    "size",
];

pub(crate) fn mapped(e: sqlx::Error) -> Error {
    match &e {
        sqlx::Error::Database(db) => {
            let constraint = db.constraint().unwrap_or_default();
            let code = db.code().unwrap_or_default();
            match db.kind() {
                ErrorKind::UniqueViolation => match TAKEN.iter().find(|(name, ..)| *name == constraint) {
                    Some((_, field, message)) => Error::Taken(FieldError { field, message: (*message).into() }),
                    None => internal(&e),
                },
                ErrorKind::CheckViolation => match checked_field(constraint) {
                    Some(field) => Error::field(field, "This value is outside what is possible."),
                    None => internal(&e),
                },
                // PostgreSQL keeps every character but this one
                _ if matches!(&*code, "22021" | "22P05") => Error::BadRequest(
                    "A text has the character U+0000 in it, which can't be kept. Leave it out.".into(),
                ),
                _ if unavailable_code(&code) => unavailable(&e),
                _ => internal(&e),
            }
        }
        sqlx::Error::Io(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::Tls(_)
        | sqlx::Error::WorkerCrashed => unavailable(&e),
        // a connection cut in the middle of an answer
        sqlx::Error::Protocol(_) => unavailable(&e),
        _ => internal(&e),
    }
}

/// Connection trouble, a server that starts or stops, a read-only standby, or a transaction to be tried again.
fn unavailable_code(code: &str) -> bool {
    code.starts_with("08") || code.starts_with("57P") || matches!(code, "53300" | "25006" | "40001" | "40P01" | "3D000")
}

fn checked_field(constraint: &str) -> Option<&'static str> {
    let column = TABLES.iter().find_map(|t| constraint.strip_prefix(t))?;
    let column = CHECKS.iter().find_map(|c| column.strip_suffix(c))?;
    FIELDS.iter().find(|f| **f == column).copied()
}

/// A commit that is not answered may have been done all the same.
pub(crate) fn mapped_commit(e: sqlx::Error) -> Error {
    match mapped(e) {
        Error::Unavailable(_) => Error::Unavailable(
            "The database did not say whether this was done. Look whether it was before you try again.".into(),
        ),
        other => other,
    }
}

/// When a connection was last found broken: in milliseconds since the first one was.
static BROKEN: AtomicU64 = AtomicU64::new(0);
static FIRST_BROKEN: OnceLock<Instant> = OnceLock::new();
/// Where one is broken others are: for so long each is tried before it is used.
const DOUBT: Duration = Duration::from_secs(5);

/// Was a connection found broken a short while ago?
pub(crate) fn doubtful() -> bool {
    FIRST_BROKEN
        .get()
        .is_some_and(|first| first.elapsed() < Duration::from_millis(BROKEN.load(Ordering::Relaxed)) + DOUBT)
}

fn unavailable(e: &sqlx::Error) -> Error {
    tracing::warn!(error = %e, "the database does not answer");
    if !matches!(e, sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed) {
        let since = FIRST_BROKEN.get_or_init(Instant::now).elapsed();
        BROKEN.store(u64::try_from(since.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
    Error::Unavailable("The database does not answer. Nothing was changed; try again in a moment.".into())
}

fn internal(e: &sqlx::Error) -> Error {
    Error::Internal(format!("database: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_without_an_answer_is_not_said_to_be_undone() {
        let cut = || sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        assert!(mapped(cut()).to_string().contains("Nothing was changed"));
        let said = mapped_commit(cut()).to_string();
        assert!(said.contains("did not say whether this was done") && !said.contains("Nothing"), "{said}");
        assert!(doubtful());
    }

    #[test]
    fn a_check_constraint_names_its_field() {
        assert_eq!(checked_field("organizations_display_name_length"), Some("display_name"));
        assert_eq!(checked_field("vdcs_memory_limit_range"), Some("memory_limit"));
        assert_eq!(checked_field("vdcs_vms_used_range"), None);
    }
}
