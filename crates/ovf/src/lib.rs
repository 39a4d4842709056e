//! Reads what people upload: OVF descriptors, OVA archives, manifests, and the first bytes of disk images. It trusts
//! nothing: whatever is not plainly right is refused by name, within limits of memory and time, and no byte of an
//! archive is ever written anywhere.
mod archive;
mod digest;
mod envelope;
mod hardware;
mod image;
mod manifest;
mod product;
mod refused;
mod units;
mod xml;

pub use archive::{Ova, Packed, read_ova};
pub use digest::{Algorithm, Hasher, Hashes};
pub use envelope::{DiskDef, Envelope, FileRef, Given, Network, System};
pub use hardware::{Bus, SystemDisk, SystemNic};
pub use image::{Format, HEAD, Image, recognise};
pub use manifest::{Digest, Manifest};
pub use product::Property;
pub use refused::{Reason, Refused, Result};

/// How much of anything is read. More is refused.
pub mod limit {
    pub const DESCRIPTOR_BYTES: usize = 4 << 20;
    pub const MANIFEST_BYTES: usize = 256 << 10;
    pub const DEPTH: usize = 48;
    pub const ELEMENTS: usize = 40_000;
    pub const ATTRIBUTES: usize = 64;
    pub const NAME_BYTES: usize = 255;
    pub const FILES: usize = 512;
    pub const DISKS: usize = 512;
    pub const SYSTEMS: usize = 128;
    pub const ITEMS: usize = 512;
    pub const NICS: usize = 10;
    pub const PROPERTIES: usize = 1000;
    pub const CPUS: u64 = 512;
    pub const MEMORY_MB: u64 = 16 << 20;
    pub const DISK_BYTES: u64 = 64 << 40;
}
