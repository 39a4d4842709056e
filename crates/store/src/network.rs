//! Networks of organizations, and the vApps that are bridged to them.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
    query::{QuerySql, bool, id, number, text, words},
};
use model::{
    Action, Actor, Error, HubId, NetworkId, OrgId, Result, VappId, VdcId, VmId,
    decide::{Resource, Scope},
    list::{ListQuery, Page},
    network::{IpRange, Network, NetworkSpec, NetworkUse},
    nic::IpMode,
    query::{Found, Numbered},
    vapp::Vapp,
    vdc::Vdc,
};
use sqlx::{FromRow, PgExecutor, types::Json};
use std::{collections::BTreeMap, net::Ipv4Addr};
use time::OffsetDateTime;
use uuid::Uuid;

/// The VMs with a NIC on it, or with one that still has an address of it.
macro_rules! machines_on {
    () => {
        "(select n.vm_id from nics n where n.network_id = t.id \
          union select n.vm_id from addresses a join nics n on n.id = a.nic_id where a.network_id = t.id)"
    };
}

const COLUMNS: &str = concat!(
    "t.id, t.org_id, o.name as org_name, t.vdc_id, d.name as vdc_name, t.vapp_id, t.name, t.description, host(t.gateway) as gateway, \
     t.prefix, array(select host(x) from unnest(t.dns) x) as dns, t.dns_suffix, t.ranges, t.dhcp, t.shared, t.version, t.created_at, \
     t.updated_at, t.updated_by, t.deleted_at is not null as deleted, \
     (select count(*) from nics n where n.network_id = t.id) as nics, (select count(*) from addresses a where a.network_id = t.id) as addresses, \
     network_home(t.id, null) as hub, \
     array(select x.name from (select v.name from vms v where v.id in ",
    machines_on!(),
    " union all select 'the vApp ' || p.name from vapp_networks w join vapps p on p.id = w.vapp_id where w.network_id = t.id \
      and p.deleted_at is null) x order by lower(x.name) limit 6) as used_by"
);
const FROM: &str = "networks t join organizations o on o.id = t.org_id join vdcs d on d.id = t.vdc_id";

const SQL: ListSql = ListSql {
    columns: COLUMNS,
    from: FROM,
    count_from: "networks t left join organizations o on o.id = t.org_id left join vdcs d on d.id = t.vdc_id",
    living: "t.gone_at is null and t.vapp_id is null",
    sorts: &[sort("name", "lower(t.name)", "text"), sort("created", "t.created_at", "timestamptz")],
    search: &["t.name", "t.description", "host(t.gateway)", "d.name"],
    action: "",
    org: "t.org_id",
    owner: "t.id",
};

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "networks t left join organizations o on o.id = t.org_id left join vdcs d on d.id = t.vdc_id",
    metadata: true,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "t.name"),
        text("description", "t.description"),
        id("vdc", "t.vdc_id"),
        id("orgVdc", "t.vdc_id"),
        id("orgVdc.id", "t.vdc_id"),
        id("ownerRef.id", "t.vdc_id"),
        text("ownerRef.name", "d.name"),
        text("orgVdc.name", "d.name"),
        text("vdcName", "d.name"),
        text("orgVdcName", "d.name"),
        id("org", "t.org_id"),
        id("orgRef.id", "t.org_id"),
        text("orgRef.name", "o.name"),
        text("orgName", "o.name"),
        number("linkType", "2"),
        bool("isShared", "t.shared"),
        bool("shared", "t.shared"),
        bool("isBusy", "t.deleted_at is not null"),
        bool("isLinked", "false"),
        bool("isIpScopeInherited", "false"),
        text("defaultGateway", "host(t.gateway)"),
        text("gateway", "host(t.gateway)"),
        text("netmask", "host(netmask(set_masklen(t.gateway, t.prefix)))"),
        number("subnetPrefixLength", "t.prefix"),
        text("dns1", "host(t.dns[1])"),
        text("dns2", "host(t.dns[2])"),
        text("dnsSuffix", "t.dns_suffix"),
        text("connectedTo", "d.name"),
        text("interfaceType", "''"),
        words("networkType", "t.network_type", &[("ISOLATED", "t.network_type = 'isolated'")]),
        words("status", "'REALIZED'", &[("REALIZED", "t.deleted_at is null"), ("PENDING", "t.deleted_at is not null")]),
    ],
};

