//! Records of vApps, VMs, disks and which disk is in which VM.
use super::page::{About, Page, Rows};
use crate::{
    api::vm::spec::or_default,
    ask::Ask,
    wire::{
        href::{Base, template_vm_id, urn},
        media, rasd, status,
        times::stamp,
        units::{HARDWARE_VERSION, mhz},
    },
};
use domain::{disk, vapp, vm};
use model::{
    Kind, Result, VappId,
    query::Numbered,
    template::{Inside, Machine},
    vapp::{Vapp, VappState},
    vm::Power,
    vm_line::VmLine,
};
use std::{collections::HashMap, fmt::Display};

pub(super) async fn vapps(ask: &Ask, q: &Numbered, admin: bool) -> Result<Page> {
    let found = vapp::query(ask.d(), &ask.actor, ask.context, q).await?;
    let storage: HashMap<VappId, i64> = vapp::storage(ask.d(), &found.items).await?.into_iter().collect();
    let base = ask.base().clone();
    let ids: Vec<_> = found.items.iter().map(|v| (Kind::Vapp, v.id.0)).collect();
    Ok(Page::new(found.total, ids, move |rows| {
        for one in &found.items {
            vapp_record(rows, &base, one, storage.get(&one.id).copied().unwrap_or_default(), admin);
        }
    }))
}

fn vapp_record(rows: &mut Rows<'_>, base: &Base, v: &Vapp, storage_mb: i64, admin: bool) {
    let busy = matches!(v.state(), VappState::Waiting | VappState::Changing | VappState::Deleting);
    let (href, vdc, owner) = (base.vapp(v.id), base.vdc(v.vdc), v.owner.map(|id| base.user(id)).unwrap_or_default());
    let (deployed, expired, created) = (status::vapp_deployed(v), v.lease.expired(), stamp(v.created_at));
    let (org, state) = (base.org(v.org), status::vapp(v).1);
    let mut all: Vec<(&str, &dyn Display)> = vec![
        ("status", &state),
        ("isDeployed", &deployed),
        ("isEnabled", &v.vdc_enabled),
        ("isBusy", &busy),
        ("isExpired", &expired),
        ("isInMaintenanceMode", &false),
        ("isVdcEnabled", &v.vdc_enabled),
        ("isAutoNature", &v.auto),
        ("numberOfVMs", &v.vms.all),
        ("numberOfCpus", &v.cpus),
    ];
    let (cpu, kb) = (mhz(v.cpus), storage_mb * 1024);
    all.extend::<[(&str, &dyn Display); 9]>([
        ("cpuAllocationMhz", &cpu),
        ("memoryAllocationMB", &v.memory_mb),
        ("storageKB", &kb),
        ("ownerName", &v.owner_name),
        ("owner", &owner),
        ("vdcName", &v.vdc_name),
        ("vdc", &vdc),
        ("creationDate", &created),
        ("description", &v.description),
    ]);
    if admin {
        all.push(("org", &org));
        all.push(("orgName", &v.org_name));
    }
    rows.add(&About { href: &href, urn: &v.id.urn(), name: &v.name, kind: media::VAPP }, &all);
}

pub(super) async fn vms(ask: &Ask, q: &Numbered, admin: bool) -> Result<Page> {
    let found = vm::query_all(ask.d(), &ask.actor, ask.context, q).await?;
    let base = ask.base().clone();
    let id = |one: &Machine| match one {
        Machine::Vm(vm) => Some((Kind::Vm, vm.id.0)),
        Machine::Inside(_) => None,
    };
    let ids: Vec<_> = found.items.iter().filter_map(id).collect();
    Ok(Page::new(found.total, ids, move |rows| {
        for one in &found.items {
            match one {
                Machine::Vm(vm) => vm_record(rows, &base, vm, admin),
                Machine::Inside(inside) => inside_record(rows, &base, inside, admin),
            }
        }
    }))
}

