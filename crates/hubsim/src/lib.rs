//! A simulated hub: a Kubernetes API server in this process, and actors that play what runs on a real one.
//!
//! [`Hub::start`] gives a server on a port of its own, with TLS and tokens, that answers as a real API server does.
//! [`Hub::inside`] is a client without a network for whatever lives on the hub, [`Hub::faults`] switches faults that
//! clients outside see, [`Hub::by_hand`] does what somebody with kubectl would.

mod access;
pub mod actors;
mod answer;
mod api;
mod built_in;
mod by_hand;
mod claims;
mod clock;
mod controllers;
mod crd;
mod door;
mod faults;
mod fields;
mod flavour;
mod hooks;
mod hub;
mod identity;
mod kinds;
mod meta;
mod names;
mod quantity;
mod quota;
mod schema;
mod select;
mod store;
mod validate;

pub use by_hand::{ByHand, Deed};
pub use clock::Clock;
pub use faults::{Fault, Faults};
pub use flavour::{Flavour, Part};
pub use hooks::{Cause, Denial, Operation, Review, View, VirtualApi, Webhook};
pub use hub::{Hub, Options};
pub use store::Change;

fn new_uid() -> String {
    uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string()
}
