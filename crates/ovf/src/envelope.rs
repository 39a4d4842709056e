//! Descriptors: what an OVF says of files, disks, networks and machines.
use crate::{
    Image,
    hardware::{self, SystemDisk, SystemNic},
    limit,
    product::{self, Property},
    refused::{Reason, Result, refuse},
    units,
    xml::{self, Element},
};

pub(crate) const OVF: &str = "http://schemas.dmtf.org/ovf/envelope/1";
const OVF_FUSION: &str = "http://www.vmware.com/schema/ovf/1/envelope";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Of the collection, or of the one machine.
    pub name: String,
    pub description: String,
    pub files: Vec<FileRef>,
    pub disks: Vec<DiskDef>,
    pub networks: Vec<Network>,
    pub systems: Vec<System>,
    /// Of the collection as a whole.
    pub properties: Vec<Property>,
    /// Extensions and sections that mean nothing here, by name.
    pub ignored: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRef {
    pub id: String,
    pub href: String,
    pub size: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskDef {
    pub id: String,
    pub capacity: u64,
    /// The `href` of its file; None: an empty disk.
    pub file: Option<String>,
    pub format: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    pub name: String,
    pub description: String,
}

/// One machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    pub id: String,
    pub name: String,
    pub description: String,
    /// The number of CIM_OperatingSystem.
    pub os_id: Option<u64>,
    /// VMware's word for it, such as `ubuntu64Guest`.
    pub os_type: String,
    pub os: String,
    pub cpus: u32,
    pub memory_mb: u64,
    pub disks: Vec<SystemDisk>,
    pub nics: Vec<SystemNic>,
    pub cdroms: usize,
    pub efi: bool,
    pub secure_boot: bool,
    pub tpm: bool,
    /// 0: it does not say.
    pub cores_per_socket: u32,
    pub properties: Vec<Property>,
    pub start_order: u32,
    pub start_delay_s: u32,
}

/// A file that was given for one of the descriptor's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<'a> {
    pub name: &'a str,
    pub size: u64,
    /// What it is, or why it is no image.
    pub image: &'a Result<Image>,
}

impl Envelope {
    pub fn parse(bytes: &[u8]) -> Result<Envelope> {
        if bytes.len() > limit::DESCRIPTOR_BYTES {
            let most = limit::DESCRIPTOR_BYTES >> 20;
            return refuse(Reason::TooLarge, "", format!("The descriptor is larger than {most} MiB."));
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return refuse(Reason::Malformed, "", "The descriptor is not UTF-8. Save it as UTF-8.");
        };
        let root = xml::parse(text)?;
        if root.name != "Envelope" || !(root.namespace == OVF || root.namespace == OVF_FUSION) {
            return refuse(Reason::Malformed, root.name, "This is no OVF envelope of version 1.");
        }
        read(&root)
    }

    pub fn file(&self, href: &str) -> Option<&FileRef> {
        self.files.iter().find(|f| f.href == href)
    }

