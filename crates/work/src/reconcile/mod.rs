//! Reconcilers, one a kind: read the intent, look, do the next thing, say what became of it.
mod agent;
pub(crate) mod disk;
mod image;
pub(crate) mod instance;
mod network;
mod secret;
mod sizing;
mod upload;
mod vapp;
mod vdc;
pub(crate) mod vm;

use crate::{
    Shared,
    queue::{Outcome, Why},
};
use hub::{Verdict, shape::names};
use model::{Kind, OrgId, Result, VdcId};
use store::Claim;

pub(crate) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    match claim.kind {
        Kind::Vdc => vdc::reconcile(shared, claim).await,
        Kind::Vapp => vapp::reconcile(shared, claim).await,
        Kind::Vm => vm::reconcile(shared, claim).await,
        Kind::Upload => upload::reconcile(shared, claim).await,
        Kind::Image => image::reconcile(shared, claim).await,
        Kind::Guest => agent::reconcile(shared, claim).await,
        Kind::Network => network::reconcile(shared, claim).await,
        Kind::Disk => disk::reconcile(shared, claim).await,
        Kind::SizingPolicy => sizing::reconcile(shared, claim).await,
        other => Ok(Outcome::Failed(format!("nothing is known about work on a {}", other.word()).into())),
    }
}

/// A hub's refusal as the queue understands it.
fn refused(e: &hub::Error) -> Outcome {
    let why = Why { full: format!("{} {}", e.message(), e.next_step()), plain: e.for_tenants() };
    match e.retry() {
        Verdict::Retry { after } => Outcome::Retry(after, why),
        Verdict::Fail => Outcome::Failed(why),
    }
}

fn place(org: OrgId, org_name: &str, vdc: VdcId, vdc_name: &str, namespace: &str) -> names::Place {
    names::Place {
        org,
        org_name: org_name.to_owned(),
        vdc,
        vdc_name: vdc_name.to_owned(),
        namespace: namespace.to_owned(),
    }
}

/// Unwraps a hub's answer or ends the reconciler with what it means.
macro_rules! told {
    ($answer:expr) => {
        match $answer {
            Ok(value) => value,
            Err(e) => return Ok($crate::reconcile::refused(&e)),
        }
    };
}
pub(crate) use told;
