//! The machines inside templates, which VCD's clients ask for as they ask for VMs, and both together.
use crate::{
    Store,
    constraint::mapped,
    list::{Build, ListSql},
    query::{QuerySql, bool, conditions, id, id_among, number, sort_key, text, text_among, time, words},
    share::owned_or_shared,
    template, vm_line,
};
use model::{
    Result,
    decide::Scope,
    query::{Found, Numbered},
    template::{Inside, Machine},
};
use sqlx::FromRow;
use std::collections::HashMap;
use uuid::Uuid;

/// Their ids are made of their template's and their place in it, as `wire/href.rs` of the VCD face makes them.
const SQL: ListSql = ListSql {
    columns: "t.id, t.template_id, t.place",
    from: "(select (overlay(left(x.id::text, 32) placing '8' from 15) \
             || lpad(to_hex((('x' || right(x.id::text, 4))::bit(16)::int + e.place::int) & 65535), 4, '0'))::uuid as id, \
             x.id as template_id, x.catalog_id, x.org_id, x.name as template_name, x.os, x.created_at, e.vm, e.place \
            from templates x cross join lateral jsonb_array_elements(x.vms) with ordinality e (vm, place) \
            where x.kind = 'template' and x.deleted_at is null) t \
           join catalogs c on c.id = t.catalog_id join organizations o on o.id = t.org_id left join users u on u.id = c.owner_id",
    count_from: "",
    living: "c.deleted_at is null",
    sorts: &[],
    search: &[],
    action: "",
    org: "t.org_id = {} or c.shared_to_all or exists (select from catalog_shares s where s.catalog_id = c.id and s.org_id = {})",
    owner: concat!("c.org_id <> {org} or ", owned_or_shared!("c.owner_id", "c.id")),
};

/// The same names as VMs have.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: SQL.from,
    metadata: true,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "t.vm ->> 'name'"),
        text("description", "''"),
        id("container", "t.template_id"),
        id("vapp", "null::uuid"),
        text("containerName", "t.template_name"),
        id_among("vdc", "select x.id from vdcs x where x.org_id = t.org_id and x.deleted_at is null"),
        text_among("vdcName", "select x.name from vdcs x where x.org_id = t.org_id and x.deleted_at is null"),
        id("org", "t.org_id"),
        text("orgName", "o.name"),
        id("owner", "c.owner_id"),
        text("ownerName", "u.name"),
        text("guestOs", "t.vm ->> 'os'"),
        number("numberOfCpus", "(t.vm ->> 'cpus')::bigint"),
        number("memoryMB", "(t.vm ->> 'memory_mb')::bigint"),
        text("ipAddress", "''"),
        text("hostName", "''"),
        text("hubName", "''"),
        id_among("network", "select null::uuid where false"),
        text_among("networkName", "select '' where false"),
        text_among("storageProfileName", "select k ->> 'policy' from jsonb_array_elements(t.vm -> 'disks') k"),
        id("vmSizingPolicyId", "null::uuid"),
        bool("isVAppTemplate", "true"),
        bool("isAutoNature", "false"),
        bool("isDeleted", "false"),
        bool("isDeployed", "false"),
        bool("isBusy", "false"),
        bool("isInMaintenanceMode", "false"),
        time("dateCreated", "t.created_at"),
        text("catalogName", "c.name"),
        text("moref", "'vm-' || t.id"),
        words("status", "'stopped'", &[("POWERED_OFF", "true")]),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    template_id: Uuid,
    place: i64,
}

