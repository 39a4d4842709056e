//! The smaller sections of a machine: its system, capabilities, boot options, what is known while it runs, and its environment.
use super::{hardware::keep, reconfigure, spec};
use crate::{
    answer::Answer,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, link},
        media, status,
    },
};
use domain::{guest as told, vm};
use model::{
    Error, Kind, Result,
    hardware::Firmware,
    vm::{Besides, BootOptions, Vm},
};
use std::fmt::Display;
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vApp/vm-{id}/operatingSystemSection", get_system)
        .put("/api/vApp/vm-{id}/operatingSystemSection", set_system)
        .get("/api/vApp/vm-{id}/vmCapabilities", get_capabilities)
        .put("/api/vApp/vm-{id}/vmCapabilities", set_capabilities)
        .get("/api/vApp/vm-{id}/bootOptions", get_boot)
        .put("/api/vApp/vm-{id}/bootOptions", set_boot)
        .post("/api/vApp/vm-{id}/action/bootOptions", set_boot)
        .get("/api/vApp/vm-{id}/runtimeInfoSection", get_runtime)
        .get("/api/vApp/vm-{id}/environment", environment)
        .post("/api/vApp/vm-{id}/action/enableNestedHypervisor", |ask| nested(ask, true))
        .post("/api/vApp/vm-{id}/action/disableNestedHypervisor", |ask| nested(ask, false))
        .post("/api/vApp/vm-{id}/action/upgradeHardwareVersion", upgrade)
        .post("/api/vApp/vm-{id}/action/consolidate", consolidate)
}

async fn found(ask: &Ask) -> Result<Vm> {
    vm::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await
}

pub(crate) fn operating_system(w: &mut Writer, ask: &Ask, vm: &Vm) {
    system(w, "ovf:OperatingSystemSection", ask, vm);
}

fn system_attributes(ask: &Ask, vm: &Vm) -> [(&'static str, String); 4] {
    [
        ("ovf:id", "101".to_owned()),
        ("vcloud:href", format!("{}/operatingSystemSection/", ask.base().vm(vm.id))),
        ("vcloud:type", media::OPERATING_SYSTEM.to_owned()),
        ("vmw:osType", spec::os_type(vm).to_owned()),
    ]
}

fn system(w: &mut Writer, name: &str, ask: &Ask, vm: &Vm) {
    let attributes = system_attributes(ask, vm);
    let attributes: Vec<(&str, &dyn Display)> = attributes.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
    w.el(name, &attributes, |w| system_content(w, ask, vm));
}

fn system_content(w: &mut Writer, ask: &Ask, vm: &Vm) {
    w.text("ovf:Info", "Specifies the operating system installed");
    w.text("ovf:Description", if vm.os.is_empty() { &vm.guest_os } else { &vm.os });
    link(w, "edit", format_args!("{}/operatingSystemSection/", ask.base().vm(vm.id)), media::OPERATING_SYSTEM);
}

async fn get_system(ask: Ask) -> Result<Answer> {
    let vm = found(&ask).await?;
    let attributes = system_attributes(&ask, &vm);
    let attributes: Vec<(&str, &dyn Display)> = attributes.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
    let text = document("ovf:OperatingSystemSection", &attributes, |w| system_content(w, &ask, &vm));
    Ok(Answer::xml(media::OPERATING_SYSTEM, text))
}

async fn set_system(ask: Ask) -> Result<Answer> {
    let body = ask.xml("OperatingSystemSection")?;
    let vm = found(&ask).await?;
    let os_type = body.attr("osType").unwrap_or_default().trim().to_owned();
    if os_type == spec::os_type(&vm) {
        return reconfigure::nothing(&ask, &vm).await;
    }
    let besides = Besides { os_type: kind_of_system(&os_type)?, ..vm.besides.clone() };
    keep(&ask, &vm, besides).await
}

/// A word such as `ubuntu64Guest`; which of them there are is the client's to know.
pub(crate) fn kind_of_system(word: &str) -> Result<String> {
    match word.len() <= 64 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        true => Ok(word.to_owned()),
        false => Err(Error::BadRequest(format!("“{}” is no kind of operating system.", crate::ask::shown(word)))),
    }
}

