//! An upload that has come in full: read from its beginning to its end, refused by name or made a version of its item.
use crate::{Shared, queue::Outcome};
use model::{
    Result,
    disk::Bus,
    guest::Property,
    hardware::{Firmware, Hardware, Tpm},
    name,
    nic::{Adapter, MOST_NICS},
    template::{ItemKind, TemplateNic, TemplateVm},
    upload::{UploadFile, UploadState},
    vm::Disk,
};
use ovf::{Envelope, Format, Given, HEAD, Hasher, Image, Reason, Refused, System, read_ova, recognise};
use std::io::{BufReader, Read};
use store::{Claim, NewImage, NewVersion, UploadWork};
use transfer::Area;
use uuid::Uuid;

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(work) = shared.store.upload_work(claim.id).await? else { return Ok(Outcome::Done) };
    if work.upload.state != UploadState::Checking {
        return Ok(Outcome::Done);
    }
    let Some(area) = shared.area.clone() else {
        return Ok(Outcome::Retry(None, "images.directory is not set, so uploads can't be read".into()));
    };
    let Ok(_place) = shared.long.try_acquire() else { return Ok(super::image::others_first()) };
    let looked = {
        let work = work.clone();
        tokio::task::spawn_blocking(move || look(&area, &work)).await
    };
    match looked.map_err(|e| model::Error::Internal(format!("an upload could not be read: {e}")))? {
        Ok(mut version) => {
            version.note = work.note.clone();
            version.created_by = work.upload.user_name.clone();
            if !shared.store.version_made(claim, &work.upload, &version).await? {
                return Ok(Outcome::Retry(None, "another worker took it over".into()));
            }
            Ok(Outcome::Done)
        }
        // the directory may come back
        Err(refused) if refused.reason == Reason::Io => Ok(Outcome::Retry(None, refused.to_string().into())),
        Err(refused) => {
            shared.store.upload_failed(&work.upload, &refused.to_string()).await?;
            Ok(Outcome::Done)
        }
    }
}

fn refuse<T>(reason: Reason, at: &str, message: impl Into<String>) -> ovf::Result<T> {
    Err(Refused { reason, at: at.to_owned(), message: message.into() })
}

fn look(area: &Area, work: &UploadWork) -> ovf::Result<NewVersion> {
    let upload = &work.upload;
    let Some(first) = upload.files.first() else { return refuse(Reason::Missing, "", "Nothing was uploaded.") };
    let suffix = first.name.rsplit_once('.').map_or("", |(_, s)| s).to_ascii_lowercase();
    match (upload.kind, suffix.as_str()) {
        (ItemKind::Media, _) => media(area, work, first),
        (ItemKind::Template, "ova") => ova(area, work, first),
        (ItemKind::Template, "ovf") => loose(area, work, first),
        (ItemKind::Template, _) => disk(area, work, first),
    }
}

fn open(area: &Area, file: &UploadFile) -> ovf::Result<std::fs::File> {
    area.open(file.id).map_err(|e| Refused { reason: Reason::Io, at: file.name.clone(), message: e.to_string() })
}

/// The first bytes of a file, and its sum.
fn pass(area: &Area, work: &UploadWork, file: &UploadFile) -> ovf::Result<(Vec<u8>, String)> {
    let mut open = open(area, file)?;
    let (mut hasher, mut head, mut all) = (Hasher::new(false), Vec::with_capacity(HEAD), 0);
    let mut buffer = vec![0; 256 << 10];
    loop {
        let n = open.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
        let more = (HEAD - head.len()).min(n);
        head.extend_from_slice(&buffer[..more]);
        all += n as i64;
    }
    if all != file.size {
        return refuse(Reason::Size, &file.name, format!("{all} bytes are there, and {} were to come.", file.size));
    }
    let sum = hasher.finish().sha256;
    promised(work, file, &sum)?;
    Ok((head, sum))
}

/// What the sender said it would be.
fn promised(work: &UploadWork, file: &UploadFile, sum: &str) -> ovf::Result<()> {
    match work.sums.iter().find(|(id, _)| *id == file.id) {
        Some((_, said)) if !said.is_empty() && !said.eq_ignore_ascii_case(sum) => refuse(
            Reason::Checksum,
            &file.name,
            "Its SHA-256 is not what was promised: it was damaged on its way. Upload it again.",
        ),
        _ => Ok(()),
    }
}

