//! Disk images and ISOs by their first bytes. Whatever would make a reader open other files, or grow without bounds,
//! is refused here, before anything else sees it.
use crate::{
    limit,
    refused::{Reason, Result, refuse},
};

/// So many of its first bytes are enough to know any image.
pub const HEAD: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    Iso,
    Qcow2,
    /// One file that holds it all: streamOptimized or monolithicSparse.
    Vmdk,
    Raw,
}

impl Format {
    pub const ALL: [Format; 4] = [Format::Iso, Format::Qcow2, Format::Vmdk, Format::Raw];

    pub fn key(self) -> &'static str {
        match self {
            Format::Iso => "iso",
            Format::Qcow2 => "qcow2",
            Format::Vmdk => "vmdk",
            Format::Raw => "raw",
        }
    }

    pub fn parse(key: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.key() == key)
    }

    pub fn words(self) -> &'static str {
        match self {
            Format::Iso => "an ISO image",
            Format::Qcow2 => "a qcow2 disk",
            Format::Vmdk => "a VMDK disk",
            Format::Raw => "a raw disk",
        }
    }

    pub fn is_disk(self) -> bool {
        self != Format::Iso
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    pub format: Format,
    /// How large the disk in it is.
    pub virtual_size: u64,
}

const PACKED: [(&[u8], &str); 6] = [
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
];

const OTHERS: [(&[u8], &str); 6] = [
    (b"vhdxfile", "a VHDX disk"),
    (b"conectix", "a VHD disk"),
    (b"<<< ", "a VDI disk"),
    (b"# Disk DescriptorFile", "a VMDK descriptor that names other files"),
    (b"COWD", "an old ESX disk"),
    (b"MZ", "a Windows program"),
];

/// `head`: the first bytes, as many as there are up to [`HEAD`]; `size`: of the whole file.
pub fn recognise(name: &str, head: &[u8], size: u64) -> Result<Image> {
    if size == 0 {
        return refuse(Reason::Size, name, "It is empty.");
    }
    if let Some((_, packer)) = PACKED.iter().find(|(magic, _)| head.starts_with(magic)) {
        return refuse(Reason::Compressed, name, format!("It is packed with {packer}. Unpack it first."));
    }
    if head.starts_with(b"QFI\xfb") {
        return qcow2(name, head, size);
    }
    if head.starts_with(b"KDMV") {
        return vmdk(name, head, size);
    }
    if at(head, 0x8001, 5) == Some(b"CD001") {
        return iso(name, head, size);
    }
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return refuse(Reason::Format, name, format!("It is {what}. Give qcow2, raw, a single-file VMDK or an ISO."));
    }
    if !size.is_multiple_of(512) || size > limit::DISK_BYTES {
        return refuse(
            Reason::Format,
            name,
            "It is neither qcow2, VMDK nor ISO, and no raw disk: those have whole sectors.",
        );
    }
    Ok(Image { format: Format::Raw, virtual_size: size })
}

fn at(head: &[u8], offset: usize, length: usize) -> Option<&[u8]> {
    head.get(offset..offset.checked_add(length)?)
}

