//! Storage: claims get bound, data volumes get filled (CDI), images become ready.
pub(crate) mod claim;
mod class;
pub(crate) mod data_source;
pub(crate) mod data_volume;
pub(crate) mod profile;
mod progress;
pub(crate) mod upload;
