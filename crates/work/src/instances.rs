//! Follows the TemplateInstances of a hub: when OpenShift is done with one, or fails, what waits for it goes on at once.
use crate::{Shared, reconcile};
use hub::{
    Client,
    read::{self, ObservedTemplateInstance},
    resource::TEMPLATE_INSTANCES,
    shape::names::ours,
    watch::{Event, Follow},
};
use model::{HubId, Result, VappId};
use std::sync::Arc;

pub(crate) async fn run(shared: Arc<Shared>, hub: HubId, client: Client) {
    let mut instances = client.watch(Follow::new(TEMPLATE_INSTANCES, ours()), read::template_instance);
    loop {
        let changed = match instances.next().await {
            Event::Snapshot(all) => all,
            Event::Changed(one) => vec![one],
            // whoever waits for its end asks for a proof of its own; a hub without OpenShift simply has none
            Event::Gone { .. } | Event::Alive(_) | Event::Trouble(_) => continue,
        };
        for one in changed {
            if let Err(e) = on_change(&shared, &hub, &one).await {
                tracing::debug!(hub_id = %hub, object = %one.meta.key, error = %e, "an instance's state could not be told");
            }
        }
    }
}

async fn on_change(shared: &Shared, hub: &HubId, one: &ObservedTemplateInstance) -> Result<()> {
    let Some(vapp) = one.meta.ids.vapp.map(VappId) else { return Ok(()) };
    if one.meta.deleting.is_none() && shared.store.vapp_tombstone(vapp).await? {
        return reconcile::instance::collect(shared, hub, &one.meta.key, vapp, &one.meta.uid).await;
    }
    if one.ready || one.failed.is_some() {
        shared.store.wake_instance(vapp).await?;
    }
    Ok(())
}