fn vm_record(rows: &mut Rows<'_>, base: &Base, v: &VmLine, admin: bool) {
    let sizing = v.sizing.as_ref().map(|(id, _)| urn("vdcComputePolicy", id)).unwrap_or_default();
    let seen = status::line(v);
    // what is told to a guest is told at its first start
    let customized = if seen.1 == "POWERED_ON" { "GC_COMPLETE" } else { "GC_PENDING" };
    rows_vm(
        rows,
        base,
        &Shown {
            href: base.vm(v.id),
            urn: v.id.urn(),
            name: &v.name,
            status: seen.1,
            container: base.vapp(v.vapp),
            container_name: &v.vapp_name,
            vdc: base.vdc(v.vdc),
            vdc_name: &v.vdc_name,
            org: v.org,
            org_name: &v.org_name,
            owner: v.owner.map(|id| base.user(id)).unwrap_or_default(),
            owner_name: &v.owner_name,
            deployed: v.power != Power::Off,
            alone: v.alone,
            inside: false,
            os: &v.os,
            cpus: v.cpus,
            memory_mb: v.memory_mb,
            storage_mb: v.storage_mb,
            network: v.network.map(|id| base.network(id)).unwrap_or_default(),
            network_name: &v.network_name,
            ip: &v.ip,
            policy: &v.policy,
            sizing,
            customized,
            catalog: "",
            hardware: or_default(&v.hardware_version),
            host: &v.node,
            hub_name: &v.hub_name,
            created: stamp(v.created_at),
            description: &v.description,
        },
        admin,
    );
}

fn inside_record(rows: &mut Rows<'_>, base: &Base, one: &Inside, admin: bool) {
    let (t, Some(v)) = (&one.template, one.template.vms.get(one.index)) else { return };
    let id = template_vm_id(t.id, one.index);
    rows_vm(
        rows,
        base,
        &Shown {
            href: base.template_vm(id),
            urn: urn("vm", id),
            name: &v.name,
            status: status::template(t).1,
            container: base.template(t.id),
            container_name: &t.name,
            // templates are in catalogs, and in no VDC
            vdc: String::new(),
            vdc_name: "",
            org: t.org,
            org_name: &t.org_name,
            owner: t.catalog_owner.map(|id| base.user(id)).unwrap_or_default(),
            owner_name: &t.catalog_owner_name,
            deployed: false,
            alone: false,
            inside: true,
            os: &v.os,
            cpus: v.cpus,
            memory_mb: v.memory_mb,
            storage_mb: v.disks.iter().map(|d| d.size_mb).sum(),
            network: String::new(),
            network_name: "",
            ip: "",
            policy: v.disks.first().map_or("", |d| d.policy.as_str()),
            sizing: String::new(),
            customized: "GC_PENDING",
            catalog: &t.catalog_name,
            hardware: HARDWARE_VERSION,
            host: "",
            hub_name: "",
            created: stamp(t.created_at),
            description: "",
        },
        admin,
    );
}

/// What the records of VMs and of machines inside templates have alike.
struct Shown<'a> {
    href: String,
    urn: String,
    name: &'a str,
    status: &'static str,
    container: String,
    container_name: &'a str,
    vdc: String,
    vdc_name: &'a str,
    org: model::OrgId,
    org_name: &'a str,
    owner: String,
    owner_name: &'a str,
    deployed: bool,
    alone: bool,
    inside: bool,
    os: &'a str,
    cpus: i32,
    memory_mb: i64,
    storage_mb: i64,
    network: String,
    network_name: &'a str,
    ip: &'a str,
    policy: &'a str,
    sizing: String,
    customized: &'static str,
    catalog: &'a str,
    hardware: &'a str,
    host: &'a str,
    hub_name: &'a str,
    created: String,
    description: &'a str,
}

