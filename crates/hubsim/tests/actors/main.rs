//! The actors on a simulated hub, seen from outside: what a client asks for, and what it then sees.
#![allow(clippy::unwrap_used, reason = "what a test cannot do without is a failure of the test")]

mod failure;
mod harness;
mod hotplug;
mod network;
mod power;
mod restart;
mod scale;
mod snapshot;
mod storage;
mod template;
mod webhook;
