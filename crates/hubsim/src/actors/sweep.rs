//! Events live for an hour, as on a real server.
use super::{
    json::{Look, parse_stamp},
    kind::EVENT,
    world::World,
};
use kube::api::DeleteParams;
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;

const EVERY: Duration = Duration::from_secs(600);
const LIFE: time::Duration = time::Duration::HOUR;

/// Sweeps now and then until it is dropped.
pub(crate) async fn sweep(world: Arc<World>) {
    loop {
        sleep(EVERY).await;
        if let Err(e) = once(&world).await {
            tracing::debug!(error = %e, "old events could not be swept");
        }
    }
}

async fn once(world: &World) -> Result<(), kube::Error> {
    let old = world.now() - LIFE;
    let mut next = None;
    loop {
        let page = world.api.page(EVENT, next).await?;
        for event in &page.items {
            let ours = event.text("/source/component") == Some(super::COMPONENT);
            if ours && event.text("/lastTimestamp").and_then(parse_stamp).is_some_and(|t| t < old) {
                world.api.delete(EVENT, event, DeleteParams::default()).await?;
            }
        }
        next = page.metadata.next.filter(|n| !n.is_empty());
        if next.is_none() {
            return Ok(());
        }
    }
}
