//! A list of 100 of 20,000 machines, beside the bare SQL of the same columns; both end as JSON.
use crate::{print, stage::Stage};
use anyhow::{Result, anyhow, ensure};
use domain::{bootstrap::operator, vm};
use model::list::{ListQuery, VMS};
use sqlx::{Column, Row, ValueRef};
use std::{collections::BTreeMap, time::Instant};

const ROUNDS: usize = 300;
const ROWS: i64 = 20_000;

/// As many columns, from as many tables, in the same order.
const BARE: &str = "select t.id::text, o.name as org, d.name as vdc, a.name as vapp, u.name as owner, t.name, t.description, t.computer_name,
    t.cpus::text, t.memory_mb::text, t.instance_type,
    (select coalesce(jsonb_agg(jsonb_build_object('name', k.name, 'size_mb', k.size_mb) order by k.position), '[]') from disks k where k.vm_id = t.id and k.gone_at is null)::text, t.obs_nics::text, t.os, t.power, t.start_order::text,
    t.start_delay_s::text, t.generation::text, t.hub_id, h.state, d.namespace_name, t.hub_name, t.uid, t.applied::text, t.obs_state,
    t.obs_reason, t.obs_cpus::text, t.obs_memory_mb::text, t.obs_node, t.obs_ips::text, t.obs_guest_os, t.obs_progress::text,
    t.obs_restart::text, t.obs_at::text, t.obs_since::text, t.outside, t.problem, t.version::text, t.created_at::text,
    t.updated_at::text, t.updated_by
  from vms t join organizations o on o.id = t.org_id join vdcs d on d.id = t.vdc_id join vapps a on a.id = t.vapp_id
  left join users u on u.id = t.owner_id left join hubs h on h.id = t.hub_id
  where t.gone_at is null and t.org_id = $1 order by lower(t.name), t.id limit 100";

pub(crate) async fn run(stage: &Stage) -> Result<()> {
    // rows alone are enough here: as many more as are missing, in vApps that nobody works on
    sqlx::query(
        "with more as (
           insert into vapps (id, org_id, vdc_id, name) select gen_random_uuid(), org_id, vdc_id, name || '-more' from vapps returning id, name
         )
         insert into vms (id, org_id, vdc_id, vapp_id, name, computer_name, cpus, memory_mb, power, hub_name,
                          obs_state, obs_ips, obs_at, obs_since)
         select gen_random_uuid(), v.org_id, v.vdc_id, more.id, v.name || '-' || n, v.computer_name, v.cpus, v.memory_mb, 'on',
                v.hub_name || '-' || n, 'running', '{10.0.0.1}', now(), now()
         from vms v join vapps a on a.id = v.vapp_id join more on more.name = a.name || '-more', generate_series(1, 3) n
         limit greatest(0, $1 - (select count(*) from vms))",
    )
    .bind(ROWS)
    .execute(&stage.pool)
    .await?;
    sqlx::query("vacuum analyze").execute(&stage.pool).await?;
    let operator = operator(&stage.domain).await.map_err(|e| anyhow!("{e}"))?;
    let query = ListQuery { limit: 100, ..ListQuery::first(&VMS) };
    let (mut bare, mut ours, mut page) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let rows = sqlx::query(BARE).bind(stage.org.0).fetch_all(&stage.pool).await?;
        let rows: Vec<BTreeMap<&str, Option<&str>>> = rows.iter().map(named).collect::<Result<_>>()?;
        let text = serde_json::to_string(&rows)?;
        ensure!(rows.len() == 100 && text.len() > 10_000, "the bare list is short");
        bare.push(began.elapsed());

        let began = Instant::now();
        let found = vm::list(&stage.domain, &operator, Some(stage.org), &query).await?;
        let text = serde_json::to_string(&found.items)?;
        ensure!(found.items.len() == 100 && text.len() > 10_000, "the list is short");
        ours.push(began.elapsed());

        let began = Instant::now();
        let answer = stage.fetch(stage.get("/tenant/acme/vms?limit=100")?).await?;
        ensure!(answer.status().is_success(), "the page was answered with {}", answer.status());
        axum::body::to_bytes(answer.into_body(), usize::MAX).await?;
        page.push(began.elapsed());
    }
    let (bare, _) = print("100 of 20,000 VMs: bare SQL and JSON", bare);
    let (ours, _) = print("the same with rights, cursor and the number of all", ours);
    let (page, _) = print("the whole page of it, with its session", page);
    println!("{:<52} {:>9.2} and {:.2} times the bare one", "", ours / bare, page / bare);
    Ok(())
}

fn named(row: &sqlx::postgres::PgRow) -> Result<BTreeMap<&str, Option<&str>>> {
    let mut all = BTreeMap::new();
    for (i, column) in row.columns().iter().enumerate() {
        let value = row.try_get_raw(i)?;
        all.insert(column.name(), if value.is_null() { None } else { Some(row.try_get(i)?) });
    }
    Ok(all)
}
