//! A thing as named fields in words: for the audit's before and after, and for showing both sides of a conflict.
use crate::{
    Conflict, ConflictField, HubId, Kind, OrgId,
    audit::FieldChange,
    catalog::CatalogSpec,
    hub::HubSpec,
    lease::{LeaseSpec, Leases, words},
    network::NetworkSpec,
    nic::{Attach, NicSpec},
    org::OrgSpec,
    quota::{Limits, Measure},
    role::RoleForm,
    user::{NewUser, UserSpec},
    vapp::VappSpec,
    vdc::VdcSpec,
    vm::VmSpec,
};
use std::collections::BTreeMap;
use time::OffsetDateTime;

/// Stands between the rights of a role: their names have commas.
pub const RIGHTS_APART: &str = "; ";

pub trait Fields {
    fn fields(&self) -> Vec<(&'static str, String)>;
}

fn limit_fields(limits: &Limits) -> impl Iterator<Item = (&'static str, String)> {
    Measure::ALL.map(|m| (m.field(), limits.get(m).map_or("no limit".into(), |v| m.words(v)))).into_iter()
}

fn length(s: Option<i64>) -> String {
    s.map_or_else(|| "no end".to_owned(), words)
}

fn lease_fields(l: &Leases) -> [(&'static str, String); 7] {
    [
        ("runtime_lease", length(l.runtime_s)),
        ("runtime_end", l.runtime_end.label().to_owned()),
        ("storage_lease", length(l.storage_s)),
        ("storage_end", l.storage_end.label().to_owned()),
        ("template_lease", length(l.template_s)),
        ("template_end", l.template_end.label().to_owned()),
        ("lease_warning", l.warning_s.map_or_else(|| "none".to_owned(), words)),
    ]
}

impl Fields for LeaseSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("runtime_lease", length(self.runtime_s)), ("storage_lease", length(self.storage_s))]
    }
}

fn hub_words(hubs: &[HubId], none: &str) -> String {
    let hubs: Vec<&str> = hubs.iter().map(|h| h.0.as_str()).collect();
    if hubs.is_empty() { none.to_owned() } else { hubs.join(", ") }
}

impl Fields for OrgSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut out = vec![
            ("name", self.name.clone()),
            ("display_name", self.display_name.clone()),
            ("description", self.description.clone()),
            ("vdc_limit", self.vdc_limit.map_or("no limit".into(), |v| v.to_string())),
        ];
        out.extend(limit_fields(&self.limits));
        out.extend(lease_fields(&self.leases));
        out.extend([("prefer", hub_words(&self.prefer, "none")), ("avoid", hub_words(&self.avoid, "none"))]);
        out
    }
}

impl Fields for VdcSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut out = vec![
            ("name", self.name.clone()),
            ("description", self.description.clone()),
            ("allocation_model", self.allocation_model.label().to_owned()),
        ];
        out.extend(limit_fields(&self.limits));
        out.push(("hubs", hub_words(&self.hubs, "all")));
        out.extend([("region", self.region.clone()), ("zone", self.zone.clone())]);
        out
    }
}

/// Without its kubeconfig, which is never shown.
impl Fields for HubSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let capabilities: Vec<&str> = self.capabilities.iter().map(|c| c.key()).collect();
        let mut out = vec![
            ("id", self.id.clone()),
            ("description", self.description.clone()),
            ("hub_type", self.hub_type.key().to_owned()),
            ("capabilities", capabilities.join(", ")),
            ("namespace", self.namespace.clone()),
            ("region", self.region.clone()),
            ("zone", self.zone.clone()),
            ("is_default", if self.is_default { "yes" } else { "no" }.to_owned()),
        ];
        // of VMs there are none in its namespace
        out.extend(limit_fields(&self.quota).filter(|(field, _)| *field != Measure::Vms.field()));
        out
    }
}

/// A catalog with the names of the organizations it is shared to, which mean more to a reader than their ids.
impl Fields for (&CatalogSpec, &[(OrgId, String)]) {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let (catalog, orgs) = self;
        let name = |id: &OrgId| orgs.iter().find(|(org, _)| org == id).map_or_else(|| id.to_string(), |o| o.1.clone());
        let mut names: Vec<String> = catalog.shared_to.iter().map(name).collect();
        names.sort();
        let shared = match (catalog.shared_to_all, names.is_empty()) {
            (true, _) => "all organizations".to_owned(),
            (false, true) => "nobody".to_owned(),
            (false, false) => names.join(", "),
        };
        vec![("name", catalog.name.clone()), ("description", catalog.description.clone()), ("shared_to", shared)]
    }
}

