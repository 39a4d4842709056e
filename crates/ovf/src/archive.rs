//! OVA archives: a tar with the descriptor first. It is read once from its beginning to its end, in constant memory,
//! and nothing of it is unpacked: what is found are the places of files in it.
use crate::{
    Algorithm, Envelope, Hasher, Hashes, Image, Manifest,
    envelope::{Given, plain_name},
    image::{self, HEAD},
    limit,
    refused::{Reason, Result, refuse},
};
use std::io::Read;

const BLOCK: usize = 512;

/// An archive that holds what its descriptor says.
#[derive(Clone, Debug, PartialEq)]
pub struct Ova {
    pub envelope: Envelope,
    /// The descriptor itself, as it was.
    pub descriptor: Vec<u8>,
    /// Was there a manifest, and did every file agree with it?
    pub verified: bool,
    pub files: Vec<Packed>,
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    pub name: String,
    /// Where in the archive it begins.
    pub offset: u64,
    pub size: u64,
    pub hashes: Hashes,
    /// What it is, or why it is no image: only what a disk points to must be one.
    pub image: Result<Image>,
}

/// Reads an archive of `length` bytes.
pub fn read_ova(archive: impl Read, length: u64) -> Result<Ova> {
    let mut tar = Tar { archive, at: 0, length };
    let mut entries: Vec<Packed> = vec![];
    let (mut descriptor, mut manifest): (Vec<u8>, Option<Manifest>) = (vec![], None);
    while let Some(entry) = tar.next()? {
        plain_name(&entry.name)?;
        if entries.iter().any(|e| e.name == entry.name) {
            return refuse(Reason::Duplicate, entry.name, "It is in the archive twice.");
        }
        if entries.len() > limit::FILES {
            return refuse(Reason::TooMany, entry.name, format!("There are more than {} files in it.", limit::FILES));
        }
        let suffix = entry.name.rsplit_once('.').map_or("", |(_, s)| s).to_ascii_lowercase();
        // which sums are asked for is not known before the manifest was read
        let other = |m: &Manifest| m.digests.iter().any(|d| d.algorithm != Algorithm::Sha256);
        let all = manifest.as_ref().is_none_or(other);
        let kept = match suffix.as_str() {
            "ovf" if entries.is_empty() => limit::DESCRIPTOR_BYTES,
            "ovf" => return refuse(Reason::Duplicate, entry.name, "An archive has one descriptor, at its beginning."),
            _ if entries.is_empty() => {
                return refuse(
                    Reason::Missing,
                    entry.name,
                    "An OVA begins with its .ovf descriptor, and this one does not.",
                );
            }
            "mf" | "cert" => limit::MANIFEST_BYTES,
            _ => HEAD,
        };
        if kept != HEAD && entry.size > kept as u64 {
            return refuse(Reason::TooLarge, entry.name, format!("It is larger than {} KiB.", kept >> 10));
        }
        let (head, hashes) = tar.pass(entry.size, kept, all)?;
        let image = image::recognise(&entry.name, &head, entry.size);
        match suffix.as_str() {
            "ovf" => descriptor = head,
            "mf" => {
                let Ok(text) = String::from_utf8(head) else {
                    return refuse(Reason::Malformed, entry.name, "The manifest is not text.");
                };
                if manifest.replace(Manifest::parse(&text)?).is_some() {
                    return refuse(Reason::Duplicate, entry.name, "An archive has one manifest.");
                }
            }
            // an image, an nvram, a text; who signed it (.cert) is not looked at
            _ => {}
        }
        entries.push(Packed { name: entry.name, offset: entry.offset, size: entry.size, hashes, image });
    }
    if entries.is_empty() {
        return refuse(Reason::Missing, "", "The archive is empty.");
    }
    tar.only_zeros()?;
    finish(descriptor, manifest, entries)
}

