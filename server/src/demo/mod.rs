//! The demonstration's data: a few organizations made by hand, and as many more as a benchmark asks for.

pub mod hubs;
pub mod machines;
mod numbered;
mod rows;
pub mod scale;
pub mod seed;

/// Everybody's password. It is no secret, which is why the demo listens on loopback only.
pub const PASSWORD: &str = "ssvirt-demo";
