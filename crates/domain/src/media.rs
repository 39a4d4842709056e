//! Media in machines: a disc of a catalog is inserted and ejected. Nothing here calls a hub.
use crate::{
    Domain,
    disk::{changed, hold_vm, room, storage},
    quota,
};
use model::{
    Action, Actor, DiskId, Error, OrgId, Result, TaskId, TemplateId, VmId, can, decide::list_scope, disk::DiskSpec,
    media::Disc, template::Template, vm::Vm,
};
use store::{NewDisk, Record};
use uuid::Uuid;

/// What can be put into a machine: discs that whoever asks may see, and the machine's organization too.
pub async fn choices(d: &Domain, actor: &Actor, vm: &Vm) -> Result<Vec<Template>> {
    d.store.discs(list_scope(actor, Action::CatalogList, Some(vm.org))?).await
}

/// The machines that have it in them, as far as whoever asks may see them.
pub async fn inserted_into(d: &Domain, actor: &Actor, org: Option<OrgId>, disc: TemplateId) -> Result<Vec<Vm>> {
    d.store.vms_with_disc(list_scope(actor, Action::VappList, org)?, disc).await
}

/// Into a CD drive of the machine: at its next start, if it runs.
///
/// The machine gets a copy of its own, counted as its other disks are: a claim can't be used from another namespace, and one
/// that all machines of a VDC share would have to be on a class that several nodes can read.
pub async fn insert(d: &Domain, actor: &Actor, vm: VmId, disc: TemplateId) -> Result<Option<TaskId>> {
    let action = Action::VmMediaInsert;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = hold_vm(&mut tx, action, vm).await?;
        let disc = tx.template(Action::TemplateView, disc).await?;
        can::or_not_now(can::template(&disc, action))?;
        // the provider sees every disc, and the VM's organization may not
        if !d.store.template_seen_by(disc.id, vm.org).await? {
            let (org, name, catalog) = (&vm.org_name, &disc.name, &disc.catalog_name);
            let why =
                format!("{org} does not see {name}. Share the catalog {catalog} to {org}, or choose another disc.");
            return Err(Error::field("media", why));
        }
        if vm.discs().any(|k| k.media == Some(disc.id) && !k.leaving) {
            return Err(Error::NotNow(format!("Not now: {} is in {} already.", disc.name, vm.name)));
        }
        room(&vm)?;
        let Some((image, size_mb)) = tx.disc_image(disc.id).await? else {
            return Err(Error::NotNow(format!(
                "Not now: {} is still empty: what fills it has not ended, or failed. Its tasks say which.",
                disc.name
            )));
        };
        let (names, last) = tx.disk_names_in(vm.id).await?;
        let free = |n: &usize| !names.iter().any(|name| *name == format!("cd-{n}"));
        let name = format!("cd-{}", (1..).find(free).unwrap_or_default());
        let spec = DiskSpec { name, size_mb, ..DiskSpec::default() };
        quota::reserve(&mut tx, vm.vdc, vm.owner, &storage(size_mb)).await?;
        let policy = tx.storage_take_named(vm.vdc, &[("", size_mb)]).await?;
        let policy = *policy.first().ok_or_else(|| Error::Internal("no policy was taken".into()))?;
        tx.disk_insert(&NewDisk {
            id: DiskId(Uuid::now_v7()),
            org: vm.org,
            vdc: vm.vdc,
            owner: vm.owner,
            vm: Some(vm.id),
            with_vm: false,
            spec: &spec,
            position: last + 1,
            image: &format!("image/{image}"),
            media: Some(disc.id),
            policy,
            hub_name: "",
        })
        .await?;
        changed(&mut tx, &vm).await?;
        let record = Record::new(action, vm.org, vm.id, &vm.name).of(vm.owner).after(&Disc(disc.name.clone()));
        tx.commit(record.with_open_task()).await
    })
    .await
}

/// Out of the machine. A guest that runs keeps it until it stops. Whoever may change the machine may: the disc itself need not
/// be theirs to see any more.
pub async fn eject(d: &Domain, actor: &Actor, vm: VmId, disc: TemplateId) -> Result<Option<TaskId>> {
    let action = Action::VmMediaEject;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = hold_vm(&mut tx, action, vm).await?;
        let there = vm.discs().find(|k| k.media == Some(disc) && !k.leaving);
        let Some((id, name)) = there.and_then(|k| Some((k.id?, k.media_name.clone()))) else {
            return Err(Error::NotNow(format!("Not now: this disc is not in {}.", vm.name)));
        };
        tx.vm_disk_remove(id).await?;
        changed(&mut tx, &vm).await?;
        let record = Record::new(action, vm.org, vm.id, &vm.name).of(vm.owner);
        tx.commit(record.before(&Disc(name)).with_open_task()).await
    })
    .await
}