impl Store {
    /// VMs, and machines of templates after them; all of them in order if one is asked for. `None`: those are not wanted, or
    /// not to be seen.
    pub async fn machines_query(
        &self,
        (vms, inside): (Option<Scope>, Option<Scope>),
        q: &Numbered,
    ) -> Result<Found<Machine>> {
        let vm = |vm| Machine::Vm(Box::new(vm));
        let within = |inside| Machine::Inside(Box::new(inside));
        match (vms, inside) {
            (None, None) => Ok(Found { items: Vec::new(), total: 0 }),
            (Some(scope), None) => Ok(self.vm_lines(scope, q).await?.map(vm)),
            (None, Some(scope)) => {
                let place = (q.offset(), i64::from(q.size));
                let (items, total) = tokio::join!(self.inside(scope, q, place), self.counted(&QUERY, scope, q));
                Ok(Found { items: items?.into_iter().map(within).collect(), total: total? })
            }
            (Some(vms), Some(inside)) if q.sort.is_none() => {
                let (found, more) = tokio::join!(self.vm_lines(vms, q), self.counted(&QUERY, inside, q));
                let (mut found, more) = (found?.map(vm), more?);
                let left = i64::from(q.size) - i64::try_from(found.items.len()).unwrap_or_default();
                // a page that VMs fill has no room for them
                if left > 0 && more > 0 {
                    let place = ((q.offset() - found.total).max(0), left);
                    found.items.extend(self.inside(inside, q, place).await?.into_iter().map(within));
                }
                Ok(Found { items: found.items, total: found.total + more })
            }
            (Some(vms), Some(inside)) => {
                let (ids, total) = self.machines_in_order(vms, inside, q).await?;
                let mut found: HashMap<Uuid, Machine> = HashMap::new();
                found.extend(self.vm_lines_of(&ids).await?.into_iter().map(|v| (v.id.0, vm(v))));
                found.extend(self.insides(&ids).await?.into_iter().map(|(id, one)| (id, within(one))));
                Ok(Found { items: ids.iter().filter_map(|id| found.remove(id)).collect(), total })
            }
        }
    }

    async fn inside(&self, scope: Scope, q: &Numbered, place: (i64, i64)) -> Result<Vec<Inside>> {
        let rows = self.rows(&QUERY, scope, q, place, |r: Row| Ok(r)).await?;
        Ok(self.with_templates(rows).await?.into_iter().map(|(_, one)| one).collect())
    }

    async fn insides(&self, ids: &[Uuid]) -> Result<Vec<(Uuid, Inside)>> {
        let mut b = Build::new(format!("select {} from {} where t.id = any(", SQL.columns, SQL.from));
        b.push_bind(ids.to_vec()).push(")");
        let rows: Vec<Row> = b.build_query_as().fetch_all(&self.pool).await.map_err(mapped)?;
        self.with_templates(rows).await
    }

    async fn with_templates(&self, rows: Vec<Row>) -> Result<Vec<(Uuid, Inside)>> {
        let mut ids: Vec<Uuid> = rows.iter().map(|r| r.template_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let all = template::find_all(&self.pool, &ids).await?;
        let all: HashMap<Uuid, _> = all.into_iter().map(|t| (t.id.0, t)).collect();
        let inside = |r: Row| {
            let index = usize::try_from(r.place - 1).ok()?;
            let template = all.get(&r.template_id)?;
            (index < template.vms.len()).then(|| (r.id, Inside { template: template.clone(), index }))
        };
        Ok(rows.into_iter().filter_map(inside).collect())
    }

    /// The ids of one page of both together, and how many there are.
    async fn machines_in_order(&self, vms: Scope, inside: Scope, q: &Numbered) -> Result<(Vec<Uuid>, i64)> {
        let (field, down) = q.sort.as_ref().map_or(("id", false), |(f, down)| (f.as_str(), *down));
        let mut b = Build::new("select x.id from (");
        let both = [(&vm_line::QUERY, vms), (&QUERY, inside)];
        for (i, (sql, scope)) in both.iter().enumerate() {
            b.push(if i == 0 { "" } else { " union all " });
            b.push(format_args!("select t.id, {} as sorted from {}", sort_key(sql, field)?, sql.count_from));
            conditions(&mut b, sql, *scope, &q.filter)?;
        }
        let way = if down { "desc" } else { "asc" };
        b.push(format_args!(") x order by x.sorted {way}, x.id {way} limit {} offset {}", q.size, q.offset()));
        let ids: Vec<Uuid> = b.build_query_scalar().fetch_all(&self.pool).await.map_err(mapped)?;
        let (a, b) = tokio::join!(self.counted(both[0].0, vms, q), self.counted(both[1].0, inside, q));
        Ok((ids, a? + b?))
    }
}
