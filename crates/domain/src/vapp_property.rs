//! The product sections of a vApp: properties that clients set on it and read back. Guests are told those of their own VM.
use crate::Domain;
use model::{
    Action, Actor, Error, Problems, Result, TaskId, VappId,
    decide::authorize,
    guest::{GuestSettings, Property},
};
use store::Record;

/// What the seal is bound to.
fn of(vapp: VappId) -> String {
    format!("vapp/{vapp}")
}

async fn opened(d: &Domain, vapp: VappId, sealed: Option<Vec<u8>>) -> Result<Vec<Property>> {
    let Some(sealed) = sealed else { return Ok(Vec::new()) };
    let plain = d.vault()?.open(&of(vapp), &sealed).await?;
    serde_json::from_slice(&plain).map_err(|e| Error::Internal(format!("properties of a vApp can't be read: {e}")))
}

/// As far as the one who asks may know them.
pub async fn get(d: &Domain, actor: &Actor, id: VappId) -> Result<Vec<Property>> {
    let vapp = d.store.vapp(actor, Action::VappView, id).await?;
    let properties = opened(d, id, d.store.vapp_properties(&vapp).await?).await?;
    let all = GuestSettings { properties, ..GuestSettings::default() };
    let known = match authorize(actor, Action::VmPassword, vapp.resource(actor)) {
        Ok(()) => all,
        Err(_) => all.without_passwords(),
    };
    Ok(known.properties)
}

/// All of them, as they are to be. A password that is left empty stays.
pub async fn set(d: &Domain, actor: &Actor, id: VappId, mut wished: Vec<Property>) -> Result<Option<TaskId>> {
    let action = Action::VappEdit;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, id).await?;
        model::can::or_not_now(model::can::vapp(&vapp, action))?;
        let before = opened(d, id, d.store.vapp_properties(&vapp).await?).await?;
        for p in wished.iter_mut().filter(|p| p.password && p.value.is_empty()) {
            if let Some(was) = before.iter().find(|was| was.key == p.key) {
                p.value.clone_from(&was.value);
            }
        }
        let mut problems = Problems::default();
        let settings = GuestSettings { properties: wished, ..GuestSettings::default() };
        settings.check(&mut problems);
        problems.done()?;
        let plain = serde_json::to_vec(&settings.properties).map_err(|e| Error::Internal(e.to_string()))?;
        tx.vapp_set_properties(&vapp, &d.vault()?.seal(&of(id), &plain).await?).await?;
        let was = GuestSettings { properties: before, ..GuestSettings::default() };
        let record = Record::new(action, vapp.org, id, &vapp.name).of(vapp.owner);
        tx.commit(record.before(&("", &was)).after(&("", &settings)).with_task()).await
    })
    .await
}
