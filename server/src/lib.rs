//! What the binary `ssvirt` is made of.
pub mod site;
