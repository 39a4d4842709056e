//! A VM that comes from another VDC: the one it was copied from goes when all of this one is there.
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
};
use model::{Result, VmId};
use std::time::Duration;
use store::{Claim, Moving};

const SOON: Duration = Duration::from_secs(2);

pub(super) async fn go_on(shared: &Shared, claim: &Claim, id: VmId) -> Result<Outcome> {
    let Some((from, moving)) = shared.store.vm_move(id).await? else { return Ok(Outcome::Done) };
    match moving {
        Moving::There => {}
        Moving::Lost(name) => {
            let why = format!(
                "The VM {name}, which is moved, is missing on its hub, and its disks with it. Delete both of them."
            );
            return Ok(Outcome::Failed(why.into()));
        }
        Moving::UnderWay | Moving::Stuck(..) => return Ok(Outcome::Wait(SOON, "Its disks are being copied.".into())),
    }
    match at(Step::VmMoveEnd, shared.store.vm_move_end(claim, from)).await? {
        true => Ok(Outcome::Wait(SOON, "The one it was copied from is being deleted.".into())),
        false => Ok(Outcome::Retry(None, "another worker took it over".into())),
    }
}
