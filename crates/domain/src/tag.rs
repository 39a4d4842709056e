//! Security tags: words on VMs, by which they are found together.
use crate::Domain;
use model::{
    Action, Actor, Fields, OrgId, Result, VmId, can,
    decide::list_scope,
    metadata::{TagUse, check_tags},
};
use store::Record;

pub async fn of_vm(d: &Domain, actor: &Actor, vm: VmId) -> Result<Vec<String>> {
    let vm = d.store.vm(actor, Action::VmView, vm).await?;
    d.store.tags_of(&vm).await
}

/// All tags of VMs that the reader sees, each with how many have it.
pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>) -> Result<Vec<TagUse>> {
    d.store.tags(list_scope(actor, Action::VappList, org)?).await
}

/// These and no others.
pub async fn set(d: &Domain, actor: &Actor, vm: VmId, tags: Vec<String>) -> Result<()> {
    change(d, actor, vm, |_| tags).await
}

/// This one besides.
pub async fn add(d: &Domain, actor: &Actor, vm: VmId, tag: &str) -> Result<()> {
    change(d, actor, vm, |mut tags| {
        tags.push(tag.to_owned());
        tags
    })
    .await
}

/// All but this one; a VM that has not got it stays as it is.
pub async fn remove(d: &Domain, actor: &Actor, vm: VmId, tag: &str) -> Result<()> {
    let tag = tag.trim().to_lowercase();
    change(d, actor, vm, |tags| tags.into_iter().filter(|t| *t != tag).collect()).await
}

async fn change(
    d: &Domain,
    actor: &Actor,
    vm: VmId,
    change: impl FnOnce(Vec<String>) -> Vec<String> + Send,
) -> Result<()> {
    let action = Action::VmTags;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = tx.vm(action, vm).await?;
        can::or_not_now(can::vm(&vm, action))?;
        let before = tx.tags_of(vm.id).await?;
        let tags = check_tags(change(before.clone()))?;
        tx.tags_set(vm.id, vm.org, &tags).await?;
        let record = Record::new(action, vm.org, vm.id, &vm.name).of(vm.owner);
        tx.commit(record.before(&Tags(before)).after(&Tags(tags)).with_task()).await?;
        Ok(())
    })
    .await
}

struct Tags(Vec<String>);

impl Fields for Tags {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("tags", self.0.join(", "))]
    }
}
