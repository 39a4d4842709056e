//! What VDCs may use of storage policies, as VCD's clients ask for it: each VDC has its own profile of a policy.
use crate::{
    Store,
    list::ListSql,
    query::{QuerySql, bool, id, number, text},
};
use model::{
    OrgId, PolicyId, Result, VdcId,
    decide::Scope,
    query::{Found, Numbered},
    storage::{VdcPolicy, VdcProfile},
};
use sqlx::FromRow;
use uuid::Uuid;

/// Half of an id, of `id` from the 1st or 17th digit on.
macro_rules! half {
    ($id:literal, $from:literal) => {
        concat!("('x' || substr(replace(", $id, "::text, '-', ''), ", $from, ", 16))::bit(64)")
    };
}

/// Its id is made of those of the VDC and the policy, as `wire/href.rs` of the VCD face makes it.
const SQL: ListSql = ListSql {
    columns: "t.vdc_id, d.name as vdc_name, d.org_id, o.name as org_name, t.policy_id, p.name, p.description, t.limit_mb, t.used_mb, \
              t.is_default",
    from: concat!(
        "(select s.*, (lpad(to_hex((",
        half!("s.vdc_id", "1"),
        " # ",
        half!("s.policy_id", "1"),
        " # x'0000000000008000')::bigint), 16, '0') || lpad(to_hex((",
        half!("s.vdc_id", "17"),
        " # ",
        half!("s.policy_id", "17"),
        " # x'8000000000000000')::bigint), 16, '0'))::uuid as id from vdc_storage s) t \
         join vdcs d on d.id = t.vdc_id join organizations o on o.id = d.org_id join storage_policies p on p.id = t.policy_id"
    ),
    count_from: "",
    living: "d.deleted_at is null",
    sorts: &[],
    search: &[],
    action: "",
    org: "d.org_id",
    owner: "null",
};

const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: SQL.from,
    metadata: false,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "p.name"),
        text("description", "p.description"),
        id("vdc", "t.vdc_id"),
        text("vdcName", "d.name"),
        id("org", "d.org_id"),
        text("orgName", "o.name"),
        id("policy", "t.policy_id"),
        bool("isEnabled", "true"),
        bool("isVdcBusy", "false"),
        bool("isDefaultStorageProfile", "t.is_default"),
        number("storageUsedMB", "t.used_mb"),
        number("storageLimitMB", "coalesce(t.limit_mb, 0)"),
        number("iopsAllocated", "0"),
        number("iopsLimit", "0"),
        number("numberOfConditions", "0"),
    ],
};

#[derive(FromRow)]
struct Row {
    vdc_id: Uuid,
    vdc_name: String,
    org_id: Uuid,
    org_name: String,
    policy_id: Uuid,
    name: String,
    description: String,
    limit_mb: Option<i64>,
    used_mb: i64,
    is_default: bool,
}

fn read(r: Row) -> Result<VdcProfile> {
    Ok(VdcProfile {
        vdc: VdcId(r.vdc_id),
        vdc_name: r.vdc_name,
        org: OrgId(r.org_id),
        org_name: r.org_name,
        policy: VdcPolicy {
            id: PolicyId(r.policy_id),
            name: r.name,
            description: r.description,
            limit_mb: r.limit_mb,
            used_mb: r.used_mb,
            is_default: r.is_default,
        },
    })
}

impl Store {
    pub async fn profiles_query(&self, scope: Scope, q: &Numbered) -> Result<Found<VdcProfile>> {
        self.numbered(&QUERY, scope, q, read).await
    }
}
