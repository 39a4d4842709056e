//! What a hub answers: from objects to our own small structs. Anything may be missing or odd; nothing here fails for it.
mod catalog;
mod form;
mod guest;
mod hardware;
mod json;
mod meta;
mod observed;
pub mod quantity;
mod snapshot;
mod template_disk;
#[cfg(test)]
mod tests;
mod vm;

pub use catalog::{
    InstanceType, ObservedImage, ObservedTemplate, ObservedTemplateInstance, Parameter, Says, StorageClass, TemplateVm,
    image, instance_type, is_vm_template, storage_class, template, template_instance,
};
pub use form::form;
pub use guest::told;
pub use meta::{Ids, Meta, ObservedNamespace, meta, namespace};
pub use observed::{ObservedVm, VmState, observe};
pub use snapshot::{Stage, left_out, restore_stage, snapshot_stage};
pub use template_disk::TemplateDisk;
pub use vm::{
    AskedDisk, AskedNic, AskedSize, InstancePart, Notes, SeenNic, VmPart, VolumePart, claim_mb, claim_room_mb,
    instance, vm, volume,
};