/// Those inside vApps too.
const ONE: ListSql = ListSql { living: "t.gone_at is null", ..SQL };

#[derive(FromRow)]
struct Row {
    id: Uuid,
    org_id: Uuid,
    org_name: String,
    vdc_id: Uuid,
    vdc_name: String,
    vapp_id: Option<Uuid>,
    name: String,
    description: String,
    gateway: String,
    prefix: i16,
    dns: Vec<String>,
    dns_suffix: String,
    ranges: Json<Vec<IpRange>>,
    dhcp: bool,
    shared: bool,
    nics: i64,
    addresses: i64,
    used_by: Vec<String>,
    hub: Option<String>,
    deleted: bool,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
}

pub(crate) fn address(text: &str) -> Result<Ipv4Addr> {
    text.parse().map_err(|_| Error::Internal(format!("the address {text:?} can't be read")))
}

fn read(r: Row) -> Result<Network> {
    let mut used_by = r.used_by;
    if used_by.len() == 6 {
        used_by[5] = "and more".into();
    }
    Ok(Network {
        id: NetworkId(r.id),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        vdc: VdcId(r.vdc_id),
        vdc_name: r.vdc_name,
        vapp: r.vapp_id.map(VappId),
        spec: NetworkSpec {
            name: r.name,
            description: r.description,
            gateway: address(&r.gateway)?,
            prefix: u8::try_from(r.prefix).unwrap_or(24),
            dns: r.dns.iter().map(|d| address(d)).collect::<Result<_>>()?,
            dns_suffix: r.dns_suffix,
            ranges: r.ranges.0,
            dhcp: r.dhcp,
            shared: r.shared,
        },
        nics: r.nics,
        used_by,
        addresses: r.addresses,
        hub: r.hub.map(HubId),
        deleted: r.deleted,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    match key {
        "vdc" => {
            b.push(" and lower(d.name) = lower(").push_bind(value.to_owned()).push(")");
        }
        "shared" => {
            b.push(" and t.shared = ").push_bind(value == "true");
        }
        _ => {}
    }
}

async fn find(db: impl PgExecutor<'_>, id: NetworkId) -> Result<Option<Network>> {
    let mut b = ONE.one();
    b.push("t.id = ").push_bind(id.0);
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

pub(crate) async fn find_all(db: impl PgExecutor<'_>, ids: &[Uuid]) -> Result<Vec<Network>> {
    let mut b = ONE.one();
    b.push("t.id = any(").push_bind(ids.to_vec()).push(") order by lower(t.name), t.id");
    let rows: Vec<Row> = b.build_query_as().fetch_all(db).await.map_err(mapped)?;
    rows.into_iter().map(read).collect()
}

fn resource(network: &Network) -> Resource {
    Resource::Of(network.org)
}

impl Store {
    pub async fn network(&self, actor: &Actor, action: Action, id: NetworkId) -> Result<Authorized<Network>> {
        Authorized::check(actor, action, find(&self.pool, id).await?, resource)
    }

    pub async fn networks(&self, scope: Scope, q: &ListQuery) -> Result<Page<Network>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    pub async fn network_names(&self, scope: Scope) -> Result<Vec<(NetworkId, String)>> {
        Ok(self.named(&SQL, scope, |_| {}).await?.into_iter().map(|(id, name)| (NetworkId(id), name)).collect())
    }

    pub async fn networks_query(&self, scope: Scope, q: &Numbered) -> Result<Found<Network>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// What a NIC in that VDC can be plugged into: its own networks and those that are shared in its organization.
    pub async fn networks_in_reach(&self, vdc: &Vdc) -> Result<Vec<Network>> {
        let ids = sqlx::query_scalar!(
            "select id from networks where org_id = $1 and (vdc_id = $2 or shared) and vapp_id is null and deleted_at is null limit 500",
            vdc.org.0,
            vdc.id.0
        );
        let ids = ids.fetch_all(&self.pool).await.map_err(mapped)?;
        find_all(&self.pool, &ids).await
    }

    /// The same by name only.
    pub async fn network_names_in_reach(&self, vdc: &Vdc) -> Result<Vec<(NetworkId, String)>> {
        let of = |b: &mut Build<'_>| {
            b.push(" and t.deleted_at is null and (t.shared or t.vdc_id = ").push_bind(vdc.id.0).push(")");
        };
        let all = self.named(&SQL, Scope::Org(vdc.org), of).await?;
        Ok(all.into_iter().map(|(id, name)| (NetworkId(id), name)).collect())
    }

    /// The networks inside a vApp, those that it is bridged to, and those that its machines are on.
    pub async fn networks_of(&self, vapp: &Authorized<Vapp>) -> Result<Vec<Network>> {
        let ids = sqlx::query_scalar!(
            r#"select id as "id!" from networks where vapp_id = $1 and gone_at is null
               union select network_id from vapp_networks where vapp_id = $1
               union select n.network_id from nics n join vms v on v.id = n.vm_id
                     where v.vapp_id = $1 and n.network_id is not null and n.removed_at is null"#,
            vapp.id.0
        );
        let ids = ids.fetch_all(&self.pool).await.map_err(mapped)?;
        find_all(&self.pool, &ids).await
    }

    /// The networks that a vApp is bridged to, each with the address that the bridge has.
    pub async fn bridges_of(&self, vapp: &Authorized<Vapp>) -> Result<Vec<(Uuid, NetworkId)>> {
        let rows = sqlx::query!("select id, network_id from vapp_networks where vapp_id = $1", vapp.id.0);
        let rows = rows.fetch_all(&self.pool).await.map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (r.id, NetworkId(r.network_id))).collect())
    }

    /// What is behind such an address.
    pub async fn bridge(&self, id: Uuid) -> Result<Option<(VappId, NetworkId)>> {
        let row = sqlx::query!("select vapp_id, network_id from vapp_networks where id = $1", id);
        let row = row.fetch_optional(&self.pool).await.map_err(mapped)?;
        Ok(row.map(|r| (VappId(r.vapp_id), NetworkId(r.network_id))))
    }

    /// The NICs on a network, of the machines that somebody sees.
    pub async fn network_uses(&self, network: &Authorized<Network>, scope: Scope) -> Result<Vec<NetworkUse>> {
        let (owner, role) = match scope {
            Scope::Own(_, user, role) => (Some(user.0), Some(role.0)),
            Scope::All | Scope::Org(_) => (None, None),
        };
        let rows = sqlx::query!(
            r#"select v.id, v.name, v.vapp_id, p.name as vapp_name, d.name as vdc_name, n.idx, n.mode, host(a.address) as address, n.mac,
                      (n.removed_at is not null or n.network_id is distinct from $1
                       or (a.address is not null and a.address is distinct from n.address)) as "leaving!"
               from (select n.id as nic_id from nics n where n.network_id = $1 union select nic_id from addresses where network_id = $1) x
               join nics n on n.id = x.nic_id join vms v on v.id = n.vm_id join vapps p on p.id = v.vapp_id join vdcs d on d.id = v.vdc_id
               left join addresses a on a.nic_id = n.id and a.network_id = $1
               where $2::uuid is null or v.owner_id = $2
                  or v.vapp_id in (select s.object_id from shares s where s.org_id = $4
                                   and (s.user_id = $2 or s.role_id = $3 or (s.user_id is null and s.role_id is null)))
               order by lower(v.name), v.id, n.idx, a.address limit 500"#,
            network.id.0,
            owner,
            role,
            network.org.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let uses = rows.into_iter().map(|r| {
            Ok(NetworkUse {
                vm: VmId(r.id),
                vm_name: r.name,
                vapp: VappId(r.vapp_id),
                vapp_name: r.vapp_name,
                vdc_name: r.vdc_name,
                index: r.idx,
                mode: IpMode::parse(&r.mode).unwrap_or_default(),
                address: r.address.map(|a| address(&a)).transpose()?,
                mac: r.mac,
                leaving: r.leaving,
            })
        });
        uses.collect()
    }
}

impl Write<'_> {
    pub async fn network(&mut self, action: Action, id: NetworkId) -> Result<Authorized<Network>> {
        let mut held = self.networks_held([id]).await?;
        Authorized::check(self.actor, action, held.remove(&id), resource)
    }

    /// Held until the end, and always in the same order: nobody else takes an address of them meanwhile.
    pub async fn networks_held(
        &mut self,
        ids: impl IntoIterator<Item = NetworkId>,
    ) -> Result<BTreeMap<NetworkId, Network>> {
        let ids: Vec<Uuid> = ids.into_iter().map(|n| n.0).collect();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        // the organization first, as by quota reservations: the record at the end needs it too
        sqlx::query!(
            "select id from organizations where id in (select org_id from networks where id = any($1)) order by id for key share",
            &ids
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!("select id from networks where id = any($1) order by id for update", &ids)
            .fetch_all(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(find_all(&mut *self.tx, &ids).await?.into_iter().map(|n| (n.id, n)).collect())
    }

    pub async fn network_insert(
        &mut self,
        id: NetworkId,
        (org, vdc, vapp): (OrgId, VdcId, Option<VappId>),
        s: &NetworkSpec,
    ) -> Result<()> {
        sqlx::query!(
            "insert into networks (id, org_id, vdc_id, vapp_id, name, description, gateway, prefix, dns, dns_suffix, ranges, dhcp, shared,
                                   hub_name, updated_by)
             values ($1, $2, $3, $4, $5, $6, $7::text::inet, $8, $9::text[]::inet[], $10, $11, $12, $13, $14, $15)",
            id.0,
            org.0,
            vdc.0,
            vapp.map(|v| v.0),
            s.name,
            s.description,
            s.gateway.to_string(),
            i16::from(s.prefix),
            &texts(&s.dns),
            s.dns_suffix,
            Json(&s.ranges) as _,
            s.dhcp,
            s.shared,
            model::nic::hub_name(&s.name, id),
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// `reshaped`: hubs can't change what they made of it, so that goes and is made anew when it is needed.
    pub async fn network_update(&mut self, n: &Authorized<Network>, s: &NetworkSpec, reshaped: bool) -> Result<()> {
        sqlx::query!(
            "update networks set name = $2, description = $3, gateway = $4::text::inet, prefix = $5, dns = $6::text[]::inet[], dns_suffix = $7,
                    ranges = $8, dhcp = $9, shared = $10, version = version + 1, updated_at = now(), updated_by = $11 where id = $1",
            n.id.0,
            s.name,
            s.description,
            s.gateway.to_string(),
            i16::from(s.prefix),
            &texts(&s.dns),
            s.dns_suffix,
            Json(&s.ranges) as _,
            s.dhcp,
            s.shared,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        if reshaped {
            sqlx::query!("update network_places set stale = true, ready_at = null where network_id = $1", n.id.0)
                .execute(&mut *self.tx)
                .await
                .map_err(mapped)?;
        }
        Ok(())
    }

    /// The tombstone; it stays until nothing of it is proven to be left.
    pub async fn network_delete(&mut self, id: NetworkId) -> Result<()> {
        sqlx::query!(
            "update networks set deleted_at = coalesce(deleted_at, now()), version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// The addresses that NICs got from a network's ranges, with their machines' names.
    pub async fn pooled_addresses(&mut self, network: NetworkId) -> Result<Vec<(Ipv4Addr, String)>> {
        let rows = sqlx::query!(
            r#"select host(a.address) as "address!", v.name from addresses a join nics n on n.id = a.nic_id join vms v on v.id = n.vm_id
               where a.network_id = $1 and n.mode = 'pool' order by a.address"#,
            network.0
        );
        let rows = rows.fetch_all(&mut *self.tx).await.map_err(mapped)?;
        rows.into_iter().map(|r| Ok((address(&r.address)?, r.name))).collect()
    }

    /// False: it was bridged to it before.
    pub async fn vapp_bridge(&mut self, vapp: &Authorized<Vapp>, network: NetworkId) -> Result<bool> {
        let done = sqlx::query!(
            "insert into vapp_networks (vapp_id, network_id) values ($1, $2) on conflict do nothing",
            vapp.id.0,
            network.0
        );
        Ok(done.execute(&mut *self.tx).await.map_err(mapped)?.rows_affected() == 1)
    }

    pub async fn vapp_unbridge(&mut self, vapp: &Authorized<Vapp>, network: NetworkId) -> Result<bool> {
        let done =
            sqlx::query!("delete from vapp_networks where vapp_id = $1 and network_id = $2", vapp.id.0, network.0);
        Ok(done.execute(&mut *self.tx).await.map_err(mapped)?.rows_affected() == 1)
    }

    /// Those that only the vApp's own machines are on, held.
    pub async fn networks_inside(&mut self, vapp: &Authorized<Vapp>) -> Result<Vec<Network>> {
        let ids = sqlx::query_scalar!("select id from networks where vapp_id = $1 and gone_at is null", vapp.id.0);
        let ids = ids.fetch_all(&mut *self.tx).await.map_err(mapped)?;
        Ok(self.networks_held(ids.into_iter().map(NetworkId)).await?.into_values().collect())
    }

    /// Bridged as another one is, to those of its networks that are among these.
    pub async fn vapp_bridge_as(
        &mut self,
        new: VappId,
        from: &Authorized<Vapp>,
        among: impl Iterator<Item = NetworkId>,
    ) -> Result<()> {
        let among: Vec<Uuid> = among.map(|n| n.0).collect();
        sqlx::query!(
            "insert into vapp_networks (vapp_id, network_id) select $1, network_id from vapp_networks
             where vapp_id = $2 and network_id = any($3) on conflict do nothing",
            new.0,
            from.id.0,
            &among
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// A vApp that goes lets go of its networks, and those inside it go with it. Gives the latter.
    pub async fn vapp_networks_end(&mut self, vapp: &Authorized<Vapp>) -> Result<Vec<NetworkId>> {
        sqlx::query!("delete from vapp_networks where vapp_id = $1", vapp.id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let ids = sqlx::query_scalar!(
            "update networks set deleted_at = coalesce(deleted_at, now()), version = version + 1, updated_at = now(), updated_by = $2
             where vapp_id = $1 and gone_at is null returning id",
            vapp.id.0,
            self.actor.name
        );
        Ok(ids.fetch_all(&mut *self.tx).await.map_err(mapped)?.into_iter().map(NetworkId).collect())
    }

    /// Names of the vApp's machines that are on that network.
    pub async fn vms_on(&mut self, vapp: &Authorized<Vapp>, network: NetworkId) -> Result<Vec<String>> {
        let names = sqlx::query_scalar!(
            "select distinct v.name from vms v join nics n on n.vm_id = v.id where v.vapp_id = $1 and n.network_id = $2 order by 1 limit 5",
            vapp.id.0,
            network.0
        );
        names.fetch_all(&mut *self.tx).await.map_err(mapped)
    }
}

fn texts(addresses: &[Ipv4Addr]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}
