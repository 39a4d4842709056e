//! Hubs: clients, what is asked of them (`shape`), what they answer (`read`), and how they are called.
pub mod address;
mod answer;
pub mod apply;
pub mod check;
pub mod client;
pub mod error;
pub mod kubeconfig;
pub mod read;
pub mod resource;
pub mod screen;
mod secret;
pub mod shape;
pub mod watch;
mod yaml;

pub use client::{Client, Clients};
pub use error::{Error, Result, Verdict};
pub use kubeconfig::Credential;
pub use resource::{Key, Resource};
pub use secret::Secret;

/// The time of day, as an argument, so that tests can set it.
pub type Clock = std::sync::Arc<dyn Fn() -> time::OffsetDateTime + Send + Sync>;