impl Fields for VappSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let vms: Vec<&str> = self.vms.iter().map(|v| v.name.as_str()).collect();
        vec![("name", self.name.clone()), ("description", self.description.clone()), ("vms", vms.join(", "))]
    }
}

impl Fields for VmSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("name", self.name.clone()),
            ("description", self.description.clone()),
            ("computer_name", self.computer_name.clone()),
            ("cpus", Measure::Cpus.words(self.cpus.into())),
            ("memory", Measure::Memory.words(self.memory_mb)),
            ("storage", Measure::Storage.words(self.storage_mb())),
            ("power", self.power.key().to_owned()),
        ]
    }
}

impl Fields for NetworkSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let yes = |on: bool| if on { "yes" } else { "no" }.to_owned();
        let joined = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>().join(", ");
        vec![
            ("name", self.name.clone()),
            ("description", self.description.clone()),
            ("gateway", self.gateway.to_string()),
            ("prefix", self.prefix.to_string()),
            ("dns1", joined(&mut self.dns.iter().map(ToString::to_string))),
            ("dns_suffix", self.dns_suffix.clone()),
            ("ranges", joined(&mut self.ranges.iter().map(ToString::to_string))),
            ("dhcp", yes(self.dhcp)),
            ("shared", yes(self.shared)),
        ]
    }
}

/// A machine's NICs, one line for all.
impl Fields for &[NicSpec] {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let words = |n: &NicSpec| {
            let on = match n.attach {
                Attach::Vdc => "the VDC's network".to_owned(),
                Attach::Nothing => "no network".to_owned(),
                Attach::Network(id) => id.to_string(),
            };
            let address = n.address.map(|a| format!(" {a}")).unwrap_or_default();
            let primary = if n.primary { ", primary" } else { "" };
            let cut = if n.connected { "" } else { ", disconnected" };
            format!("{}: {on}, {}{address}{primary}{cut}", n.index, n.mode.label())
        };
        vec![("nics", self.iter().map(words).collect::<Vec<_>>().join("; "))]
    }
}

impl Fields for RoleForm {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("name", self.name.clone()),
            ("description", self.description.clone()),
            ("rights", self.rights.names().join(RIGHTS_APART)),
        ]
    }
}

/// A user with the role's name, which means more to a reader than its id.
impl Fields for (&UserSpec, &str) {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let (user, role) = self;
        let mut out = vec![
            ("name", user.name.clone()),
            ("full_name", user.full_name.clone()),
            ("email", user.email.clone()),
            ("role", (*role).to_owned()),
        ];
        out.extend(limit_fields(&user.limits));
        out
    }
}

/// A new one, with what is said besides where anything is.
impl Fields for (&NewUser, &str) {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let (new, role) = self;
        let mut out = (&new.spec, *role).fields();
        out.extend(new.besides.fields().into_iter().filter(|(_, text)| !text.is_empty()));
        if !new.enabled {
            out.push(("enabled", "no".to_owned()));
        }
        out
    }
}

/// Both sides of two edits, where they differ.
pub fn conflict(
    kind: Kind,
    name: &str,
    changed: (&str, OffsetDateTime, i64),
    theirs: &impl Fields,
    yours: &impl Fields,
) -> Conflict {
    let fields = theirs
        .fields()
        .into_iter()
        .zip(yours.fields())
        .filter(|(t, y)| t.1 != y.1)
        .map(|((field, theirs), (_, yours))| ConflictField { field, theirs, yours })
        .collect();
    let (by, at, version) = changed;
    Conflict { kind, name: name.to_owned(), changed_by: by.to_owned(), changed_at: at, version, fields }
}

/// What differs between an audit row's before and after.
pub fn field_changes(
    before: Option<BTreeMap<String, String>>,
    after: Option<BTreeMap<String, String>>,
) -> Vec<FieldChange> {
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let names: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    names
        .into_iter()
        .filter(|n| before.get(*n) != after.get(*n))
        .map(|n| FieldChange { field: n.clone(), before: before.get(n).cloned(), after: after.get(n).cloned() })
        .collect()
}