fn image(file: &UploadFile, name: &str, (position, size): (u64, u64), image: Image, sha256: String) -> NewImage {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    NewImage {
        id: Uuid::now_v7(),
        file: file.id,
        name: name.to_owned(),
        position: number(position),
        size: number(size),
        virtual_size: number(image.virtual_size),
        format: image.format.key().to_owned(),
        sha256,
    }
}

fn media(area: &Area, work: &UploadWork, file: &UploadFile) -> ovf::Result<NewVersion> {
    let (head, sum) = pass(area, work, file)?;
    let size = file.size.unsigned_abs();
    let found = recognise(&file.name, &head, size)?;
    if found.format != Format::Iso {
        return refuse(
            Reason::Format,
            &file.name,
            format!("It is {}, and media are ISO images. Upload it as a template.", found.format.words()),
        );
    }
    Ok(NewVersion { images: vec![image(file, &file.name, (0, size), found, sum)], ..NewVersion::default() })
}

/// A single disk: one machine with it. How large that is is chosen when it is deployed.
fn disk(area: &Area, work: &UploadWork, file: &UploadFile) -> ovf::Result<NewVersion> {
    let (head, sum) = pass(area, work, file)?;
    let size = file.size.unsigned_abs();
    let found = recognise(&file.name, &head, size)?;
    if !found.format.is_disk() {
        return refuse(Reason::Format, &file.name, "It is an ISO image, which can't be deployed. Upload it as media.");
    }
    let disk = image(file, &file.name, (0, size), found, sum);
    let vm = TemplateVm {
        name: "vm".into(),
        cpus: 1,
        memory_mb: 1024,
        disks: vec![Disk {
            name: "root".into(),
            size_mb: megabytes(found.virtual_size),
            image: reference(&disk),
            ..Disk::default()
        }],
        nics: vec![TemplateNic { name: "nic-0".into(), ..TemplateNic::default() }],
        ..TemplateVm::default()
    };
    Ok(NewVersion { vms: vec![vm], images: vec![disk], ..NewVersion::default() })
}

fn ova(area: &Area, work: &UploadWork, file: &UploadFile) -> ovf::Result<NewVersion> {
    let archive = BufReader::with_capacity(256 << 10, open(area, file)?);
    let found = read_ova(archive, file.size.unsigned_abs())?;
    if work.sums.iter().any(|(id, said)| *id == file.id && !said.is_empty()) {
        pass(area, work, file)?;
    }
    let mut images = Vec::new();
    for packed in &found.files {
        let Ok(known) = packed.image else { continue };
        images.push(image(file, &packed.name, (packed.offset, packed.size), known, packed.hashes.sha256.clone()));
    }
    version(&found.envelope, images)
}

