//! Asks the agent inside a guest what it knows. Nobody waits for the answer: a guest that gives none is asked again when
//! somebody looks at it.
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
};
use hub::{Key, read};
use model::Result;
use store::Claim;

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(vm) = shared.store.vm_work(claim.id).await?.filter(|vm| !vm.deleted) else { return Ok(Outcome::Done) };
    let (Some(hub), Some(uid)) = (&vm.hub, &vm.uid) else { return Ok(Outcome::Done) };
    let Some(there) = shared.store.place(vm.vdc, hub).await? else { return Ok(Outcome::Done) };
    let client = shared.hubs.client(hub).await?;
    let key = Key::new(&there.namespace, &vm.hub_name);
    match at(Step::GuestAsk, client.guest_info(&key)).await {
        Ok(answer) => at(Step::GuestTold, shared.store.guest_told(vm.id, uid, &read::told(&answer))).await?,
        Err(e) => tracing::debug!(hub_id = %hub, vm_id = %vm.id, error = %e, "a guest did not tell of itself"),
    }
    Ok(Outcome::Done)
}
