//! The words of SSVirt: ids, nouns, states, rights and the rules about them. No I/O, so that every layer can use them.
pub mod action;
pub mod actor;
pub mod affinity;
pub mod agent;
pub mod audit;
pub mod can;
pub mod catalog;
pub mod decide;
pub mod disk;
mod error;
pub mod event;
mod fields;
pub mod guest;
pub mod hub;
mod id;
pub mod idp;
pub mod lease;
pub mod list;
pub mod media;
pub mod metadata;
pub mod name;
pub mod network;
pub mod nic;
pub mod org;
pub mod owner;
pub mod permissions;
pub mod placement;
pub mod query;
pub mod quota;
pub mod right;
pub mod role;
pub mod session;
pub mod share;
pub mod site;
pub mod sizing;
pub mod snapshot;
pub mod storage;
pub mod task;
pub mod template;
pub mod token;
pub mod upload;
pub mod user;
pub mod vapp;
pub mod vdc;
pub mod vm;
pub mod vm_line;
pub mod work;

pub use action::Action;
pub use actor::{Actor, Origin, Via};
pub use error::{Conflict, ConflictField, Error, FieldError, Problems, Result};
pub use fields::{Fields, RIGHTS_APART, conflict, field_changes};
pub use hub::HubId;
pub use id::{
    AffinityId, AuditId, CatalogId, DiskId, EventId, ImageId, Kind, NetworkId, OrgId, PolicyId, RoleId, SizingId,
    SnapshotId, TaskId, TemplateId, TokenId, UploadId, UserId, VappId, VdcId, VmId, mixed,
};
pub use right::{Right, Rights};