fn loose(area: &Area, work: &UploadWork, descriptor: &UploadFile) -> ovf::Result<NewVersion> {
    let mut bytes = Vec::new();
    open(area, descriptor)?.take(ovf::limit::DESCRIPTOR_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let envelope = Envelope::parse(&bytes)?;
    let mut found = Vec::new();
    for file in work.upload.files.iter().skip(1) {
        let (head, sum) = pass(area, work, file)?;
        found.push((file, recognise(&file.name, &head, file.size.unsigned_abs()), sum));
    }
    let given: Vec<Given<'_>> =
        found.iter().map(|(f, image, _)| Given { name: &f.name, size: f.size.unsigned_abs(), image }).collect();
    envelope.check(&given)?;
    let images = found.iter().filter_map(|(file, known, sum)| {
        let known = known.as_ref().ok()?;
        Some(image(file, &file.name, (0, file.size.unsigned_abs()), *known, sum.clone()))
    });
    version(&envelope, images.collect())
}

/// The machines of a descriptor, with the images that their disks are made from. What no disk uses is left out.
fn version(envelope: &Envelope, images: Vec<NewImage>) -> ovf::Result<NewVersion> {
    let mut vms: Vec<TemplateVm> = vec![];
    for system in &envelope.systems {
        let vm = machine(envelope, system, &images, &vms)?;
        vms.push(vm);
    }
    let used = |i: &NewImage| vms.iter().flat_map(|v| &v.disks).any(|d| d.image == reference(i));
    let images = images.iter().filter(|i| used(i)).cloned().collect();
    let os = vms.first().map(|v| v.os.clone()).unwrap_or_default();
    Ok(NewVersion { os, vms, images, ..NewVersion::default() })
}

/// No VM has more, and none is smaller.
const MOST_DISKS: usize = 16;
const LEAST_MEMORY_MB: u64 = 128;

fn machine(
    envelope: &Envelope,
    system: &System,
    images: &[NewImage],
    others: &[TemplateVm],
) -> ovf::Result<TemplateVm> {
    if system.disks.len() > MOST_DISKS {
        return refuse(Reason::TooMany, &system.name, format!("It has more than {MOST_DISKS} disks."));
    }
    let wished = name::check_title(&system.name).unwrap_or_else(|_| format!("vm-{}", others.len() + 1));
    let taken = |n: &str| others.iter().any(|o| o.name.eq_ignore_ascii_case(n));
    let name = if taken(&wished) { format!("{wished} {}", others.len() + 1) } else { wished };
    let disks = system.disks.iter().enumerate().map(|(n, d)| Disk {
        name: if n == 0 { "root".to_owned() } else { format!("disk-{n}") },
        size_mb: megabytes(d.capacity),
        image: d.file.as_ref().and_then(|f| images.iter().find(|i| i.name == *f)).map(reference).unwrap_or_default(),
        bus: bus(d.bus),
        ..Disk::default()
    });
    // the networks they were on stay behind: others are chosen where it is deployed
    let nics = system.nics.iter().take(MOST_NICS).enumerate().map(|(n, nic)| TemplateNic {
        name: format!("nic-{n}"),
        adapter: Adapter::parse(&nic.model).unwrap_or_default(),
    });
    Ok(TemplateVm {
        name,
        cpus: i32::try_from(system.cpus).unwrap_or(1),
        memory_mb: i64::try_from(system.memory_mb.max(LEAST_MEMORY_MB)).unwrap_or(1024),
        disks: disks.collect(),
        nics: nics.collect(),
        os: system.os.clone(),
        hardware: hardware(system),
        start_order: i32::try_from(system.start_order).unwrap_or(0),
        start_delay_s: i32::try_from(system.start_delay_s).unwrap_or(0),
        properties: properties(envelope, system),
        ..TemplateVm::default()
    })
}

fn hardware(system: &System) -> Hardware {
    Hardware {
        firmware: match (system.efi, system.secure_boot) {
            (true, true) => Firmware::Secure,
            (true, false) => Firmware::Efi,
            (false, _) => Firmware::Any,
        },
        tpm: if system.tpm { Tpm::Persistent } else { Tpm::None },
        cores_per_socket: i32::try_from(system.cores_per_socket).unwrap_or(0),
        ..Hardware::default()
    }
}

/// The nearest that hubs have: they know no IDE and no NVMe.
fn bus(bus: ovf::Bus) -> Bus {
    match bus {
        ovf::Bus::Ide | ovf::Bus::Sata => Bus::Sata,
        ovf::Bus::Scsi => Bus::Scsi,
        ovf::Bus::Paravirtual => Bus::Virtio,
        ovf::Bus::Nvme => Bus::Any,
    }
}

/// Those of the whole first; one that the machine has itself counts before them.
fn properties(envelope: &Envelope, system: &System) -> Vec<Property> {
    let one = |p: &ovf::Property, shared: bool| Property {
        key: p.key.clone(),
        kind: p.kind.clone(),
        value: p.value.clone(),
        label: p.label.clone(),
        description: p.description.clone(),
        user_configurable: p.user_configurable,
        password: p.password,
        shared,
    };
    let own = |key: &str| system.properties.iter().any(|p| p.key == key);
    let whole = envelope.properties.iter().filter(|p| !own(&p.key)).map(|p| one(p, true));
    whole.chain(system.properties.iter().map(|p| one(p, false))).collect()
}

fn megabytes(bytes: u64) -> i64 {
    i64::try_from(bytes.div_ceil(1 << 20)).unwrap_or(i64::MAX)
}

/// As a disk names the image that it is made from.
fn reference(image: &NewImage) -> String {
    format!("image/{}", image.id)
}
