//! The demonstration's data.

pub mod seed;

/// Everybody's password. It is no secret, which is why the demo listens on loopback only.
pub const PASSWORD: &str = "ssvirt-demo";
