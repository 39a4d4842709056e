//! Items of catalogs that people made: captured from vApps, their versions, and their end.
use crate::{Domain, guest};
use hub::shape::names::disk_name;
use model::{
    Action, Actor, CatalogId, Error, Kind, OrgId, Result, TemplateId, VappId, can,
    template::{ItemKind, TemplateNic, TemplateVm, Version},
    upload::{Upload, UploadSpec},
    vapp::Vapp,
    vm::{Disk, Vm},
};
use store::{Authorized, Captured, Record, Write};
use uuid::Uuid;

/// What an item was and is, the newest first.
pub async fn versions(d: &Domain, actor: &Actor, id: TemplateId) -> Result<Vec<Version>> {
    let item = d.store.template(actor, Action::TemplateView, id).await?;
    d.store.versions_of(item.id).await
}

/// What is on its way into it.
pub async fn uploads(d: &Domain, actor: &Actor, id: TemplateId) -> Result<Vec<Upload>> {
    let item = d.store.template(actor, Action::TemplateUpload, id).await?;
    d.store.uploads_of(item.id).await
}

/// Its name and description.
pub async fn edit(d: &Domain, actor: &Actor, id: TemplateId, name: &str, description: &str) -> Result<()> {
    let action = Action::TemplateEdit;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let item = tx.template(action, id).await?;
        can::or_not_now(can::template(&item, action))?;
        let spec = |name: &str, description: &str| UploadSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            kind: item.kind,
            ..UploadSpec::default()
        };
        let (before, after) = (spec(&item.name, &item.description), spec(name, description).check()?);
        tx.item_update(&item, &after.name, &after.description).await?;
        let record = Record::new(action, item.org, id, &after.name).before(&before).after(&after);
        tx.commit(record.with_task()).await?;
        Ok(())
    })
    .await
}

/// With all versions. VMs made from it stay; copies on hubs go when nothing is being made from them.
pub async fn delete(d: &Domain, actor: &Actor, id: TemplateId) -> Result<()> {
    let action = Action::TemplateDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let record = delete_in(&mut tx, id, None).await?;
        tx.commit(record).await?;
        Ok(())
    })
    .await
}

/// `with`: the catalog that it is deleted with, so that a refusal has to say which item of it is meant.
pub(crate) async fn delete_in(tx: &mut Write<'_>, id: TemplateId, with: Option<CatalogId>) -> Result<Record> {
    let action = Action::TemplateDelete;
    let item = tx.template(action, id).await?;
    if with.is_some_and(|catalog| item.catalog != catalog) {
        return Err(Error::NotFound(Kind::Template));
    }
    let can = can::template(&item, action);
    can::or_not_now(if with.is_some() { can.map_err(|why| format!("{}: {why}", item.name)) } else { can })?;
    tx.item_delete(&item).await?;
    Ok(Record::new(action, item.org, id, &item.name).with_task())
}

/// One version; the item goes on with the newest of the others.
pub async fn delete_version(d: &Domain, actor: &Actor, id: TemplateId, number: i32) -> Result<()> {
    let action = Action::VersionDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let item = tx.template(action, id).await?;
        can::or_not_now(can::template(&item, action))?;
        if let Some(version) = tx.versions_of(id).await?.iter().find(|v| v.number == number) {
            can::or_not_now(can::version(version, action))?;
        }
        tx.version_delete(&item, number).await?;
        tx.commit(Record::new(action, item.org, id, &item.name).with_task()).await?;
        Ok(())
    })
    .await
}

/// A vApp as a template: copies of its disks, made on its hub, which is the only one that can deploy it.
pub async fn capture(
    d: &Domain,
    actor: &Actor,
    vapp: VappId,
    catalog: CatalogId,
    spec: UploadSpec,
) -> Result<TemplateId> {
    capture_as(d, actor, vapp, catalog, spec, true).await
}

/// The same; `customize`: guests of VMs made from it are to be told what they are.
pub async fn capture_as(
    d: &Domain,
    actor: &Actor,
    vapp: VappId,
    catalog: CatalogId,
    spec: UploadSpec,
    customize: bool,
) -> Result<TemplateId> {
    let action = Action::VappCapture;
    d.attempt(actor, action, async {
        let spec = spec.check()?;
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, vapp).await?;
        let catalog = tx.catalog(Action::CatalogAdd, catalog).await?;
        if catalog.from_hubs {
            return Err(Error::field("catalog", "It is filled by what hubs have. Choose another one."));
        }
        let id = TemplateId(Uuid::now_v7());
        tx.item_insert(id, catalog.id, catalog.org, &spec).await?;
        if !customize {
            tx.item_customize(id, false).await?;
        }
        take(d, tx, &vapp, (id, catalog.org), &spec).await?;
        Ok(id)
    })
    .await
}

