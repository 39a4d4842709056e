//! What tests of the portal share: `TestApp` is a server without sockets on a database of its own, `Client` is a browser in
//! front of it.
//!
//! ```ignore
//! let app = TestApp::start().await;
//! let acme = app.org("acme").vdc("prod").user("alice", VappUser).make().await;
//! let admin = app.sign_in("acme", "acme-admin").await;
//! admin.get("/tenant/acme/vdcs").await.must(200).says("prod");
//! ```
mod answer;
mod app;
mod client;
mod database;
mod files;
mod hub;
mod hubs;
mod played;
mod postgres;
mod proxy;
mod real;

pub(crate) use answer::Answer;
pub(crate) use app::{ADMINISTRATOR, PASSWORD, TestApp, TestOrg};
pub(crate) use client::{Client, Form};
pub(crate) use database::Database;
pub(crate) use files::{iso, qcow2};
pub(crate) use hubs::Hubs;
pub(crate) use played::{CANARY, kubeconfig};
pub(crate) use proxy::Proxy;