fn finish(descriptor: Vec<u8>, manifest: Option<Manifest>, mut entries: Vec<Packed>) -> Result<Ova> {
    let envelope = Envelope::parse(&descriptor)?;
    let beside = |e: &Packed| [".mf", ".cert"].iter().any(|s| e.name.to_ascii_lowercase().ends_with(s));
    entries.retain(|e| !beside(e));
    if let Some(manifest) = &manifest {
        entries.iter().try_for_each(|e| manifest.check(&e.name, &e.hashes))?;
        if let Some(gone) = manifest.digests.iter().find(|d| !entries.iter().any(|e| e.name == d.file)) {
            return refuse(Reason::Dangling, &gone.file, "The manifest names it, and it is not in the archive.");
        }
    }
    let files: Vec<Packed> = entries.into_iter().skip(1).collect();
    let given: Vec<Given<'_>> = files.iter().map(|f| Given { name: &f.name, size: f.size, image: &f.image }).collect();
    envelope.check(&given)?;
    Ok(Ova { envelope, descriptor, verified: manifest.is_some(), files })
}

struct Entry {
    name: String,
    offset: u64,
    size: u64,
}

struct Tar<R> {
    archive: R,
    at: u64,
    length: u64,
}

impl<R: Read> Tar<R> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.archive.read_exact(buffer)?;
        self.at += buffer.len() as u64;
        Ok(())
    }

    /// The next plain file; None at the end mark.
    fn next(&mut self) -> Result<Option<Entry>> {
        let mut long_size = None;
        loop {
            let mut block = [0; BLOCK];
            if self.at + BLOCK as u64 > self.length {
                return refuse(Reason::Truncated, "", "The archive ends in the middle.");
            }
            self.fill(&mut block)?;
            if block.iter().all(|b| *b == 0) {
                return Ok(None);
            }
            checked(&block)?;
            let name = text(&block[..100])?;
            let size = size(&block[124..136], &name)?;
            let left = self.length.saturating_sub(self.at);
            if size.checked_next_multiple_of(BLOCK as u64).is_none_or(|padded| padded > left) {
                return refuse(Reason::Size, name, "Its header says more bytes than the archive has.");
            }
            match block[156] {
                b'0' | 0 | b'7' => {
                    let size = long_size.unwrap_or(size);
                    if size.checked_next_multiple_of(BLOCK as u64).is_none_or(|padded| padded > left) {
                        return refuse(Reason::Size, name, "Its header says more bytes than the archive has.");
                    }
                    let folder = if &block[257..262] == b"ustar" && block[263..265] == *b"00" {
                        text(&block[345..500])?
                    } else {
                        String::new()
                    };
                    if !folder.is_empty() {
                        return refuse(Reason::Path, format!("{folder}/{name}"), "Files in an OVA are in no folder.");
                    }
                    let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
                    return Ok(Some(Entry { name, offset: self.at, size }));
                }
                b'x' | b'g' => long_size = self.extended(size)?.or(long_size),
                b'1' | b'2' => {
                    return refuse(Reason::NotAFile, name, "It is a link. Put the file itself into the archive.");
                }
                b'5' => return refuse(Reason::NotAFile, name, "It is a folder. An OVA has plain files only."),
                b'L' | b'K' => return refuse(Reason::Path, name, "Its name is too long for an OVA."),
                b'S' => return refuse(Reason::NotAFile, name, "It is a sparse file. Pack it as a plain one."),
                kind => {
                    let message = format!("It is no plain file (type {:?}).", char::from(kind));
                    return refuse(Reason::NotAFile, name, message);
                }
            }
        }
    }

    /// A pax header: only a size that needs more digits means something; a path would go around our checks.
    fn extended(&mut self, size: u64) -> Result<Option<u64>> {
        const MOST: u64 = 64 << 10;
        if size > MOST {
            return refuse(Reason::TooLarge, "pax header", "An extended header is larger than 64 KiB.");
        }
        let (bytes, _) = self.pass(size, HEAD, false)?;
        let wrong = || crate::Refused::new(Reason::Malformed, "pax header", "An extended header can't be read.");
        let mut rest = bytes.as_slice();
        let mut found = None;
        while !rest.is_empty() {
            let space = rest.iter().position(|b| *b == b' ').ok_or_else(wrong)?;
            let length: usize =
                std::str::from_utf8(&rest[..space]).ok().and_then(|t| t.parse().ok()).ok_or_else(wrong)?;
            let record = rest.get(space + 1..length).and_then(|r| r.strip_suffix(b"\n")).ok_or_else(wrong)?;
            let (key, value) = std::str::from_utf8(record).ok().and_then(|r| r.split_once('=')).ok_or_else(wrong)?;
            match key {
                "size" => found = Some(value.parse().map_err(|_| wrong())?),
                "path" | "linkpath" => {
                    return refuse(
                        Reason::Path,
                        value,
                        "A file's name stands in an extended header. Use plain short names.",
                    );
                }
                k if k.starts_with("GNU.sparse") => {
                    return refuse(Reason::NotAFile, "pax header", "A sparse file. Pack it as a plain one.");
                }
                _ => {}
            }
            rest = &rest[length..];
        }
        Ok(found)
    }

    /// Reads over a file and its padding; the first `kept` bytes and its sums are what stays of it.
    fn pass(&mut self, size: u64, kept: usize, all: bool) -> Result<(Vec<u8>, Hashes)> {
        let mut hasher = Hasher::new(all);
        let mut head = Vec::with_capacity(kept.min(usize::try_from(size).unwrap_or(kept)));
        let mut buffer = vec![0; 64 << 10];
        let mut left = size;
        while left > 0 {
            let n = usize::try_from(left).unwrap_or(buffer.len()).min(buffer.len());
            self.fill(&mut buffer[..n])?;
            hasher.update(&buffer[..n]);
            let more = (kept - head.len()).min(n);
            head.extend_from_slice(&buffer[..more]);
            left -= n as u64;
        }
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        let padding = usize::try_from(padding).unwrap_or(0);
        self.fill(&mut buffer[..padding])?;
        Ok((head, hasher.finish()))
    }

    /// After the end mark comes nothing: what would hide there is in no manifest.
    fn only_zeros(&mut self) -> Result<()> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match self.archive.read(&mut buffer)? {
                0 => return Ok(()),
                n if buffer[..n].iter().any(|b| *b != 0) => {
                    return refuse(Reason::Malformed, "", "There is something after the end of the archive.");
                }
                _ => {}
            }
        }
    }
}