fn rows_vm(rows: &mut Rows<'_>, base: &Base, m: &Shown<'_>, admin: bool) {
    let hardware = m.hardware.trim_start_matches("vmx-");
    // one inside a template is on no hub, and clients need both names
    let (there, name_there) = match m.hub_name {
        "" => (m.urn.rsplit(':').next().unwrap_or_default(), m.name),
        name => (name, name),
    };
    let (org, moref) = (base.org(m.org), format!("vm-{there}"));
    let mut all: Vec<(&str, &dyn Display)> = vec![
        ("containerName", &m.container_name),
        ("container", &m.container),
        ("status", &m.status),
        ("isVAppTemplate", &m.inside),
        ("isDeployed", &m.deployed),
        ("isDeleted", &false),
        ("isBusy", &false),
        ("isInMaintenanceMode", &false),
        ("isAutoNature", &m.alone),
        ("memoryMB", &m.memory_mb),
        ("numberOfCpus", &m.cpus),
        ("totalStorageAllocatedMb", &m.storage_mb),
        ("ipAddress", &m.ip),
        ("guestOs", &m.os),
        ("hardwareVersion", &hardware),
        ("networkName", &m.network_name),
        ("network", &m.network),
        ("storageProfileName", &m.policy),
        ("vmSizingPolicyId", &m.sizing),
        ("gcStatus", &m.customized),
        ("catalogName", &m.catalog),
        ("vdc", &m.vdc),
        ("vdcName", &m.vdc_name),
        ("owner", &m.owner),
        ("ownerName", &m.owner_name),
        ("dateCreated", &m.created),
        ("description", &m.description),
    ];
    if admin {
        all.extend::<[(&str, &dyn Display); 5]>([
            ("org", &org),
            ("orgName", &m.org_name),
            ("hostName", &m.host),
            ("moref", &moref),
            ("vmNameInVc", &name_there),
        ]);
    }
    rows.add(&About { href: &m.href, urn: &m.urn, name: m.name, kind: media::VM }, &all);
}

pub(super) async fn disks(ask: &Ask, q: &Numbered, admin: bool) -> Result<Page> {
    let found = disk::query(ask.d(), &ask.actor, ask.context, q).await?;
    let base = ask.base().clone();
    let ids: Vec<_> = found.items.iter().map(|v| (Kind::Disk, v.id.0)).collect();
    Ok(Page::new(found.total, ids, move |rows| {
        for one in &found.items {
            let (href, vdc, org) = (base.disk(one.id), base.vdc(one.vdc), base.org(one.org));
            let (bus, state) = (rasd::words(one.bus), status::disk(one).1);
            let owner = one.owner.map(|id| base.user(id)).unwrap_or_default();
            let (attached, busy) = (one.vm.is_some(), one.deleted || one.leaving.is_some());
            let (vms, bytes) = (i32::from(attached), one.size_mb * 1024 * 1024);
            let mut all: Vec<(&str, &dyn Display)> = vec![
                ("vdc", &vdc),
                ("vdcName", &one.vdc_name),
                ("sizeMb", &one.size_mb),
                ("sizeB", &bytes),
                ("iops", &0),
                ("encrypted", &false),
                ("uuid", &one.id),
                ("status", &state),
                ("busType", &bus.kind),
                ("busSubType", &bus.sub),
                ("busTypeDesc", &bus.sub),
                ("ownerName", &one.owner_name),
                ("owner", &owner),
                ("storageProfileName", &one.policy),
                ("isAttached", &attached),
                ("attachedVmCount", &vms),
                ("isShareable", &false),
                ("sharingType", &"None"),
                ("isBusy", &busy),
                ("description", &one.description),
            ];
            if admin {
                all.push(("org", &org));
                all.push(("orgName", &one.org_name));
            }
            rows.add(&About { href: &href, urn: &one.id.urn(), name: &one.name, kind: media::DISK }, &all);
        }
    }))
}

/// Which independent disk is in which VM.
pub(super) async fn relations(ask: &Ask, q: &Numbered) -> Result<Page> {
    let found = disk::query(ask.d(), &ask.actor, ask.context, &q.clone().and("isAttached", "true")).await?;
    let base = ask.base().clone();
    Ok(Page::new(found.total, [], move |rows| {
        for one in &found.items {
            let (href, vdc) = (base.disk(one.id), base.vdc(one.vdc));
            let vm = one.vm.as_ref().map(|(id, _)| base.vm(*id)).unwrap_or_default();
            let vm_name = one.vm.as_ref().map_or("", |(_, name)| name);
            rows.add(
                &About { href: &href, urn: &one.id.urn(), name: &one.name, kind: media::DISK },
                &[("disk", &href), ("vm", &vm), ("vmName", &vm_name), ("vdc", &vdc)],
            );
        }
    }))
}