/// The same as the next version of a template, which stays as it is until the copies are made.
pub async fn capture_version(
    d: &Domain,
    actor: &Actor,
    vapp: VappId,
    item: TemplateId,
    customize: Option<bool>,
) -> Result<()> {
    let action = Action::VappCapture;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, vapp).await?;
        let catalog = d.store.template(actor, Action::TemplateView, item).await?.catalog;
        tx.catalog(Action::CatalogAdd, catalog).await?;
        let item = tx.template(Action::TemplateUpload, item).await?;
        can::or_not_now(can::template(&item, Action::TemplateUpload))?;
        if item.kind == ItemKind::Media {
            return Err(Error::field("template", format!("{} is a disc, and a vApp can't become one.", item.name)));
        }
        if tx.upload_under_way(item.id).await? {
            return Err(Error::NotNow("Not now: another version is being uploaded. Wait for it, or cancel it.".into()));
        }
        let spec =
            UploadSpec { name: item.name.clone(), description: item.description.clone(), ..UploadSpec::default() };
        if let Some(customize) = customize {
            tx.item_customize(item.id, customize).await?;
        }
        take(d, tx, &vapp, (item.id, item.org), &spec).await
    })
    .await
}

/// Copies of the vApp's disks become a version of the item.
async fn take(
    d: &Domain,
    mut tx: Write<'_>,
    vapp: &Authorized<Vapp>,
    (id, org): (TemplateId, OrgId),
    spec: &UploadSpec,
) -> Result<()> {
    let action = Action::VappCapture;
    let vms = tx.vms_of(vapp).await?;
    can::or_not_now(can::vapp(vapp, action))?;
    let Some(hub) = vapp.hub.clone() else { return Err(Error::NotNow("Not now: it is on no hub yet.".into())) };
    let mut disks = Vec::new();
    let mut machines = Vec::new();
    for v in vms.iter().filter(|v| !v.deleted) {
        let properties = guest::asked_for(d, &mut tx, v.id).await?;
        machines.push(TemplateVm { properties, ..machine(v, &mut disks) });
    }
    tx.item_capture(id, org, &hub, &machines, &disks).await?;
    let mut record = Record::new(action, org, id, &spec.name).after(spec);
    record.kind = Kind::Template;
    let task = tx.commit(record.with_open_task()).await?;
    match task {
        // nothing is to be copied
        _ if disks.is_empty() => d.store.capture_whole(id).await,
        Some(task) => d.store.task_may_last(task, d.now() + time::Duration::days(1)).await,
        None => Ok(()),
    }
}

/// The machine as a template has it; each of its disks becomes an image.
fn machine(vm: &Vm, captured: &mut Vec<Captured>) -> TemplateVm {
    // independent disks and discs are not the machine's own
    let disks = vm.disks.iter().filter(|d| d.own()).map(|d| {
        let id = Uuid::now_v7();
        let volume = if d.volume.is_empty() { disk_name(&vm.hub_name, &d.name) } else { d.volume.clone() };
        let from = (vm.namespace.clone(), volume);
        captured.push(Captured { id, name: format!("{} of {}", d.name, vm.name), size_mb: d.size_mb, vm: vm.id, from });
        Disk { name: d.name.clone(), size_mb: d.size_mb, bus: d.bus, image: format!("image/{id}"), ..Disk::default() }
    });
    TemplateVm {
        name: vm.name.clone(),
        cpus: vm.cpus,
        memory_mb: vm.memory_mb,
        // a policy's size is its own by then
        instance_type: if vm.sizing.is_some() { String::new() } else { vm.instance_type.clone() },
        preference: vm.preference.clone(),
        hardware: vm.built(),
        start_order: vm.start_order,
        start_delay_s: vm.start_delay_s,
        disks: disks.collect(),
        // as many cards, with addresses and networks of their own
        nics: vm.nics.iter().map(|n| TemplateNic { name: n.spec.name.clone(), adapter: n.spec.adapter }).collect(),
        os: if vm.os.is_empty() { vm.guest_os.clone() } else { vm.os.clone() },
        ..TemplateVm::default()
    }
}