fn be(head: &[u8], offset: usize, length: usize) -> Option<u64> {
    Some(at(head, offset, length)?.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
}

fn le(head: &[u8], offset: usize, length: usize) -> Option<u64> {
    Some(at(head, offset, length)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

fn cut<T>(name: &str, found: Option<T>) -> Result<T> {
    match found {
        Some(found) => Ok(found),
        None => refuse(Reason::Truncated, name, "It ends in the middle of its header."),
    }
}

fn qcow2(name: &str, head: &[u8], size: u64) -> Result<Image> {
    let field = |offset, length| cut(name, be(head, offset, length));
    let version = field(4, 4)?;
    if !matches!(version, 2 | 3) {
        return refuse(Reason::Format, name, format!("It is qcow version {version}. Convert it to qcow2."));
    }
    if field(8, 8)? != 0 || field(16, 4)? != 0 {
        return refuse(Reason::Backing, name, "It has a backing file. Make it whole: qemu-img convert -O qcow2.");
    }
    if field(32, 4)? != 0 {
        return refuse(Reason::Format, name, "It is encrypted. Decrypt it first: qemu-img convert -O qcow2.");
    }
    if version == 3 {
        let incompatible = field(72, 8)?;
        if incompatible & 0b100 != 0 {
            return refuse(
                Reason::Backing,
                name,
                "It keeps its data in another file. Make it whole: qemu-img convert.",
            );
        }
        // dirty, corrupt; compression other than zlib and extended tables are known to qemu
        if incompatible & !0b1_1000 != 0 {
            return refuse(
                Reason::Format,
                name,
                "It was not closed properly or needs features of a later qemu. Run qemu-img check on it.",
            );
        }
    }
    let virtual_size = field(24, 8)?;
    let (cluster_bits, l1_entries, l1_offset) = (field(20, 4)?, field(36, 4)?, field(40, 8)?);
    if !(9..=21).contains(&cluster_bits) || virtual_size == 0 || virtual_size > limit::DISK_BYTES {
        return refuse(Reason::Size, name, "Its header says sizes that no disk has.");
    }
    match l1_entries.checked_mul(8).and_then(|bytes| bytes.checked_add(l1_offset)) {
        Some(end) if end <= size => Ok(Image { format: Format::Qcow2, virtual_size }),
        _ => refuse(Reason::Truncated, name, "Its tables lie behind its end: it is not whole."),
    }
}

fn vmdk(name: &str, head: &[u8], size: u64) -> Result<Image> {
    let field = |offset, length| cut(name, le(head, offset, length));
    let version = field(4, 4)?;
    let (sectors, descriptor, length) = (field(12, 8)?, field(28, 8)?, field(36, 8)?);
    let bytes = sectors.checked_mul(512).filter(|b| (1..=limit::DISK_BYTES).contains(b));
    let (Some(virtual_size), true) = (bytes, (1..=3).contains(&version)) else {
        return refuse(Reason::Size, name, "Its header says sizes that no disk has.");
    };
    let start = usize::try_from(descriptor).ok().and_then(|d| d.checked_mul(512));
    let length = usize::try_from(length).ok().and_then(|l| l.checked_mul(512));
    let text = start.zip(length).and_then(|(start, length)| at(head, start, length));
    let (Some(text), true) = (text, descriptor > 0 && size > 512) else {
        return refuse(Reason::Format, name, "Its descriptor is not at its beginning. Export it as streamOptimized.");
    };
    let text = String::from_utf8_lossy(text).to_lowercase();
    let value = |key: &str| {
        let line = text.lines().find_map(|l| l.trim().strip_prefix(key)?.trim_start().strip_prefix('='));
        line.map(|v| v.trim_matches(|c: char| c.is_whitespace() || c == '"' || c == '\0').to_owned())
    };
    let kind = value("createtype").unwrap_or_default();
    if !matches!(kind.as_str(), "streamoptimized" | "monolithicsparse") {
        return refuse(Reason::Backing, name, "It would read other files. Export it as streamOptimized.");
    }
    if value("parentcid").is_some_and(|cid| cid != "ffffffff") || text.contains("parentfilenamehint") {
        return refuse(Reason::Backing, name, "It builds on another disk. Export it as a whole.");
    }
    Ok(Image { format: Format::Vmdk, virtual_size })
}

fn iso(name: &str, head: &[u8], size: u64) -> Result<Image> {
    let blocks = cut(name, le(head, 0x8000 + 80, 4))?;
    match blocks.checked_mul(2048) {
        // a few writers count padding that they do not write
        Some(bytes) if bytes > 0 && bytes <= size.saturating_add(300 * 2048) => {
            Ok(Image { format: Format::Iso, virtual_size: size })
        }
        _ => refuse(Reason::Truncated, name, "It is shorter than its own header says: it is not whole."),
    }
}
