//! The server as its users meet it: requests through the router, connections to its listeners, commands at a shell.
//! One binary for all of it, one module a topic.
#![allow(clippy::unwrap_used, reason = "what a test cannot do without is a failure of the test")]

#[allow(dead_code, reason = "a topic may come before or after the part of the harness it uses")]
mod harness;
mod support;

mod cli;
mod cors;
mod database;
mod headers;
mod health;
mod home;
mod limits;
mod listeners;
mod live;
mod matrix;
mod metrics;
mod oidc;
mod organizations;
mod privileges;
mod request_id;
mod roles;
mod same_origin;
mod settings;
mod sign_in;
mod text;
mod users;
mod vdcs;
