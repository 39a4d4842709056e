//! NICs of machines, and the addresses they have. An address is taken in the transaction of the wish, while its network is
//! held, and given back when the machine is proven to have left it.
use crate::{Store, Write, constraint::mapped, network::address};
use model::{
    Error, NetworkId, Result, VmId,
    network::{Network, NetworkSpec},
    nic::{Adapter, Attach, IpMode, Nic, NicSpec},
};
use serde::Deserialize;
use sqlx::PgConnection;
use std::{
    collections::{BTreeMap, HashMap},
    net::Ipv4Addr,
};
use uuid::Uuid;

/// The NICs of the machine `t`, as JSON.
macro_rules! nics_column {
    () => {
        "(select coalesce(json_agg(json_build_object('index', n.idx, 'name', n.name, 'attach', n.attach, 'network', n.network_id, \
           'network_name', coalesce(w.name, ''), 'mode', n.mode, 'address', host(n.address), 'mac', n.mac, 'connected', n.connected, \
           'primary', n.is_primary, 'adapter', n.adapter) order by n.idx), '[]') \
          from nics n left join networks w on w.id = n.network_id where n.vm_id = t.id and n.removed_at is null) as nics"
    };
}
pub(crate) use nics_column;

/// What `nics_column` gives.
#[derive(Deserialize)]
pub(crate) struct NicJson {
    index: i16,
    name: String,
    attach: String,
    network: Option<Uuid>,
    network_name: String,
    mode: String,
    address: Option<Ipv4Addr>,
    mac: String,
    connected: bool,
    primary: bool,
    adapter: String,
}

/// What a hub says of one NIC.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(default)]
pub struct SeenNic {
    pub name: String,
    pub mac: String,
    pub ips: Vec<String>,
}

impl NicJson {
    pub(crate) fn read(self, seen: &[SeenNic]) -> Nic {
        let seen = seen.iter().find(|s| s.name == self.name).cloned().unwrap_or_default();
        Nic {
            spec: NicSpec {
                index: self.index,
                name: self.name,
                attach: attach(&self.attach, self.network),
                mode: IpMode::parse(&self.mode).unwrap_or_default(),
                address: self.address,
                mac: self.mac,
                connected: self.connected,
                primary: self.primary,
                adapter: Adapter::parse(&self.adapter).unwrap_or_default(),
            },
            network_name: self.network_name,
            seen_mac: seen.mac,
            seen_ips: seen.ips,
        }
    }
}

fn attach(word: &str, network: Option<Uuid>) -> Attach {
    match (word, network) {
        (_, Some(id)) => Attach::Network(NetworkId(id)),
        ("vdc", None) => Attach::Vdc,
        _ => Attach::Nothing,
    }
}

/// A NIC with its network, as a reconciler needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicWork {
    pub spec: NicSpec,
    pub network: Option<NicNetwork>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicNetwork {
    pub id: NetworkId,
    pub name: String,
    pub hub_name: String,
    pub gateway: Ipv4Addr,
    pub prefix: u8,
    pub dns: Vec<Ipv4Addr>,
    pub dns_suffix: String,
}

impl Store {
    pub(crate) async fn nics_work(&self, vms: &[Uuid]) -> Result<HashMap<Uuid, Vec<NicWork>>> {
        let rows = sqlx::query!(
            r#"select n.vm_id, n.idx, n.name, n.attach, n.network_id, n.mode, host(n.address) as address, n.mac, n.connected, n.is_primary, n.adapter,
                      w.name as "network?", w.hub_name as "hub_name?", host(w.gateway) as gateway, w.prefix as "prefix?",
                      array(select host(x) from unnest(w.dns) x) as "dns!", w.dns_suffix as "dns_suffix?"
               from nics n left join networks w on w.id = n.network_id where n.vm_id = any($1) and n.removed_at is null order by n.idx"#,
            vms
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)?;
        let mut nics: HashMap<Uuid, Vec<NicWork>> = HashMap::new();
        for r in rows {
            let network = match (r.network_id, r.gateway) {
                (Some(id), Some(gateway)) => Some(NicNetwork {
                    id: NetworkId(id),
                    name: r.network.unwrap_or_default(),
                    hub_name: r.hub_name.unwrap_or_default(),
                    gateway: address(&gateway)?,
                    prefix: r.prefix.and_then(|p| u8::try_from(p).ok()).unwrap_or(24),
                    dns: r.dns.iter().map(|d| address(d)).collect::<Result<_>>()?,
                    dns_suffix: r.dns_suffix.unwrap_or_default(),
                }),
                _ => None,
            };
            let spec = NicSpec {
                index: r.idx,
                name: r.name,
                attach: attach(&r.attach, r.network_id),
                mode: IpMode::parse(&r.mode).unwrap_or_default(),
                address: r.address.map(|a| address(&a)).transpose()?,
                mac: r.mac,
                connected: r.connected,
                primary: r.is_primary,
                adapter: Adapter::parse(&r.adapter).unwrap_or_default(),
            };
            nics.entry(r.vm_id).or_default().push(NicWork { spec, network });
        }
        Ok(nics)
    }

