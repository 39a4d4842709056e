//! Versions of virtual hardware, and the systems that clients may name for a machine. To hubs neither means anything: a machine's
//! hardware is what KubeVirt gives it.
use crate::{
    answer::Answer,
    ask::Ask,
    routes::Routes,
    wire::{
        doc::{document, link},
        media,
        units::HARDWARE_VERSIONS,
    },
};
use domain::vdc;
use model::{
    Error, Kind, Result,
    disk::MOST_IN_VM,
    nic::MOST_NICS,
    vm::{MOST_CPUS, MOST_MEMORY_MB},
};
use std::fmt::Display;
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.get("/api/vdc/{id}/hwv/{version}", get).get("/api/supportedSystemsInfo", all)
}

/// What VCD calls a system, and what people call it.
type System = (&'static str, &'static str);

const WINDOWS: &[System] = &[
    ("windows2019srvNext_64Guest", "Microsoft Windows Server 2022 (64-bit)"),
    ("windows2022srvNext_64Guest", "Microsoft Windows Server 2025 (64-bit)"),
    ("windows2019srv_64Guest", "Microsoft Windows Server 2019 (64-bit)"),
    ("windows9Server64Guest", "Microsoft Windows Server 2016 or later (64-bit)"),
    ("windows11_64Guest", "Microsoft Windows 11 (64-bit)"),
    ("windows9_64Guest", "Microsoft Windows 10 (64-bit)"),
];

const LINUX: &[System] = &[
    ("almalinux_64Guest", "AlmaLinux (64-bit)"),
    ("centos7_64Guest", "CentOS 7 (64-bit)"),
    ("centos8_64Guest", "CentOS 8 (64-bit)"),
    ("centos9_64Guest", "CentOS 9 or later (64-bit)"),
    ("debian10Guest", "Debian GNU/Linux 10 (32-bit)"),
    ("debian10_64Guest", "Debian GNU/Linux 10 (64-bit)"),
    ("debian11_64Guest", "Debian GNU/Linux 11 (64-bit)"),
    ("debian12_64Guest", "Debian GNU/Linux 12 (64-bit)"),
    ("fedora64Guest", "Fedora (64-bit)"),
    ("opensuse64Guest", "openSUSE (64-bit)"),
    ("oracleLinux8_64Guest", "Oracle Linux 8 (64-bit)"),
    ("oracleLinux9_64Guest", "Oracle Linux 9 or later (64-bit)"),
    ("rhel7_64Guest", "Red Hat Enterprise Linux 7 (64-bit)"),
    ("rhel8_64Guest", "Red Hat Enterprise Linux 8 (64-bit)"),
    ("rhel9_64Guest", "Red Hat Enterprise Linux 9 (64-bit)"),
    ("rockylinux_64Guest", "Rocky Linux (64-bit)"),
    ("sles10_64Guest", "SUSE Linux Enterprise 10 (64-bit)"),
    ("sles11_64Guest", "SUSE Linux Enterprise 11 (64-bit)"),
    ("sles12_64Guest", "SUSE Linux Enterprise 12 (64-bit)"),
    ("sles15_64Guest", "SUSE Linux Enterprise 15 (64-bit)"),
    ("ubuntu64Guest", "Ubuntu Linux (64-bit)"),
    ("otherLinux64Guest", "Other Linux (64-bit)"),
    ("otherLinuxGuest", "Other Linux (32-bit)"),
];

const OTHER: &[System] = &[
    ("freebsd13_64Guest", "FreeBSD 13 (64-bit)"),
    ("otherGuest64", "Other (64-bit)"),
    ("otherGuest", "Other (32-bit)"),
];

async fn get(ask: Ask) -> Result<Answer> {
    let vdc = vdc::get(ask.d(), &ask.actor, ask.id(Kind::Vdc)?).await?;
    let Some(version) = HARDWARE_VERSIONS.into_iter().find(|v| *v == ask.part("version")) else {
        return Err(Error::BadRequest(format!(
            "There is no hardware version {}. There are {}.",
            crate::ask::shown(ask.part("version")),
            HARDWARE_VERSIONS.join(", ")
        )));
    };
    let base = ask.base();
    let href = format!("{}/hwv/{version}", base.vdc(vdc.id));
    let text = document("VirtualHardwareVersion", &[("href", &href), ("type", &media::HARDWARE_VERSION)], |w| {
        link(w, "up", base.vdc(vdc.id), media::VDC);
        w.text("name", version);
        w.text("maxCPUs", MOST_CPUS);
        w.text("maxCoresPerSocket", MOST_CPUS);
        w.text("maxMemorySizeMb", MOST_MEMORY_MB);
        w.text("maxNICs", MOST_NICS);
        for (id, legacy, name) in [
            ("5", "VirtualSCSI", "Paravirtual (SCSI)"),
            ("3", "lsilogic", "LSI Logic Parallel (SCSI)"),
            ("6", "vmware.sata.ahci", "SATA"),
        ] {
            w.el("hardDiskAdapter", &[("id", &id), ("legacyId", &id), ("name", &name)], |w| {
                w.text("maximumDiskSizeGb", model::disk::MOST_MB / 1024);
                w.text("busNumberRanges", "0");
                w.text("unitNumberRanges", format_args!("0-{}", MOST_IN_VM - 1));
                w.text("subType", legacy);
            });
        }
        w.el("supportedOperatingSystems", &[("type", &media::OPERATING_SYSTEMS)], families);
        w.text("supportsHotAdd", true);
        w.text("supportsHotPlugPCI", true);
        w.text("supportsNestedHV", true);
    });
    Ok(Answer::xml(media::HARDWARE_VERSION, text))
}

/// The systems alone.
async fn all(_: Ask) -> Result<Answer> {
    let attributes: [(&str, &dyn Display); 1] = [("type", &media::OPERATING_SYSTEMS)];
    let text = document("SupportedOperatingSystemsInfo", &attributes, families);
    Ok(Answer::xml(media::OPERATING_SYSTEMS, text))
}

fn families(w: &mut Writer) {
    family(w, 1, "Microsoft Windows", WINDOWS);
    family(w, 2, "Linux", LINUX);
    family(w, 3, "Other", OTHER);
}

fn family(w: &mut Writer, id: u8, name: &str, systems: &[System]) {
    w.el("OperatingSystemFamilyInfo", &[], |w| {
        w.text("Name", name);
        w.text("OperatingSystemFamilyId", id);
        for (key, name) in systems {
            let wide = key.contains("64");
            w.el("OperatingSystem", &[], |w| {
                w.text("InternalName", key);
                w.text("Name", name);
                w.text("Supported", true);
                w.text("x64", wide);
                w.text("SupportedForCreate", true);
                w.text("MinimumHardDiskSizeGigabytes", 1);
                w.text("MinimumMemoryMegabytes", 128);
                for firmware in ["bios", "efi"] {
                    w.text("SupportedFirmware", firmware);
                }
            });
        }
    });
}
