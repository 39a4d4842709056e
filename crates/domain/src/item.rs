//! Items of catalogs that people uploaded: their versions, and their end.
use crate::Domain;
use model::{Action, Actor, Result, TemplateId, can, template::Version, upload::Upload};
use store::Record;

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

/// With all versions. VMs made from it stay; copies on hubs go when nothing is being made from them.
pub async fn delete(d: &Domain, actor: &Actor, id: TemplateId) -> Result<()> {
    let action = Action::TemplateDelete;
    d.attempt(actor, action, async {
        let item = d.store.template(actor, action, id).await?;
        can::or_not_now(can::template(&item, action))?;
        let mut tx = d.store.write(actor).await?;
        tx.item_delete(&item).await?;
        tx.commit(Record::new(action, item.org, id, &item.name).with_task()).await?;
        Ok(())
    })
    .await
}

/// One version; the item goes on with the newest of the others.
pub async fn delete_version(d: &Domain, actor: &Actor, id: TemplateId, number: i32) -> Result<()> {
    let action = Action::VersionDelete;
    d.attempt(actor, action, async {
        let item = d.store.template(actor, action, id).await?;
        can::or_not_now(can::template(&item, action))?;
        let mut tx = d.store.write(actor).await?;
        tx.version_delete(&item, number).await?;
        tx.commit(Record::new(action, item.org, id, &item.name).with_task()).await?;
        Ok(())
    })
    .await
}
