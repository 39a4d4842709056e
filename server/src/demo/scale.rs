//! `--seed-scale N`: numbered organizations up to `org-N` for benchmarks, by COPY, some hundred at a time.

use super::{
    PASSWORD,
    numbered::{Context, Tables, numbered_org},
};
use domain::Domain;
use model::{Result, user::Password};

/// Organizations in one transaction: some 20,000 rows, 5 MB.
const AT_ONCE: u32 = 250;

/// Makes what is missing up to number `scale`. As with the other data, the audit says how far it went before, and
/// what somebody deleted does not come back. A scale of 1 is the demo without more.
pub async fn run(domain: &Domain, scale: u32) -> Result<()> {
    let mut next = domain.store.last_numbered_org().await? + 1;
    if scale < 2 || next > scale {
        return Ok(());
    }
    // one hash for all of them: half a million would take hours
    let hash = domain.hasher.hash(&Password::new(PASSWORD)).await?;
    let context = Context { now: domain.now(), password_hash: &hash };
    while next <= scale {
        let last = scale.min(next + AT_ONCE - 1);
        let mut tables = Tables::default();
        for number in next..=last {
            numbered_org(&context, number, &mut tables);
        }
        domain.store.copy_rows(&tables.into_copies()).await?;
        tracing::info!(organizations = last, of = scale, "making data");
        next = last + 1;
    }
    domain.store.analyze().await
}
