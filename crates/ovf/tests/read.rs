//! What is right is read as it was meant.
mod common;
use common::{OVF, good, hashes, iso, qcow2, tar, vmdk};
use ovf::{Bus, Envelope, Format, read_ova, recognise};

#[test]
fn a_descriptor_with_two_machines_is_read_in_full() {
    let envelope = Envelope::parse(OVF.as_bytes()).expect("good");
    assert_eq!(envelope.name, "The shop");
    assert_eq!((envelope.disks[0].capacity, envelope.disks[1].capacity), (4 << 20, 2 << 30));
    assert_eq!(envelope.properties[0].key, "com.shop.host");
    assert!(envelope.properties[0].user_configurable);
    assert!(envelope.ignored.contains(&"StorageSection".to_owned()), "{:?}", envelope.ignored);
    let [db, web] = envelope.systems.as_slice() else { panic!("two machines") };
    assert_eq!((db.name.as_str(), db.cpus, db.memory_mb, db.cdroms, db.efi), ("Data", 2, 256, 1, true));
    assert_eq!((db.os_type.as_str(), db.os.as_str(), db.os_id), ("ubuntu64Guest", "Ubuntu Linux (64-bit)", Some(94)));
    let disks: Vec<_> = db.disks.iter().map(|d| (d.disk.as_str(), d.bus, d.unit, d.file.as_deref())).collect();
    assert_eq!(disks, [("vmdisk1", Bus::Sata, 0, Some("disk1.vmdk")), ("empty", Bus::Sata, 1, None)]);
    assert_eq!((db.nics[0].network.as_str(), db.nics[0].model.as_str()), ("VM Network", "VmxNet3"));
    assert_eq!((web.name.as_str(), web.memory_mb, web.start_order, web.start_delay_s), ("web", 512, 2, 30));
}

#[test]
fn an_archive_gives_the_places_of_its_files_and_their_sums() {
    let archive = good();
    let ova = read_ova(archive.as_slice(), archive.len() as u64).expect("good");
    assert!(!ova.verified);
    let disk = &ova.files[0];
    let at = usize::try_from(disk.offset).expect("small");
    assert_eq!(&archive[at..at + 1536], vmdk().as_slice());
    assert_eq!(disk.hashes.sha256, hashes(&vmdk()).sha256);
    assert_eq!(disk.image.as_ref().map(|i| (i.format, i.virtual_size)), Ok((Format::Vmdk, 4 << 20)));
}

#[test]
fn a_manifest_counts_wherever_it_stands_and_with_each_kind_of_sum() {
    let (ovf, disk) = (hashes(OVF.as_bytes()), hashes(&vmdk()));
    for (word, ovf, disk) in
        [("SHA1", &ovf.sha1, &disk.sha1), ("SHA256", &ovf.sha256, &disk.sha256), ("SHA512", &ovf.sha512, &disk.sha512)]
    {
        let manifest = format!("{word}(shop.ovf)= {ovf}\n{word}(disk1.vmdk)= {disk}\n");
        for last in [false, true] {
            let mut files = vec![("shop.ovf", OVF.as_bytes().to_vec()), ("disk1.vmdk", vmdk())];
            files.insert(if last { 2 } else { 1 }, ("shop.mf", manifest.clone().into_bytes()));
            let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
            let archive = tar(&files);
            let ova =
                read_ova(archive.as_slice(), archive.len() as u64).unwrap_or_else(|e| panic!("{word} {last}: {e}"));
            assert!(ova.verified);
            assert_eq!(ova.files.len(), 1);
        }
    }
}

#[test]
fn images_are_known_by_their_first_bytes() {
    let kinds = [
        (qcow2(10 << 30), Format::Qcow2, 10 << 30),
        (vmdk(), Format::Vmdk, 4 << 20),
        (vec![1; 1024], Format::Raw, 1024),
    ];
    for (bytes, format, size) in kinds {
        let image = recognise("x", &bytes, bytes.len() as u64).expect("good");
        assert_eq!((image.format, image.virtual_size), (format, size));
    }
    let iso = iso(20);
    assert_eq!(recognise("x", &iso, iso.len() as u64).map(|i| i.format), Ok(Format::Iso));
}

#[test]
fn only_the_configuration_that_counts_by_default_is_read() {
    let options = "<DeploymentOptionSection><Info/><Configuration ovf:id='small'/><Configuration ovf:id='large' ovf:default='true'/></DeploymentOptionSection>";
    let item = |configuration: &str, cpus: u32| {
        format!(
            "<Item ovf:configuration='{configuration}'><rasd:ElementName>cpu</rasd:ElementName><rasd:InstanceID>1</rasd:InstanceID>\
             <rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>{cpus}</rasd:VirtualQuantity></Item>"
        )
    };
    let text = OVF.replacen("<VirtualSystemCollection", &format!("{options}<VirtualSystemCollection"), 1).replacen(
        "</VirtualHardwareSection>",
        &format!("{}{}</VirtualHardwareSection>", item("small", 1), item("large", 8)),
        1,
    );
    assert_eq!(Envelope::parse(text.as_bytes()).expect("good").systems[0].cpus, 8);
}
