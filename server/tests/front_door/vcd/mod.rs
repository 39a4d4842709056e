//! The VCD API through the front door.
mod administration;
mod bodies;
pub(crate) mod client;
mod cloudapi;
mod documents;
mod flow;
mod golden;
mod hostile;
mod isolation;
mod query;
mod roundtrip;
mod sessions;
mod tokens;

pub(crate) use client::{Program, Said};
