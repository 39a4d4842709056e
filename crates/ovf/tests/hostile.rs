//! What is wrong, or meant to do harm, is refused by name.
mod common;
use common::{OVF, end, entry, good, hashes, header, iso, qcow2, seal, tar, vmdk};
use ovf::{Envelope, Reason, Refused, read_ova, recognise};
use std::{
    fmt::Write,
    time::{Duration, Instant},
};

/// A descriptor in which one thing is another.
fn with(from: &str, to: &str) -> String {
    assert!(OVF.contains(from), "{from}");
    OVF.replacen(from, to, 1)
}

fn descriptors() -> Vec<(&'static str, String, Reason)> {
    let nested = |depth: usize| {
        with(
            "<NetworkSection>",
            &format!("<Strings>{}{}</Strings><NetworkSection>", "<a>".repeat(depth), "</a>".repeat(depth)),
        )
    };
    let many = |n: usize| with("<NetworkSection>", &format!("<Strings>{}</Strings><NetworkSection>", "<a/>".repeat(n)));
    let attributes = (0..80).fold(String::new(), |mut out, i| {
        let _ = write!(out, " a{i}='1'");
        out
    });
    let systems = (0..200).fold(String::new(), |mut out, i| {
        let _ = write!(
            out,
            "<VirtualSystem ovf:id='v{i}'><Info/><VirtualHardwareSection><Info/>\
             <Item><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>1</rasd:VirtualQuantity></Item>\
             <Item><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>64</rasd:VirtualQuantity></Item>\
             </VirtualHardwareSection></VirtualSystem>"
        );
        out
    });
    let doctype = "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]>";
    let external = "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>";
    vec![
        ("nothing at all", String::new(), Reason::Malformed),
        ("not XML", "hello".into(), Reason::Malformed),
        ("another document", "<html/>".into(), Reason::Malformed),
        (
            "an envelope of no namespace",
            OVF.replace("http://schemas.dmtf.org/ovf/envelope/1", "urn:x"),
            Reason::Malformed,
        ),
        ("a DOCTYPE with a billion laughs", with("<Envelope", &format!("{doctype}<Envelope")), Reason::Entity),
        ("a DOCTYPE with a file of the server", with("<Envelope", &format!("{external}<Envelope")), Reason::Entity),
        ("an entity of its own", with("The shop", "&shop;"), Reason::Entity),
        ("a lone ampersand", with("The shop", "a & b"), Reason::Entity),
        ("a character that is none", with("The shop", "&#0;"), Reason::Entity),
        ("a control character", with("The shop", "\u{1}"), Reason::Malformed),
        ("elements too deep", nested(100), Reason::TooDeep),
        ("elements deeper than a stack", nested(400_000), Reason::TooDeep),
        ("too many elements", many(50_000), Reason::TooMany),
        ("too many attributes", with("<Info>disks</Info>", &format!("<Info{attributes}/>")), Reason::TooMany),
        ("a descriptor too large", format!("{OVF}{}", " ".repeat(5 << 20)), Reason::TooLarge),
        ("an element without its end", OVF.replace("</Envelope>", ""), Reason::Malformed),
        ("an end that is another's", with("</Info>", "</Inf>"), Reason::Malformed),
        ("something after the end", format!("{OVF}<more/>"), Reason::Malformed),
        ("a prefix that was never declared", with("<Info>disks", "<zz:x/><Info>disks"), Reason::Malformed),
        ("an attribute twice", with("ovf:id=\"file1\"", "ovf:id=\"file1\" ovf:id=\"file2\""), Reason::Duplicate),
        ("another encoding", with("UTF-8", "ISO-8859-1"), Reason::Malformed),
        ("a file out of the archive", with("disk1.vmdk", "../../etc/shadow"), Reason::Path),
        ("an absolute file", with("disk1.vmdk", "/etc/shadow"), Reason::Path),
        ("a file of another server", with("disk1.vmdk", "http://169.254.169.254/latest"), Reason::Path),
        ("a file by a Windows path", with("disk1.vmdk", "..\\\\x.vmdk"), Reason::Path),
        ("a file behind percent signs", with("disk1.vmdk", "%2e%2e%2fx"), Reason::Path),
        ("a file that is packed", with("ovf:size=\"1536\"", "ovf:compression=\"gzip\""), Reason::Compressed),
        ("a file in pieces", with("ovf:size=\"1536\"", "ovf:chunkSize=\"10\""), Reason::Unknown),
        (
            "a file twice",
            with("</References>", "<File ovf:href=\"disk1.vmdk\" ovf:id=\"x\"/></References>"),
            Reason::Duplicate,
        ),
        ("a file of a negative size", with("ovf:size=\"1536\"", "ovf:size=\"-1\""), Reason::Size),
        ("a disk of no file", with("ovf:fileRef=\"file1\"", "ovf:fileRef=\"file9\""), Reason::Dangling),
        ("a disk on another disk", with("ovf:fileRef=\"file1\"", "ovf:parentRef=\"empty\""), Reason::Backing),
        ("a disk of an endless size", with("ovf:capacity=\"4\"", "ovf:capacity=\"99999999999999\""), Reason::Size),
        (
            "a disk of more than a number",
            with("ovf:capacity=\"4\"", "ovf:capacity=\"99999999999999999999999\""),
            Reason::Size,
        ),
        ("a disk sized by a property", with("ovf:capacity=\"4\"", "ovf:capacity=\"${size}\""), Reason::Unknown),
        ("a unit that nobody knows", with("byte * 2^20\" ovf:diskId", "parsec\" ovf:diskId"), Reason::Unknown),
        ("two disks of one id", with("ovf:diskId=\"empty\"", "ovf:diskId=\"vmdisk1\""), Reason::Duplicate),
        ("a machine with a disk that is not there", with("ovf:/disk/empty", "ovf:/disk/none"), Reason::Dangling),
        ("a machine with a file as a disk", with("ovf:/disk/empty", "file:///dev/sda"), Reason::Dangling),
        ("a disk on no controller", with("<rasd:Parent>3<", "<rasd:Parent>99<"), Reason::Dangling),
        ("a card on no network", with("<rasd:Connection>VM Network<", "<rasd:Connection>Other<"), Reason::Dangling),
        ("no CPUs", with("<rasd:VirtualQuantity>2<", "<rasd:VirtualQuantity>0<"), Reason::Size),
        ("a million CPUs", with("<rasd:VirtualQuantity>2<", "<rasd:VirtualQuantity>1000000<"), Reason::Size),
        (
            "memory beyond all",
            with("<rasd:VirtualQuantity>256<", "<rasd:VirtualQuantity>18446744073709551615<"),
            Reason::Size,
        ),
        ("a machine without memory", with("<rasd:ResourceType>4<", "<rasd:ResourceType>24<"), Reason::Missing),
        ("hardware that must be there", with("<rasd:ResourceType>20<", "<rasd:ResourceType>12<"), Reason::Unknown),
        ("two items of one id", with("<rasd:InstanceID>2<", "<rasd:InstanceID>1<"), Reason::Duplicate),
        (
            "an extension that must be understood",
            with("ovf:required=\"false\"><Info>x", "ovf:required=\"true\"><Info>x"),
            Reason::Unknown,
        ),
        (
            "a section of the standard that is not known",
            with(
                "<vmw:StorageSection ovf:required=\"false\"><Info>x</Info></vmw:StorageSection>",
                "<ScaleOutSection/>",
            ),
            Reason::Unknown,
        ),
        (
            "no machine",
            with("<VirtualSystemCollection", "<VirtualSystemCollection ovf:id='x'/><!--")
                .replace("</VirtualSystemCollection>", "-->"),
            Reason::Missing,
        ),
        ("two machines of one id", with("ovf:id=\"web\"><Info>a vm", "ovf:id=\"db\"><Info>a vm"), Reason::Duplicate),
        (
            "two hundred machines",
            with("<VirtualSystem ovf:id=\"db\"", &format!("{systems}<VirtualSystem ovf:id=\"db\"")),
            Reason::TooMany,
        ),
    ]
}

