//! What an operator can set: read from a file, the environment and flags (the later wins), checked as a whole, handed on as types.

mod file;
mod flags;
mod kind;
mod listen;
mod origin;
mod report;
mod resolve;
mod secret;
mod table;
mod typed;

pub use file::DEFAULT_PATH;
pub use flags::SettingFlags;
pub(crate) use kind::group_role;
pub use listen::{Host, Listen};
pub use origin::Origin;
pub use report::{markdown, print};
pub use resolve::{Problems, Resolved, Source, Sources};
pub use secret::Secret;
pub use table::{Row, TABLE};
pub use typed::{Api, Auth, Database, Limits, Log, LogFormat, Need, Oidc, Settings, TlsFiles};