    /// Gives back what a machine is proven to have left. `there`: what its running instance has, as `interface=network`;
    /// empty: it does not run. Only while its hub is at what was asked for: what starts next has the NICs of now.
    pub async fn nics_release(&self, vm: VmId, there: &[String]) -> Result<()> {
        let mut tx = self.begin().await?;
        let settled = sqlx::query_scalar!(
            r#"select applied is not distinct from generation as "settled!" from vms where id = $1 and gone_at is null for update"#,
            vm.0
        );
        if !settled.fetch_optional(&mut *tx).await.map_err(mapped)?.unwrap_or(false) {
            return Ok(());
        }
        let left = sqlx::query_scalar!(
            "delete from addresses a using nics n, networks w
             where n.id = a.nic_id and w.id = a.network_id and n.vm_id = $1
               and (n.removed_at is not null or (a.network_id, a.address) is distinct from (n.network_id, n.address))
               and not (n.name || '=' || w.hub_name = any($2)) returning a.network_id",
            vm.0,
            there
        );
        let mut left = left.fetch_all(&mut *tx).await.map_err(mapped)?;
        let gone = sqlx::query_scalar!(
            "delete from nics n where n.vm_id = $1 and n.removed_at is not null and not exists (select from addresses a where a.nic_id = n.id)
             and not exists (select from unnest($2::text[]) t where split_part(t, '=', 1) = n.name) returning n.network_id",
            vm.0,
            there
        );
        left.extend(gone.fetch_all(&mut *tx).await.map_err(mapped)?.into_iter().flatten());
        wake_networks(&mut tx, &left).await?;
        tx.commit().await.map_err(mapped)?;
        Ok(())
    }
}

/// A network that is to go may have waited for the last NIC on it.
async fn wake_networks(tx: &mut PgConnection, networks: &[Uuid]) -> Result<()> {
    sqlx::query!(
        "insert into work (kind, id, org_id) select 'network', id, org_id from networks
         where id = any($1) and deleted_at is not null and gone_at is null
         on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now()",
        networks
    )
    .execute(&mut *tx)
    .await
    .map_err(mapped)?;
    Ok(())
}

/// Nothing of the machine is left: its NICs and their addresses neither.
pub(crate) async fn end(tx: &mut PgConnection, vm: Uuid) -> Result<()> {
    sqlx::query!("delete from addresses a using nics n where n.id = a.nic_id and n.vm_id = $1", vm)
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
    let left = sqlx::query_scalar!("delete from nics where vm_id = $1 returning network_id", vm);
    let left: Vec<Uuid> = left.fetch_all(&mut *tx).await.map_err(mapped)?.into_iter().flatten().collect();
    wake_networks(tx, &left).await
}

/// A NIC as it stands in the table.
struct Known {
    id: Uuid,
    idx: i16,
    name: String,
    network: Option<Uuid>,
    address: Option<Ipv4Addr>,
    mac: String,
    removed: bool,
}

