//! The VCD API through the front door.
mod administration;
mod alike;
mod bodies;
pub(crate) mod client;
mod cloudapi;
mod documents;
mod flow;
mod golden;
mod hostile;
mod in_json;
mod isolation;
mod kept;
mod query;
mod reconfigured;
mod roundtrip;
mod seed_paths;
mod sessions;
mod tokens;
mod whole;

pub(crate) use client::{Program, Said};
