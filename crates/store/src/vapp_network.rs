//! Networks in vApps as VCD's clients ask for them: each vApp's own, and those of its VDC that it is bridged to.
use crate::{
    Store,
    list::ListSql,
    network::find_all,
    query::{QuerySql, bool, id, number, text},
    share::owned_or_shared,
};
use model::{
    Result, VappId,
    decide::Scope,
    network::VappNetwork,
    query::{Found, Numbered},
};
use sqlx::FromRow;
use std::collections::HashMap;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: "t.id, t.vapp_id, t.network_id, t.bridged, a.name as vapp_name, coalesce(u.name, '') as owner_name",
    from: "(select n.id, n.vapp_id, n.id as network_id, false as bridged from networks n where n.vapp_id is not null and n.gone_at is null \
            union all select w.id, w.vapp_id, w.network_id, true from vapp_networks w) t \
           join vapps a on a.id = t.vapp_id join networks n on n.id = t.network_id join organizations o on o.id = a.org_id \
           join vdcs d on d.id = a.vdc_id left join users u on u.id = a.owner_id",
    count_from: "",
    living: "a.gone_at is null and n.gone_at is null",
    sorts: &[],
    search: &[],
    action: "",
    org: "a.org_id",
    owner: owned_or_shared!("a.owner_id", "a.id"),
};

const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: SQL.from,
    metadata: true,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "n.name"),
        text("description", "n.description"),
        id("vApp", "t.vapp_id"),
        text("vAppName", "a.name"),
        id("vdc", "a.vdc_id"),
        text("vdcName", "d.name"),
        id("org", "a.org_id"),
        text("orgName", "o.name"),
        text("ownerName", "u.name"),
        id("linkNetwork", "case when t.bridged then t.network_id end"),
        text("linkNetworkName", "case when t.bridged then n.name else '' end"),
        bool("isLinked", "t.bridged"),
        bool("isBusy", "false"),
        number("linkType", "case when t.bridged then 0 else 2 end"),
        text("gateway", "host(n.gateway)"),
        text("netmask", "host(netmask(set_masklen(n.gateway, n.prefix)))"),
        number("subnetPrefixLength", "n.prefix"),
        text("dns1", "host(n.dns[1])"),
        text("dns2", "host(n.dns[2])"),
        text("dnsSuffix", "n.dns_suffix"),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    vapp_id: Uuid,
    vapp_name: String,
    owner_name: String,
    network_id: Uuid,
    bridged: bool,
}

impl Store {
    pub async fn vapp_networks_query(&self, scope: Scope, q: &Numbered) -> Result<Found<VappNetwork>> {
        let found = self.numbered(&QUERY, scope, q, |r: Row| Ok(r)).await?;
        let mut ids: Vec<Uuid> = found.items.iter().map(|r| r.network_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let networks = find_all(&self.pool, &ids).await?;
        let networks: HashMap<Uuid, _> = networks.into_iter().map(|n| (n.id.0, n)).collect();
        let whole = |r: Row| {
            let network = networks.get(&r.network_id)?.clone();
            Some(VappNetwork {
                id: r.id,
                vapp: VappId(r.vapp_id),
                vapp_name: r.vapp_name,
                owner_name: r.owner_name,
                network,
                bridged: r.bridged,
            })
        };
        Ok(Found { items: found.items.into_iter().filter_map(whole).collect(), total: found.total })
    }
}