fn checked(block: &[u8; BLOCK]) -> Result<()> {
    let sum: u64 =
        block.iter().enumerate().map(|(i, b)| if (148..156).contains(&i) { 32 } else { u64::from(*b) }).sum();
    match octal(&block[148..156]) {
        Some(said) if said == sum => Ok(()),
        _ => refuse(Reason::Malformed, "", "This is no tar archive, or a header in it is damaged."),
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches(['\0', ' ']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// In octal, or as a plain number behind a mark where that is too short.
fn size(field: &[u8], name: &str) -> Result<u64> {
    let number = match field[0] {
        0x80 if field[1..4].iter().all(|b| *b == 0) => Some(field[4..].iter().fold(0, |n, b| n << 8 | u64::from(*b))),
        b if b & 0x80 != 0 => None,
        _ => octal(field).filter(|_| !field.contains(&b'-') && !field.contains(&b'+')),
    };
    match number {
        Some(size) => Ok(size),
        None => refuse(Reason::Size, name, "Its size in the archive can't be read."),
    }
}

fn text(field: &[u8]) -> Result<String> {
    let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
    match std::str::from_utf8(&field[..end]) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => refuse(Reason::Path, String::from_utf8_lossy(&field[..end]), "A name in the archive is not UTF-8."),
    }
}
