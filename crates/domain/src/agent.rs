//! What is known of the guest inside a machine.
use crate::Domain;
use model::{Action, Actor, Result, VmId, agent::Guest};
use std::time::Duration;

/// What a guest told is asked for anew after that, by whoever looks.
const FRESH: Duration = Duration::from_secs(60);

/// As last known. Nobody waits for the guest: a worker asks it, and open pages show the answer when it comes. A guest that
/// nobody looks at is asked when its agent comes, and not again.
pub async fn get(d: &Domain, actor: &Actor, vm: VmId) -> Result<Guest> {
    let vm = d.store.vm(actor, Action::VmView, vm).await?;
    d.store.guest_wanted(&vm, FRESH).await?;
    d.store.guest(&vm).await
}
