//! Snapshots of virtual machines, and machines brought back to one.
pub(crate) mod restore;
pub(crate) mod take;

use super::{
    api::{Result, is_not_found},
    condition::{self, Say},
    json::{Look, put, remove},
    kind::MACHINE,
    world::World,
};
use serde_json::Value;
use time::OffsetDateTime;

/// In these objects the words stand in the reason.
fn say(status: &mut Value, kind: &str, yes: bool, reason: &str, now: OffsetDateTime) {
    let status_word = if yes { "True" } else { "False" };
    condition::set(status, Say { kind, status: status_word, reason, message: "" }, now);
}

/// Notes on a machine, or takes the note away, that an operation has it. False: another one has it.
async fn lock(world: &World, vm: &Value, field: &str, name: &str, on: bool) -> Result<bool> {
    let at = format!("/{field}");
    let holder = vm.text(&format!("/status{at}"));
    if holder.is_some_and(|h| h != name) {
        return Ok(!on);
    }
    let mut status = vm.get("status").cloned().unwrap_or_else(|| serde_json::json!({}));
    if on {
        put(&mut status, &at, name.into());
    } else {
        remove(&mut status, &at);
    }
    match world.write_status(MACHINE, vm, status).await {
        Ok(_) => Ok(true),
        Err(e) if is_not_found(&e) && !on => Ok(true),
        Err(e) => Err(e),
    }
}
