//! The server as its users meet it: requests through the router, connections to its listeners, commands at a shell.
//! One binary for all of it, one module a topic.
#![allow(clippy::unwrap_used, reason = "what a test cannot do without is a failure of the test")]

mod harness;
mod stage;
mod support;

mod bad_input;
mod cli;
mod cors;
mod database;
mod demo;
mod disks;
mod headers;
mod health;
mod home;
mod hub_commands;
mod hub_trouble;
mod hubs;
mod input;
mod keys;
mod leases;
mod limits;
mod listeners;
mod lists;
mod live;
mod machines;
mod machines_pages;
mod matrix;
mod metadata;
mod metrics;
mod networks;
mod oidc;
mod organizations;
mod outage;
mod permissions;
mod privileges;
mod quota;
mod record;
mod record_pages;
mod request_id;
mod roles;
mod routing;
mod same_origin;
mod secrets;
mod settings;
mod sign_in;
mod snapshots;
mod storage;
mod template_instances;
mod text;
mod uploads;
mod users;
mod vdcs;
mod wishes;
mod work;