    /// Holds the files that came against the descriptor: all of them, no others, and of the sizes that it says.
    pub fn check(&self, given: &[Given<'_>]) -> Result<()> {
        for file in &self.files {
            let Some(found) = given.iter().find(|g| g.name == file.href) else {
                return refuse(Reason::Dangling, &file.href, "The descriptor names it, and it is not there.");
            };
            if let Some(size) = file.size.filter(|s| *s != found.size) {
                let message = format!("It has {} bytes, and the descriptor says {size}.", found.size);
                return refuse(Reason::Size, &file.href, message);
            }
        }
        if let Some(extra) = given.iter().find(|g| self.file(g.name).is_none()) {
            return refuse(Reason::Unknown, extra.name, "The descriptor does not name it. Take it out.");
        }
        for disk in &self.disks {
            let Some(href) = &disk.file else { continue };
            let Some(found) = given.iter().find(|g| g.name == href) else { continue };
            let image = found.image.as_ref().map_err(Clone::clone)?;
            if !image.format.is_disk() {
                return refuse(Reason::Format, href, format!("It is {}, and a disk is needed.", image.format.words()));
            }
            if image.virtual_size > disk.capacity {
                let message = format!(
                    "The disk in it has {} bytes, and the descriptor says {}.",
                    image.virtual_size, disk.capacity
                );
                return refuse(Reason::Size, href, message);
            }
        }
        Ok(())
    }
}

/// The section must be understood, unless it says that it need not.
fn skip(section: &Element, ignored: &mut Vec<String>) -> Result<()> {
    let ours = section.namespace == OVF || section.namespace == OVF_FUSION;
    match section.attribute(OVF, "required") {
        Some("true") => refuse(Reason::Unknown, &section.name, "It must be understood, and is not supported."),
        None if ours && section.name.ends_with("Section") && !HARMLESS.contains(&section.name.as_str()) => {
            refuse(Reason::Unknown, &section.name, "A section of this kind is not supported.")
        }
        _ => {
            if !ignored.contains(&section.name) {
                ignored.push(section.name.clone());
            }
            Ok(())
        }
    }
}

const HARMLESS: [&str; 7] = [
    "AnnotationSection",
    "EulaSection",
    "InstallSection",
    "ResourceAllocationSection",
    "EnvironmentFilesSection",
    "BootDeviceSection",
    "SharedDiskSection",
];

fn read(root: &Element) -> Result<Envelope> {
    let mut out = Envelope { files: files(root)?, ..Envelope::default() };
    let mut configuration = None;
    let mut content = None;
    for child in &root.children {
        match child.name.as_str() {
            "References" | "Strings" | "Info" => {}
            "DiskSection" => disks(child, &mut out)?,
            "NetworkSection" => networks(child, &mut out)?,
            "DeploymentOptionSection" => configuration = Some(chosen(child)?),
            "VirtualSystem" | "VirtualSystemCollection" => {
                if content.replace(child).is_some() {
                    return refuse(Reason::TooMany, &child.name, "An envelope has one machine or one collection.");
                }
            }
            _ => skip(child, &mut out.ignored)?,
        }
    }
    let Some(content) = content else {
        return refuse(Reason::Missing, "Envelope", "There is no VirtualSystem in it.");
    };
    (out.name, out.description) = titles(content);
    collect(content, configuration.as_deref(), &mut out)?;
    if out.systems.is_empty() {
        return refuse(Reason::Missing, "VirtualSystemCollection", "There is no VirtualSystem in it.");
    }
    Ok(out)
}

fn titles(content: &Element) -> (String, String) {
    let id = content.attribute(OVF, "id").unwrap_or_default();
    let name = content.text_of("Name").unwrap_or(id).to_owned();
    let note = content.child("AnnotationSection").and_then(|a| a.text_of("Annotation"));
    (name, note.unwrap_or_default().to_owned())
}

/// A machine, or a collection's machines; collections may be nested, as deep as XML is read at all.
fn collect(content: &Element, configuration: Option<&str>, out: &mut Envelope) -> Result<()> {
    if content.name == "VirtualSystem" {
        if out.systems.len() >= limit::SYSTEMS {
            return refuse(
                Reason::TooMany,
                "VirtualSystem",
                format!("There are more than {} machines.", limit::SYSTEMS),
            );
        }
        let system = system(content, configuration, out)?;
        if out.systems.iter().any(|s| s.id == system.id) {
            return refuse(Reason::Duplicate, system.id, "Two machines have this id.");
        }
        out.systems.push(system);
        return Ok(());
    }
    for child in &content.children {
        match child.name.as_str() {
            "VirtualSystem" | "VirtualSystemCollection" => collect(child, configuration, out)?,
            "Info" | "Name" | "StartupSection" => {}
            "ProductSection" => product::read(child, &mut out.properties)?,
            _ => skip(child, &mut out.ignored)?,
        }
    }
    content.all("StartupSection").try_for_each(|s| startup(s, out))
}

fn startup(section: &Element, out: &mut Envelope) -> Result<()> {
    for item in section.all("Item") {
        let id = item.attribute(OVF, "id").unwrap_or_default();
        let Some(system) = out.systems.iter_mut().find(|s| s.id == id) else {
            // it may name a collection inside of this one
            continue;
        };
        let small = |name: &str, most: u64| -> Result<u32> {
            let n = item.attribute(OVF, name).map_or(Ok(0), |v| units::number(v, name))?;
            Ok(u32::try_from(n.min(most)).unwrap_or(0))
        };
        (system.start_order, system.start_delay_s) = (small("order", 1000)?, small("startDelay", 3600)?);
    }
    Ok(())
}

fn system(element: &Element, configuration: Option<&str>, out: &mut Envelope) -> Result<System> {
    let Some(id) = element.attribute(OVF, "id").filter(|id| !id.is_empty()) else {
        return refuse(Reason::Missing, "VirtualSystem", "It has no ovf:id.");
    };
    let (name, description) = titles(element);
    let mut system = System { id: id.to_owned(), name, description, ..System::default() };
    let mut hardware = None;
    for child in &element.children {
        match child.name.as_str() {
            "Info" | "Name" | "AnnotationSection" => {}
            "OperatingSystemSection" => {
                system.os_id = child.attribute(OVF, "id").and_then(|v| v.parse().ok());
                system.os_type = child.attribute(hardware::VMW, "osType").unwrap_or_default().to_owned();
                system.os = child.text_of("Description").unwrap_or_default().to_owned();
            }
            // the first one is taken: a descriptor may offer the same machine in several families
            "VirtualHardwareSection" => hardware = hardware.or(Some(child)),
            "ProductSection" => product::read(child, &mut system.properties)?,
            _ => skip(child, &mut out.ignored)?,
        }
    }
    let Some(hardware) = hardware else {
        return refuse(Reason::Missing, id, "It has no VirtualHardwareSection.");
    };
    hardware::read(hardware, configuration, out, &mut system)?;
    Ok(system)
}

/// A name that is a file beside the descriptor, and nothing else.
pub(crate) fn plain_name(name: &str) -> Result<()> {
    let wrong = match name {
        "" | "." | ".." => true,
        n => n.len() > limit::NAME_BYTES || n.contains(['/', '\\', ':', '%']) || n.chars().any(char::is_control),
    };
    match wrong {
        true => {
            refuse(Reason::Path, name, "A plain file name beside the descriptor is needed: no folders, no addresses.")
        }
        false => Ok(()),
    }
}

fn files(root: &Element) -> Result<Vec<FileRef>> {
    let mut files: Vec<FileRef> = vec![];
    for file in root.all("References").flat_map(|r| r.all("File")) {
        let (Some(id), Some(href)) = (file.attribute(OVF, "id"), file.attribute(OVF, "href")) else {
            return refuse(Reason::Missing, "File", "It needs an ovf:id and an ovf:href.");
        };
        plain_name(href)?;
        if let Some(kind) = file.attribute(OVF, "compression").filter(|c| *c != "identity") {
            return refuse(
                Reason::Compressed,
                href,
                format!("It is compressed with {}. Unpack it first.", crate::refused::shown(kind)),
            );
        }
        if file.attribute(OVF, "chunkSize").is_some() {
            return refuse(Reason::Unknown, href, "It comes in pieces (ovf:chunkSize). Join them first.");
        }
        if files.iter().any(|f| f.id == id || f.href == href) {
            return refuse(Reason::Duplicate, href, "It is named twice among the references.");
        }
        if files.len() >= limit::FILES {
            return refuse(Reason::TooMany, "References", format!("There are more than {} files.", limit::FILES));
        }
        let size = file.attribute(OVF, "size").map(|s| units::number(s, href)).transpose()?;
        files.push(FileRef { id: id.to_owned(), href: href.to_owned(), size });
    }
    Ok(files)
}

fn disks(section: &Element, out: &mut Envelope) -> Result<()> {
    for disk in section.all("Disk") {
        let (Some(id), Some(capacity)) = (disk.attribute(OVF, "diskId"), disk.attribute(OVF, "capacity")) else {
            return refuse(Reason::Missing, "Disk", "It needs an ovf:diskId and an ovf:capacity.");
        };
        if disk.attribute(OVF, "parentRef").is_some() {
            return refuse(Reason::Backing, id, "It builds on another disk (ovf:parentRef). Export it as a whole.");
        }
        let capacity = units::bytes(capacity, disk.attribute(OVF, "capacityAllocationUnits").unwrap_or_default(), id)?;
        if capacity == 0 || capacity > limit::DISK_BYTES {
            return refuse(Reason::Size, id, "A disk has between 1 byte and 64 TiB.");
        }
        let file = match disk.attribute(OVF, "fileRef").filter(|r| !r.is_empty()) {
            None => None,
            Some(reference) => match out.files.iter().find(|f| f.id == reference) {
                Some(file) => Some(file.href.clone()),
                None => return refuse(Reason::Dangling, id, "Its ovf:fileRef names no file of the references."),
            },
        };
        if out.disks.iter().any(|d| d.id == id || (file.is_some() && d.file == file)) {
            return refuse(Reason::Duplicate, id, "Two disks have the same id or the same file.");
        }
        if out.disks.len() >= limit::DISKS {
            return refuse(Reason::TooMany, "DiskSection", format!("There are more than {} disks.", limit::DISKS));
        }
        let format = disk.attribute(OVF, "format").unwrap_or_default().to_owned();
        out.disks.push(DiskDef { id: id.to_owned(), capacity, file, format });
    }
    Ok(())
}

fn networks(section: &Element, out: &mut Envelope) -> Result<()> {
    for network in section.all("Network") {
        let Some(name) = network.attribute(OVF, "name").filter(|n| !n.is_empty()) else {
            return refuse(Reason::Missing, "Network", "It has no ovf:name.");
        };
        if out.networks.iter().any(|n| n.name == name) {
            return refuse(Reason::Duplicate, name, "Two networks have this name.");
        }
        if out.networks.len() >= limit::ITEMS {
            return refuse(
                Reason::TooMany,
                "NetworkSection",
                format!("There are more than {} networks.", limit::ITEMS),
            );
        }
        let description = network.text_of("Description").unwrap_or_default().to_owned();
        out.networks.push(Network { name: name.to_owned(), description });
    }
    Ok(())
}

/// The configuration that counts when nobody chooses.
fn chosen(section: &Element) -> Result<String> {
    let all: Vec<&Element> = section.all("Configuration").collect();
    let by_default = all.iter().find(|c| c.attribute(OVF, "default") == Some("true"));
    match by_default.or(all.first()).and_then(|c| c.attribute(OVF, "id")) {
        Some(id) => Ok(id.to_owned()),
        None => refuse(Reason::Missing, "DeploymentOptionSection", "There is no Configuration with an ovf:id in it."),
    }
}
