//! Owners: things given to somebody else, and things that nobody looks after.
use crate::Domain;
use model::{
    Action, Actor, Error, Kind, OrgId, Result, UserId, can,
    decide::list_scope,
    event::Change,
    list::{ListQuery, Page},
    owner::{Heir, Owned, OwnerName, Stranded},
};
use store::{Record, Write};

/// Things whose owner was removed or disabled.
pub async fn stranded(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Stranded>> {
    d.store.stranded(list_scope(actor, Action::StrandedList, org)?, q).await
}

/// Gives it to a user of its organization. The name of who has it now.
pub async fn give(d: &Domain, actor: &Actor, what: Owned, to: UserId) -> Result<String> {
    let action = what.action();
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let (record, heir, before) = pass_on(&mut tx, what, to).await?;
        let org = record.org;
        tx.commit(record.with_task()).await?;
        // who had it hears of it too
        let (kind, id) = (what.kind(), Some(what.id()));
        d.store.tell(Change { org, user: None, owner: before, kind, id, shares: Vec::new() });
        Ok(heir.name)
    })
    .await
}

/// Everything that somebody owns becomes the asker's, all at once.
pub async fn take_over(d: &Domain, actor: &Actor, from: UserId) -> Result<()> {
    let action = Action::UserEdit;
    d.attempt(actor, action, async {
        let user = d.store.user(actor, action, from).await?;
        let Some(me) = actor.user.filter(|me| *me != from) else {
            return Err(Error::NotNow(format!("Not now: what {} has is yours already.", user.name)));
        };
        let mut tx = d.store.write(actor).await?;
        for what in tx.things_of(from).await? {
            let (record, ..) = pass_on(&mut tx, what, me).await?;
            tx.record(record.with_task()).await?;
        }
        tx.commit(Record::new(action, user.org, from, &user.name)).await?;
        Ok(())
    })
    .await
}

/// Within a transaction: what was done, who has it now, and who had it.
pub(crate) async fn pass_on(tx: &mut Write<'_>, what: Owned, to: UserId) -> Result<(Record, Heir, Option<UserId>)> {
    let action = what.action();
    let fits = |heir: &Heir, owner: Option<UserId>| {
        if owner == Some(heir.id) {
            return Err(Error::field("owner", format!("{} has it already.", heir.name)));
        }
        heir.can_own(what).map_err(|why| Error::field("owner", why))
    };
    let (org, name, owner, owner_name, heir) = match what {
        Owned::Vapp(id) => {
            let v = tx.vapp(action, id).await?;
            can::or_not_now(can::vapp(&v, action))?;
            tx.vms_of(&v).await?;
            tx.vapp_disks_hold(&v).await?;
            let heir = tx.heir(v.org, to).await?;
            fits(&heir, v.owner)?;
            for (vm, hub) in tx.vapp_give(&v, &heir).await? {
                tx.enqueue(Kind::Vm, vm, v.org, hub.as_ref()).await?;
            }
            (v.org, v.name.clone(), v.owner, v.owner_name.clone(), heir)
        }
        Owned::Catalog(id) => {
            let c = tx.catalog(action, id).await?;
            let heir = tx.heir(c.org, to).await?;
            fits(&heir, c.owner)?;
            tx.catalog_give(&c, &heir).await?;
            (c.org, c.name.clone(), c.owner, c.owner_name.clone(), heir)
        }
        Owned::Disk(id) => {
            let k = tx.disk(action, id).await?;
            can::or_not_now(can::disk(&k, action))?;
            let heir = tx.heir(k.org, to).await?;
            fits(&heir, k.owner)?;
            tx.disk_give(&k, &heir).await?;
            tx.enqueue(Kind::Disk, k.id, k.org, k.hub.as_ref()).await?;
            (k.org, k.name.clone(), k.owner, k.owner_name.clone(), heir)
        }
    };
    let record = Record::new(action, org, what.id(), &name).of(Some(heir.id));
    let record = record.before(&OwnerName(&owner_name)).after(&OwnerName(&heir.name));
    Ok((record, heir, owner))
}
