//! The VCD API through the front door.
mod administration;
mod client;
mod cloudapi;
mod flow;
mod golden;
mod isolation;
mod query;
mod sessions;
mod tokens;

pub(crate) use client::{Program, Said};
