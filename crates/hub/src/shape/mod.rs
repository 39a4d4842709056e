//! What is asked of a hub: from plain words to manifests and patches. Pure; nothing here calls anything.
mod cloud_config;
pub mod cloud_init;
pub mod customize;
pub mod disk;
pub mod guest;
pub mod hardware;
pub mod image;
pub mod names;
pub mod namespace;
pub mod network;
pub mod network_data;
pub mod patch;
pub mod sizing;
pub mod snapshot;
pub mod template;
#[cfg(test)]
mod tests;
pub mod vm;
