//! The VCD API through the front door.
mod client;
mod flow;
mod isolation;
mod sessions;

pub(crate) use client::{Program, Said};
