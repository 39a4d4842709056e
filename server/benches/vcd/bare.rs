//! The same rows by plain SQL, written as JSON by serde and as XML by hand: what an answer costs without anything of ours.
use anyhow::{Result, ensure};
use sqlx::{Column, PgPool, Row, ValueRef, postgres::PgRow};
use std::{collections::BTreeMap, fmt::Write};
use uuid::Uuid;

/// The columns that a record shows, from the tables that these are in.
const COLUMNS: &str = "select t.id::text, t.name, t.description, t.computer_name, t.obs_state, t.power, t.cpus::text, t.memory_mb::text, t.os,
    array_to_string(t.obs_ips, ',') as ips, t.sizing_id::text, t.vapp_id::text, a.name as vapp, t.vdc_id::text, d.name as vdc,
    t.org_id::text, o.name as org, t.owner_id::text, u.name as owner, t.created_at::text, t.hub_name, t.obs_node, a.auto::text,
    k.storage::text, k.policy, n.network_id::text, n.network, n.address
  from vms t join organizations o on o.id = t.org_id join vdcs d on d.id = t.vdc_id join vapps a on a.id = t.vapp_id
  left join users u on u.id = t.owner_id
  left join lateral (select sum(k.size_mb) as storage, min(p.name) as policy from disks k join storage_policies p on p.id = k.policy_id
      where k.vm_id = t.id and k.gone_at is null) k on true
  left join lateral (select n.network_id, w.name as network, host(n.address) as address from nics n left join networks w on w.id = n.network_id
      where n.vm_id = t.id and n.removed_at is null order by n.is_primary desc limit 1) n on true
  where t.gone_at is null and t.org_id = $1";

/// Up to 100 of those that fit, and the number of all.
pub(crate) async fn rows(pool: &PgPool, org: Uuid, condition: &str) -> Result<(Vec<PgRow>, i64)> {
    let some = format!("{COLUMNS} {condition} order by t.id limit 100");
    let all = format!("select count(*) from vms t where t.gone_at is null and t.org_id = $1 {condition}");
    let (some, all) = tokio::join!(
        sqlx::query(&some).bind(org).fetch_all(pool),
        sqlx::query_scalar::<_, i64>(&all).bind(org).fetch_one(pool)
    );
    let (some, all) = (some?, all?);
    ensure!(!some.is_empty(), "the bare list is empty");
    Ok((some, all))
}

fn values(row: &PgRow) -> Result<BTreeMap<&str, Option<&str>>> {
    let mut all = BTreeMap::new();
    for (i, column) in row.columns().iter().enumerate() {
        all.insert(column.name(), if row.try_get_raw(i)?.is_null() { None } else { Some(row.try_get(i)?) });
    }
    Ok(all)
}

pub(crate) async fn json(pool: &PgPool, org: Uuid, condition: &str) -> Result<String> {
    let (rows, total) = rows(pool, org, condition).await?;
    let values: Vec<_> = rows.iter().map(values).collect::<Result<_>>()?;
    Ok(serde_json::to_string(&serde_json::json!({"resultTotal": total, "values": values}))?)
}

/// With every value escaped, and as an attribute.
pub(crate) async fn xml(pool: &PgPool, org: Uuid, condition: &str) -> Result<String> {
    let (rows, total) = rows(pool, org, condition).await?;
    let mut out = String::with_capacity(64 << 10);
    write!(out, "<QueryResultRecords total=\"{total}\">")?;
    for row in &rows {
        out.push_str("<VMRecord");
        for (i, column) in row.columns().iter().enumerate() {
            let value = if row.try_get_raw(i)?.is_null() { "" } else { row.try_get::<&str, _>(i)? };
            write!(out, " {}=\"{}\"", column.name(), escaped(value))?;
        }
        out.push_str("/>");
    }
    out.push_str("</QueryResultRecords>");
    Ok(out)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
