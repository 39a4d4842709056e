//! A PostgreSQL of one's own in a directory: found, set up, started and stopped without root, ports or a service manager.
//!
//! ```no_run
//! let server = private_postgres::Server::start(".ssvirt/postgres".as_ref(), &Default::default())?;
//! for note in &server.notes {
//!     println!("{note}");
//! }
//! // connect to server.url …
//! server.stop()?;
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! It listens on a socket in a directory of mode 0700 and asks for a random password that lies in a file of mode 0600.
//! What a crashed run left behind (pid file, half-made data, a server still alive) is recovered or explained; data are never deleted.
#![expect(clippy::disallowed_methods, reason = "it serves tools too, which have neither settings nor a clock to set")]
mod account;
mod binaries;
mod cluster;
mod home;
mod leftover;
mod server;

pub use binaries::{Binaries, find};
pub use server::{Options, Server, discard, url_of_running};