fn archives() -> Vec<(&'static str, Vec<u8>, Reason)> {
    let ovf = OVF.as_bytes();
    let disk = vmdk();
    let kind = |kind: u8| {
        let mut out = vec![];
        entry(&mut out, "shop.ovf", ovf);
        out.extend(header("disk1.vmdk", "00000000000", kind));
        end(out)
    };
    let sized = |size: &str| {
        let mut out = vec![];
        entry(&mut out, "shop.ovf", ovf);
        out.extend(header("disk1.vmdk", size, b'0'));
        end(out)
    };
    let pax = |record: &str| {
        let mut out = vec![];
        entry(&mut out, "shop.ovf", ovf);
        let record = format!("{} {record}\n", record.len() + 4);
        out.extend(header("pax", &format!("{:011o}", record.len()), b'x'));
        out.extend(record.as_bytes());
        out.resize(out.len().next_multiple_of(512), 0);
        entry(&mut out, "disk1.vmdk", &disk);
        end(out)
    };
    let in_folder = {
        let mut out = vec![];
        entry(&mut out, "shop.ovf", ovf);
        let mut block = header("disk1.vmdk", "00000000000", b'0');
        block[345..348].copy_from_slice(b"../");
        seal(&mut block);
        out.extend(block);
        end(out)
    };
    let manifest = |text: String| tar(&[("shop.ovf", ovf), ("shop.mf", text.as_bytes()), ("disk1.vmdk", &disk)]);
    let sums = (hashes(ovf).sha256, hashes(&disk).sha256);
    let mut tampered = disk.clone();
    tampered[1500] ^= 1;
    let signed = format!("SHA256(shop.ovf)= {}\nSHA256(disk1.vmdk)= {}\n", sums.0, sums.1);
    let mut packed = vec![0; 1536];
    packed[..3].copy_from_slice(b"\x1f\x8b\x08");
    let other = |bytes: &[u8]| tar(&[("shop.ovf", ovf), ("disk1.vmdk", bytes)]);
    let patched = |at: usize, bytes: &[u8]| {
        let mut disk = disk.clone();
        disk[at..at + bytes.len()].copy_from_slice(bytes);
        other(&disk)
    };
    let mut broken = good();
    broken[0] ^= 1;
    let mut trailing = good();
    trailing.extend(b"hidden");
    let mut backed = qcow2(1 << 20);
    backed[15] = 1;
    backed.resize(1536, 0);
    let flat = b"createType=\"monolithicFlat\"\nRW 8192 FLAT \"/etc/shadow\" 0\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let hint = b"createType=\"streamOptimized\"\nparentFileNameHint=\"/dev/sda\"\n";
    vec![
        ("an empty file", vec![], Reason::Truncated),
        ("an empty archive", end(vec![]), Reason::Missing),
        ("no archive", vec![b'x'; 2048], Reason::Malformed),
        ("a header whose sum is wrong", broken, Reason::Malformed),
        ("an archive that ends in the descriptor", good()[..2048].to_vec(), Reason::Size),
        (
            "an archive that ends in a disk",
            {
                let whole = good();
                whole[..whole.len() - 1536].to_vec()
            },
            Reason::Size,
        ),
        (
            "an archive without its end",
            {
                let whole = good();
                whole[..whole.len() - 1024].to_vec()
            },
            Reason::Truncated,
        ),
        ("something behind the end", trailing, Reason::Malformed),
        ("no descriptor", tar(&[("disk1.vmdk", &disk)]), Reason::Missing),
        ("the descriptor last", tar(&[("disk1.vmdk", &disk), ("shop.ovf", ovf)]), Reason::Missing),
        ("two descriptors", tar(&[("shop.ovf", ovf), ("b.ovf", ovf), ("disk1.vmdk", &disk)]), Reason::Duplicate),
        ("a file twice", tar(&[("shop.ovf", ovf), ("disk1.vmdk", &disk), ("disk1.vmdk", &disk)]), Reason::Duplicate),
        ("a missing disk", tar(&[("shop.ovf", ovf)]), Reason::Dangling),
        (
            "a file that nobody named",
            tar(&[("shop.ovf", ovf), ("disk1.vmdk", &disk), ("x.sh", b"#!/bin/sh")]),
            Reason::Unknown,
        ),
        ("a path out of the archive", tar(&[("shop.ovf", ovf), ("../disk1.vmdk", &disk)]), Reason::Path),
        ("an absolute path", tar(&[("shop.ovf", ovf), ("/etc/passwd", &disk)]), Reason::Path),
        ("a path with a line's end", tar(&[("shop.ovf", ovf), ("a\nb", &disk)]), Reason::Path),
        ("a folder by its prefix", in_folder, Reason::Path),
        ("a symbolic link", kind(b'2'), Reason::NotAFile),
        ("a hard link", kind(b'1'), Reason::NotAFile),
        ("a folder", kind(b'5'), Reason::NotAFile),
        ("a device", kind(b'3'), Reason::NotAFile),
        ("a pipe", kind(b'6'), Reason::NotAFile),
        ("a sparse file", kind(b'S'), Reason::NotAFile),
        ("a long name of GNU", kind(b'L'), Reason::Path),
        ("a size beyond the archive", sized("00077777777"), Reason::Size),
        ("a negative size", sized("-0000000001"), Reason::Size),
        ("a size that is no number", sized("hello"), Reason::Size),
        ("a name in an extended header", pax("path=../../x"), Reason::Path),
        ("a size in an extended header that lies", pax("size=99999999999999999"), Reason::Size),
        ("a disk of another size than said", other(&[&disk[..], &[0; 512]].concat()), Reason::Size),
        ("a disk larger inside than said", patched(12, &(1u64 << 40).to_le_bytes()[..8]), Reason::Size),
        ("a packed disk", other(&packed), Reason::Compressed),
        ("a disk that would read the server's files", patched(512, flat), Reason::Backing),
        ("a disk with a parent", patched(512, hint), Reason::Backing),
        ("a qcow2 with a backing file", other(&backed), Reason::Backing),
        ("an ISO as a disk", other(&iso(20)), Reason::Size),
        (
            "a wrong sum",
            manifest(format!("SHA256(shop.ovf)= {}\nSHA256(disk1.vmdk)= {}\n", sums.0, "0".repeat(64))),
            Reason::Checksum,
        ),
        (
            "a disk that was changed",
            tar(&[("shop.ovf", ovf), ("shop.mf", signed.as_bytes()), ("disk1.vmdk", &tampered)]),
            Reason::Checksum,
        ),
        ("a file that the manifest leaves out", manifest(format!("SHA256(shop.ovf)= {}\n", sums.0)), Reason::Checksum),
        (
            "a manifest with a file that is not there",
            manifest(format!("{signed}SHA256(x.vmdk)= {}\n", sums.1)),
            Reason::Dangling,
        ),
        ("a manifest that is none", manifest("hello".into()), Reason::Malformed),
        ("a manifest too large", manifest("#".repeat(300 << 10)), Reason::TooLarge),
        (
            "two manifests",
            tar(&[("shop.ovf", ovf), ("a.mf", signed.as_bytes()), ("b.mf", signed.as_bytes()), ("disk1.vmdk", &disk)]),
            Reason::Duplicate,
        ),
    ]
}