pub(crate) fn capabilities(w: &mut Writer, ask: &Ask, vm: &Vm) {
    let href = format!("{}/vmCapabilities/", ask.base().vm(vm.id));
    w.el("VmCapabilities", &[("href", &href), ("type", &media::VM_CAPABILITIES)], |w| flags(w, &href, vm));
}

fn flags(w: &mut Writer, href: &str, vm: &Vm) {
    link(w, "edit", href, media::VM_CAPABILITIES);
    w.text("MemoryHotAddEnabled", vm.besides.memory_hot_add);
    w.text("CpuHotAddEnabled", vm.besides.cpu_hot_add);
}

async fn get_capabilities(ask: Ask) -> Result<Answer> {
    let vm = found(&ask).await?;
    let href = format!("{}/vmCapabilities/", ask.base().vm(vm.id));
    let text =
        document("VmCapabilities", &[("href", &href), ("type", &media::VM_CAPABILITIES)], |w| flags(w, &href, &vm));
    Ok(Answer::xml(media::VM_CAPABILITIES, text))
}

async fn set_capabilities(ask: Ask) -> Result<Answer> {
    let body = ask.xml("VmCapabilities")?;
    let vm = found(&ask).await?;
    let besides = with_capabilities(&body, vm.besides.clone())?;
    keep(&ask, &vm, besides).await
}

/// What is left out is false.
pub(crate) fn with_capabilities(section: &Element, now: Besides) -> Result<Besides> {
    Ok(Besides {
        cpu_hot_add: section.on("CpuHotAddEnabled")?,
        memory_hot_add: section.on("MemoryHotAddEnabled")?,
        ..now
    })
}

/// For a machine of which nobody said another one.
const ANY_PROTOCOL: &str = "IPV4";

pub(crate) fn boot_options(w: &mut Writer, ask: &Ask, vm: &Vm) {
    let href = format!("{}/bootOptions/", ask.base().vm(vm.id));
    w.el("BootOptions", &[("href", &href)], |w| boot(w, vm));
}

fn boot(w: &mut Writer, vm: &Vm) {
    let b = &vm.besides.boot;
    let secure = b.secure || vm.built().firmware == Firmware::Secure;
    w.text("BootDelay", b.delay_ms);
    w.text("EnterBIOSSetup", b.enter_setup);
    w.text("BootRetryEnabled", b.retry);
    w.text("BootRetryDelay", b.retry_delay_ms);
    w.text("EfiSecureBootEnabled", secure);
    w.text("NetworkBootProtocol", if b.network_protocol.is_empty() { ANY_PROTOCOL } else { &b.network_protocol });
}

async fn get_boot(ask: Ask) -> Result<Answer> {
    let vm = found(&ask).await?;
    let href = format!("{}/bootOptions/", ask.base().vm(vm.id));
    let text = document("BootOptions", &[("href", &href)], |w| boot(w, &vm));
    Ok(Answer::xml("application/vnd.vmware.vcloud.bootOptions+xml", text))
}

/// Over what is there: what is left out stays.
pub(crate) fn read_boot(e: &Element, now: &BootOptions) -> Result<BootOptions> {
    Ok(BootOptions {
        delay_ms: e.number("BootDelay")?.unwrap_or(now.delay_ms),
        enter_setup: e.flag("EnterBIOSSetup")?.unwrap_or(now.enter_setup),
        retry: e.flag("BootRetryEnabled")?.unwrap_or(now.retry),
        retry_delay_ms: e.number("BootRetryDelay")?.unwrap_or(now.retry_delay_ms),
        secure: e.flag("EfiSecureBootEnabled")?.unwrap_or(now.secure),
        network_protocol: match e.word("NetworkBootProtocol") {
            // what we say by ourselves is not the client's choice
            None | Some(ANY_PROTOCOL) if now.network_protocol.is_empty() => String::new(),
            said => said.unwrap_or(&now.network_protocol).chars().take(16).collect(),
        },
    })
}

async fn set_boot(ask: Ask) -> Result<Answer> {
    let body = ask.xml("BootOptions")?;
    let vm = found(&ask).await?;
    let besides = booted(&vm, &body, vm.besides.clone())?;
    keep(&ask, &vm, besides).await
}