impl Write<'_> {
    /// Sets all NICs of a machine to this list. A NIC is known by its index: it keeps its MAC and, on the same network,
    /// its address. `networks` are held.
    pub async fn nics_set(
        &mut self,
        vm: VmId,
        wanted: &[NicSpec],
        networks: &BTreeMap<NetworkId, Network>,
    ) -> Result<()> {
        let known = self.nics_known(vm).await?;
        for old in known.iter().filter(|k| !k.removed && !wanted.iter().any(|w| w.index == k.idx)) {
            sqlx::query!("update nics set removed_at = now(), is_primary = false where id = $1", old.id)
                .execute(&mut *self.tx)
                .await
                .map_err(mapped)?;
        }
        sqlx::query!("update nics set is_primary = false where vm_id = $1 and is_primary", vm.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let mut names: Vec<String> = known.iter().map(|k| k.name.clone()).collect();
        for nic in wanted {
            let old = known.iter().find(|k| !k.removed && k.idx == nic.index);
            let id = old.map_or_else(Uuid::now_v7, |k| k.id);
            let mac = self.mac(nic, old).await?;
            if let Some(old) = old {
                let network = nic.attach.network().map(|n| n.0);
                sqlx::query!(
                    "update nics set attach = $2, network_id = $3, mode = $4, mac = $5, connected = $6, is_primary = $7, adapter = $8 where id = $1",
                    old.id,
                    nic.attach.key(),
                    network,
                    nic.mode.key(),
                    mac,
                    nic.connected,
                    nic.primary,
                    nic.adapter.key()
                )
                .execute(&mut *self.tx)
                .await
                .map_err(mapped)?;
            } else {
                let name = free_name(&nic.name, &names);
                sqlx::query!(
                    "insert into nics (id, vm_id, idx, name, attach, network_id, mode, mac, connected, is_primary, adapter)
                     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                    id,
                    vm.0,
                    nic.index,
                    name,
                    nic.attach.key(),
                    nic.attach.network().map(|n| n.0),
                    nic.mode.key(),
                    mac,
                    nic.connected,
                    nic.primary,
                    nic.adapter.key()
                )
                .execute(&mut *self.tx)
                .await
                .map_err(mapped)?;
                names.push(name);
            }
            let had = old.filter(|k| k.network == nic.attach.network().map(|n| n.0)).and_then(|k| k.address);
            let network = nic.attach.network().and_then(|n| networks.get(&n));
            self.address_take(id, nic, had, network).await?;
        }
        // no hub was chosen yet: nobody can have begun to make it
        sqlx::query!(
            "delete from addresses a using nics n, vms v
             where n.id = a.nic_id and n.vm_id = $1 and v.id = $1 and v.hub_id is null
               and (n.removed_at is not null or (a.network_id, a.address) is distinct from (n.network_id, n.address))",
            vm.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "delete from nics n using vms v where n.vm_id = $1 and v.id = $1 and v.hub_id is null and n.removed_at is not null",
            vm.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// The machine's hub is to be brought to its NICs.
    pub async fn vm_nics_changed(&mut self, vm: VmId) -> Result<()> {
        sqlx::query!(
            "update vms set nics_set = true, generation = generation + 1, problem = '', version = version + 1, updated_at = now(),
                    updated_by = $2 where id = $1",
            vm.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    async fn nics_known(&mut self, vm: VmId) -> Result<Vec<Known>> {
        let rows = sqlx::query!(
            r#"select id, idx, name, network_id, host(address) as address, mac, removed_at is not null as "removed!" from nics
               where vm_id = $1 for update"#,
            vm.0
        );
        let rows = rows.fetch_all(&mut *self.tx).await.map_err(mapped)?;
        let known = rows.into_iter().map(|r| {
            Ok(Known {
                id: r.id,
                idx: r.idx,
                name: r.name,
                network: r.network_id,
                address: r.address.map(|a| address(&a)).transpose()?,
                mac: r.mac,
                removed: r.removed,
            })
        });
        known.collect()
    }

    /// The one it has, the one that was asked for, or a new one.
    async fn mac(&mut self, nic: &NicSpec, old: Option<&Known>) -> Result<String> {
        if let Some(has) = old.map(|k| k.mac.as_str()).filter(|m| !m.is_empty()) {
            if !nic.mac.is_empty() && nic.mac != has {
                let why = format!(
                    "NIC {}: it keeps its MAC address {has} for life. Remove it and add another one.",
                    nic.index
                );
                return Err(Error::field("nics", why));
            }
            return Ok(has.to_owned());
        }
        if !nic.mac.is_empty() {
            return Ok(nic.mac.clone());
        }
        for _ in 0..8 {
            let mac = any_mac();
            let taken = sqlx::query_scalar!(r#"select exists (select from nics where mac = $1) as "taken!""#, mac);
            if !taken.fetch_one(&mut *self.tx).await.map_err(mapped)? {
                return Ok(mac);
            }
        }
        Err(Error::Internal("no free MAC address was found".into()))
    }

    /// The network is held, so what is free here is free.
    async fn address_take(
        &mut self,
        nic: Uuid,
        spec: &NicSpec,
        had: Option<Ipv4Addr>,
        network: Option<&Network>,
    ) -> Result<()> {
        let chosen = match network {
            Some(network) => {
                let used = self.addresses_of(network.id).await?;
                choose(nic, spec, had, network, &used)?
            }
            None => None,
        };
        if let (Some(network), Some(address)) = (network, chosen) {
            sqlx::query!(
                "insert into addresses (network_id, address, nic_id) select $1, $2::text::inet, $3
                 where not exists (select from addresses where network_id = $1 and address = $2::text::inet and nic_id = $3)",
                network.id.0,
                address.to_string(),
                nic
            )
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        }
        let text = chosen.map(|a| a.to_string());
        sqlx::query!("update nics set address = $2::text::inet where id = $1", nic, text)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    async fn addresses_of(&mut self, network: NetworkId) -> Result<HashMap<Ipv4Addr, (Uuid, String)>> {
        let rows = sqlx::query!(
            r#"select host(a.address) as "address!", a.nic_id, v.name from addresses a join nics n on n.id = a.nic_id
               join vms v on v.id = n.vm_id where a.network_id = $1"#,
            network.0
        );
        let rows = rows.fetch_all(&mut *self.tx).await.map_err(mapped)?;
        rows.into_iter().map(|r| Ok((address(&r.address)?, (r.nic_id, r.name)))).collect()
    }
}

/// The address a NIC gets; None: it needs none of ours.
fn choose(
    nic: Uuid,
    spec: &NicSpec,
    had: Option<Ipv4Addr>,
    network: &Network,
    used: &HashMap<Ipv4Addr, (Uuid, String)>,
) -> Result<Option<Ipv4Addr>> {
    let (i, name, of) = (spec.index, network.name(), &network.spec);
    let refused = |why: String| Err(Error::field("nics", format!("NIC {i}: {why}")));
    let free = |a: &Ipv4Addr| used.get(a).is_none_or(|(who, _)| *who == nic);
    match spec.mode {
        IpMode::Pool | IpMode::Manual if of.dhcp => {
            refused(format!("the network {name} hands out its addresses by DHCP. Choose DHCP for it."))
        }
        IpMode::Dhcp if !of.dhcp => refused(format!("the network {name} has no DHCP. Take an address from its pool.")),
        IpMode::Pool => {
            let kept = had.filter(|a| of.pooled(*a));
            match kept.or_else(|| first_free(of, free)) {
                Some(address) => Ok(Some(address)),
                None if of.ranges.is_empty() => {
                    refused(format!("the network {name} has no range of addresses. Add one, or give a static address."))
                }
                None => refused(format!("the network {name} has no free address left. Give it another range.")),
            }
        }
        IpMode::Manual => {
            let Some(asked) = spec.address else { return refused("a static address is needed.".into()) };
            if let Err(why) = of.subnet().usable(asked) {
                return refused(why);
            }
            match used.get(&asked) {
                Some((who, vm)) if *who != nic => refused(format!("{asked} is used by {vm}. Choose another one.")),
                _ => Ok(Some(asked)),
            }
        }
        IpMode::Dhcp | IpMode::None => Ok(None),
    }
}

fn first_free(of: &NetworkSpec, free: impl Fn(&Ipv4Addr) -> bool) -> Option<Ipv4Addr> {
    let all = of.ranges.iter().flat_map(|r| u32::from(r.start)..=u32::from(r.end)).map(Ipv4Addr::from);
    all.filter(|a| *a != of.gateway).find(free)
}

fn free_name(wished: &str, taken: &[String]) -> String {
    if !wished.is_empty() && !taken.iter().any(|t| t == wished) {
        return wished.to_owned();
    }
    (0..).map(|i| format!("nic-{i}")).find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Of those that nobody makes cards with.
fn any_mac() -> String {
    let random = Uuid::now_v7();
    let rest: Vec<String> = random.as_bytes()[11..].iter().map(|b| format!("{b:02x}")).collect();
    format!("02:{}", rest.join(":"))
}
