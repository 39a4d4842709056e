//! The audit, to read. It is written by the operations themselves.
use crate::Domain;
use model::{
    Action, Actor, AuditId, OrgId, Result,
    audit::AuditEntry,
    decide::list_scope,
    list::{ListQuery, Page},
    query::{Found, Numbered},
};

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<AuditEntry>> {
    d.store.audit(list_scope(actor, Action::AuditList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<AuditEntry>> {
    d.store.audit_query(list_scope(actor, Action::AuditList, org)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, org: Option<OrgId>, id: AuditId) -> Result<AuditEntry> {
    d.store.audit_entry(list_scope(actor, Action::AuditList, org)?, id).await
}