/// With other boot options. Who takes secure boot from a machine of a template leaves it EFI.
pub(crate) fn booted(vm: &Vm, body: &Element, now: Besides) -> Result<Besides> {
    let boot = read_boot(body, &now.boot)?;
    let loses = vm.built().firmware == Firmware::Secure && body.flag("EfiSecureBootEnabled")? == Some(false);
    let firmware = if loses && now.firmware.is_empty() { "efi".to_owned() } else { now.firmware };
    Ok(Besides { boot, firmware, ..now })
}

/// VMware's tools are not what runs in guests here; that an agent answers is seen by the system that it told.
pub(crate) fn runtime(w: &mut Writer, ask: &Ask, vm: &Vm) {
    let href = format!("{}/runtimeInfoSection", ask.base().vm(vm.id));
    let attributes: [(&str, &dyn Display); 2] = [("vcloud:href", &href), ("vcloud:type", &media::RUNTIME_INFO)];
    w.el("RuntimeInfoSection", &attributes, |w| runtime_content(w, vm));
}

fn runtime_content(w: &mut Writer, vm: &Vm) {
    w.text("ovf:Info", "Specifies Runtime info");
    let answers = status::vm(vm).1 == "POWERED_ON" && !vm.guest_os.is_empty();
    w.empty("VMWareTools", &[("version", &if answers { "2147483647" } else { "0" })]);
}

async fn get_runtime(ask: Ask) -> Result<Answer> {
    let vm = found(&ask).await?;
    let href = format!("{}/runtimeInfoSection", ask.base().vm(vm.id));
    let text = document("RuntimeInfoSection", &[("vcloud:href", &href)], |w| runtime_content(w, &vm));
    Ok(Answer::xml(media::RUNTIME_INFO, text))
}

/// What the guest reads of its properties and addresses. It has one while it runs.
async fn environment(ask: Ask) -> Result<Answer> {
    let (vm, guest) = told::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    if !vm.seen.on() {
        return Err(Error::NotNow("Not now: it does not run, so it has no environment.".into()));
    }
    let mut w = Writer::document();
    let ns: [(&str, &dyn Display); 4] = [
        ("xmlns", &"http://schemas.dmtf.org/ovf/environment/1"),
        ("xmlns:oe", &"http://schemas.dmtf.org/ovf/environment/1"),
        ("xmlns:ve", &"http://www.vmware.com/schema/ovfenv"),
        ("oe:id", &""),
    ];
    w.el("Environment", &ns, |w| {
        w.el("PlatformSection", &[], |w| {
            w.text("Kind", "KubeVirt");
            w.text("Version", 1);
            w.text("Vendor", "SSVirt");
            w.text("Locale", "en");
        });
        w.el("PropertySection", &[], |w| {
            for p in guest.properties.iter().filter(|p| !p.password) {
                w.empty("Property", &[("oe:key", &p.key), ("oe:value", &p.value)]);
            }
        });
        w.el("ve:EthernetAdapterSection", &[], |w| {
            for nic in &vm.nics {
                let (mac, network) = (super::nics::mac(nic), super::nics::network_name(nic));
                w.empty(
                    "ve:Adapter",
                    &[("ve:mac", &mac), ("ve:network", &network), ("ve:unitNumber", &nic.spec.index)],
                );
            }
        });
    });
    Ok(Answer::xml("text/xml", w.into_string()))
}

async fn nested(ask: Ask, on: bool) -> Result<Answer> {
    let vm = found(&ask).await?;
    let besides = Besides { nested_hypervisor: on, ..vm.besides.clone() };
    keep(&ask, &vm, besides).await
}

/// To the newest that we name.
async fn upgrade(ask: Ask) -> Result<Answer> {
    let vm = found(&ask).await?;
    let besides = Besides { hardware_version: "vmx-21".into(), ..vm.besides.clone() };
    keep(&ask, &vm, besides).await
}

/// Disks are never chains of deltas here, so nothing is left to be done.
async fn consolidate(ask: Ask) -> Result<Answer> {
    let vm = found(&ask).await?;
    reconfigure::nothing(&ask, &vm).await
}