fn images() -> Vec<(&'static str, Vec<u8>, Reason)> {
    let set = |mut bytes: Vec<u8>, at: usize, value: &[u8]| {
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    let good = qcow2(1 << 30);
    vec![
        ("nothing", vec![], Reason::Size),
        ("a qcow2 with a backing file", set(good.clone(), 8, &[0, 0, 0, 0, 0, 0, 2, 0]), Reason::Backing),
        ("a qcow2 with its data elsewhere", set(good.clone(), 79, &[4]), Reason::Backing),
        ("a qcow2 that is encrypted", set(good.clone(), 35, &[1]), Reason::Format),
        ("a qcow2 of a later kind", set(good.clone(), 7, &[9]), Reason::Format),
        ("a qcow2 of an endless size", set(good.clone(), 24, &[0xff; 8]), Reason::Size),
        ("a qcow2 whose tables are not there", set(good.clone(), 40, &[0, 0, 0, 9, 0, 0, 0, 0]), Reason::Truncated),
        ("a qcow2 that is cut off", good[..20].to_vec(), Reason::Truncated),
        ("a VMDK cut off", vmdk()[..600].to_vec(), Reason::Format),
        ("an ISO that is cut off", iso(100_000), Reason::Truncated),
        ("gzip", b"\x1f\x8b\x08\0".to_vec(), Reason::Compressed),
        ("xz", b"\xfd7zXZ\0".to_vec(), Reason::Compressed),
        ("zip", b"PK\x03\x04".to_vec(), Reason::Compressed),
        ("VHDX", b"vhdxfile".to_vec(), Reason::Format),
        ("a text", b"hello".to_vec(), Reason::Format),
    ]
}

fn told(name: &str, result: Result<(), Refused>, reason: Reason) -> Option<String> {
    match result {
        Err(refused) if refused.reason == reason && !refused.message.is_empty() => None,
        other => Some(format!("{name}: wanted {reason:?}, got {other:?}")),
    }
}

#[test]
fn every_hostile_file_is_refused_for_its_own_reason_and_soon() {
    let started = Instant::now();
    let mut wrong = vec![];
    let (descriptors, archives, images) = (descriptors(), archives(), images());
    assert!(descriptors.len() + archives.len() + images.len() >= 100);
    for (name, text, reason) in descriptors {
        wrong.extend(told(name, Envelope::parse(text.as_bytes()).map(drop), reason));
    }
    for (name, bytes, reason) in archives {
        wrong.extend(told(name, read_ova(bytes.as_slice(), bytes.len() as u64).map(drop), reason));
    }
    for (name, bytes, reason) in images {
        wrong.extend(told(name, recognise("disk", &bytes, bytes.len() as u64).map(drop), reason));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(started.elapsed() < Duration::from_secs(20), "it took {:?}", started.elapsed());
}
