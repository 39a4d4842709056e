//! The numbers of a dashboard, in one query.
use crate::{
    Store,
    constraint::mapped,
    list::{Build, owned},
    task::{FAILED_TODAY, STILL_THERE},
    vm,
};
use model::{Kind, Result, audit::Outcome, decide::Scope};
use sqlx::FromRow;

/// What is counted, each within what somebody may see. None: not at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    pub orgs: Option<Scope>,
    pub vdcs: Option<Scope>,
    pub vms: Option<Scope>,
    pub users: Option<Scope>,
    pub tasks: Option<Scope>,
    pub audit: Option<Scope>,
}

/// None: not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromRow)]
pub struct Counts {
    pub orgs: Option<i64>,
    pub disabled_orgs: Option<i64>,
    pub vdcs: Option<i64>,
    pub vms: Option<i64>,
    pub running_vms: Option<i64>,
    pub failed_vms: Option<i64>,
    pub users: Option<i64>,
    /// Tasks of the last 24 hours that failed.
    pub failed: Option<i64>,
    /// Those of them whose object is still there.
    pub need_somebody: Option<i64>,
    /// Sign-ins of the last 24 hours that were refused.
    pub refused: Option<i64>,
}

/// Counts rows of `table` as `name`, if they may be counted.
fn count(
    b: &mut Build<'_>,
    name: &str,
    scope: Option<Scope>,
    table: &str,
    (org, owner): (&str, &str),
    condition: &str,
) {
    let Some(scope) = scope else {
        b.push(format_args!("null::bigint as {name}"));
        return;
    };
    b.push(format_args!("(select count(*) from {table} t where true{condition}"));
    match scope {
        Scope::All => {}
        Scope::Org(id) => {
            b.push(format_args!(" and t.{org} = ")).push_bind(id.0);
        }
        Scope::Own(id, user, role) => {
            b.push(format_args!(" and t.{org} = ")).push_bind(id.0);
            owned(b, owner, (id, user, role));
        }
    }
    b.push(format_args!(") as {name}"));
}

impl Store {
    pub async fn counts(&self, of: Counted) -> Result<Counts> {
        const LIVING: &str = " and t.deleted_at is null";
        let disabled = format!("{LIVING} and not t.enabled");
        // as the audit's list shows them
        let refused = format!(
            " and t.object_kind = '{}' and t.result = '{}' and t.created_at > now() - interval '24 hours'",
            Kind::Session.key(),
            Outcome::Refused.key()
        );
        let mut b = Build::new("select ");
        count(&mut b, "orgs", of.orgs, "organizations", ("id", "t.id"), LIVING);
        b.push(", ");
        count(&mut b, "disabled_orgs", of.orgs, "organizations", ("id", "t.id"), &disabled);
        b.push(", ");
        count(&mut b, "vdcs", of.vdcs, "vdcs", ("org_id", "t.org_id"), LIVING);
        b.push(", ");
        let machine = ("org_id", vm::SQL.owner);
        let (here, running, failed) =
            (vm::SQL.living_and(""), vm::SQL.living_and(vm::SEEN_RUNNING), vm::SQL.living_and(vm::FAILED));
        count(&mut b, "vms", of.vms, "vms", machine, &here);
        b.push(", ");
        count(&mut b, "running_vms", of.vms, "vms", machine, &running);
        b.push(", ");
        count(&mut b, "failed_vms", of.vms, "vms", machine, &failed);
        b.push(", ");
        count(&mut b, "users", of.users, "users", ("org_id", "t.id"), LIVING);
        b.push(", ");
        count(&mut b, "failed", of.tasks, "tasks", ("org_id", "t.user_id"), FAILED_TODAY);
        b.push(", ");
        let need = format!("{FAILED_TODAY}{STILL_THERE}");
        count(&mut b, "need_somebody", of.tasks, "tasks", ("org_id", "t.user_id"), &need);
        b.push(", ");
        count(&mut b, "refused", of.audit, "audit", ("org_id", "t.user_id"), &refused);
        b.build_query_as().fetch_one(&self.pool).await.map_err(mapped)
    }
}
