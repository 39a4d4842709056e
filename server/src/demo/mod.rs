//! The demonstration's data: a few organizations made by hand, and as many more as a benchmark asks for.

use model::{Error, Result};

pub mod hubs;
pub mod machines;
pub mod media;
pub mod networks;
mod numbered;
mod rows;
pub mod scale;
pub mod seed;
pub mod storage;

/// Everybody's password. It is no secret, which is why the demo listens on loopback only.
pub const PASSWORD: &str = "ssvirt-demo";

/// Somebody made one of that name themselves, or left no room for it.
fn taken_is_fine<T>(result: Result<T>) -> Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(e @ (Error::Taken(_) | Error::Invalid(_) | Error::OverQuota(_) | Error::BadRequest(_))) => {
            tracing::warn!(reason = %e, "the demo leaves something out");
            Ok(())
        }
        Err(e) => Err(e),
    }
}
