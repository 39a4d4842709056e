//! The transfer area: the directory where uploads arrive and where images wait to be brought to hubs. A file is known by
//! an id and nothing else; who it belongs to, how long it should be and when it goes is written in the database.
mod area;
mod range;

pub use area::{Area, Arrived, Error, Part};
pub use range::{BadRange, Range};
