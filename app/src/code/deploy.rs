//! A template deployed as a vApp.
use super::{
    AsCode, Site, TASK, Way, curl,
    hcl::{self, Block},
    in_vdc, named, nic, shell, vm,
    xml::{El, OVF, RASD, VCLOUD, el, text},
};
use domain::vapp::{Deploy, Size};
use model::{
    name,
    network::Network,
    nic::IpMode,
    storage::{VdcPolicy, profile_id},
    template::{Template, TemplateVm, vm_id},
    vdc::Vdc,
};

/// `ask`: what the form holds. `networks` and `policies`: of the VDC.
pub fn create(
    site: &Site,
    vdc: &Vdc,
    t: &Template,
    ask: &Deploy,
    networks: &[Network],
    policies: &[VdcPolicy],
) -> AsCode {
    let form = Form { site, vdc, t, ask, networks, policies, name: named(&ask.name, "my-vapp") };
    if ask.version.is_some() {
        let why = "VCD's templates have one version: with code the newest is deployed, as the form without a version does it.";
        return AsCode::of_form(Way::none(why), Way::none(why), Way::none(why));
    }
    if let Some(p) = t.parameters.iter().find(|p| p.needed()) {
        let why =
            format!("The template asks for {}, and VCD's API has no place for parameters of templates.", p.label());
        return AsCode::of_form(Way::none(&why), Way::none(&why), Way::none(&why));
    }
    let left_out = "What the template asks for has its defaults: VCD's API has no place for parameters of templates.";
    let default = |name: &String| t.parameters.iter().find(|p| p.name == *name).map(|p| &p.value);
    let others = ask.parameters.iter().any(|(name, value)| default(name) != Some(value));
    let told = ask.guest.ssh_keys.iter().any(|k| !k.trim().is_empty()) || !ask.guest.user_data.trim().is_empty();
    let by_code = |way: Way| {
        way.but_if(others, left_out).but_if(
            told,
            "SSH keys and cloud-init's text are not in it: VCD has no place for them but the portal's form.",
        )
    };
    AsCode::of_form(by_code(form.curl()), by_code(form.vcd()), by_code(form.terraform()))
}

struct Form<'a> {
    site: &'a Site,
    vdc: &'a Vdc,
    t: &'a Template,
    ask: &'a Deploy,
    networks: &'a [Network],
    policies: &'a [VdcPolicy],
    name: &'a str,
}

impl Form<'_> {
    /// As the form does it: a machine that is alone is called like the vApp.
    fn vm_name<'a>(&'a self, m: &'a TemplateVm) -> &'a str {
        if self.t.vms.len() == 1 { self.name } else { &m.name }
    }

    fn size(&self, m: &TemplateVm) -> Size {
        self.ask.sizes.get(&m.name).cloned().unwrap_or_default()
    }

    fn href(&self, path: impl std::fmt::Display) -> String {
        self.site.href(format_args!("api/{path}"))
    }

    fn curl(&self) -> Way {
        let body = el("InstantiateVAppTemplateParams")
            .attrs(&[VCLOUD, OVF, RASD])
            .attr("name", self.name)
            .attr("deploy", self.ask.power_on)
            .attr("powerOn", self.ask.power_on)
            .said("Description", &self.ask.description)
            .with(el("Source").attr("href", self.href(format_args!("vAppTemplate/vappTemplate-{}", self.t.id))))
            // a hub that makes the machines by itself takes no wishes about single ones
            .and(self.t.vms.iter().enumerate().filter(|_| !self.t.by_instance).map(|(i, m)| self.item(i, m)))
            .with(text("AllEULAsAccepted", true));
        let path = format!("api/vdc/{}/action/instantiateVAppTemplate", self.vdc.id);
        Way::code(curl::post_xml(self.site, &path, "instantiateVAppTemplateParams", &body)).but(TASK)
    }

    fn item(&self, i: usize, m: &TemplateVm) -> El {
        let (size, name) = (self.size(m), self.vm_name(m));
        let nics = self.ask.nics.get(&m.name).map(|nics| nic::section(nics, self.networks));
        let guest = (!self.ask.guest.script.trim().is_empty()).then(|| {
            el("GuestCustomizationSection")
                .with(text("ovf:Info", "Guest"))
                .with(text("Enabled", true))
                .with(text("CustomizationScript", &self.ask.guest.script))
        });
        let hardware = [
            size.cpus.map(|n| quantity(1, 3, n.into())),
            size.memory_mb.map(|n| quantity(2, 4, n)),
            size.disk_mb.map(|mb| device(3, 17).with(el("rasd:HostResource").attr("capacity", mb))),
        ];
        let hardware: Vec<El> = hardware.into_iter().flatten().collect();
        let hardware = (!hardware.is_empty())
            .then(|| el("ovf:VirtualHardwareSection").with(text("ovf:Info", "Size")).and(hardware));
        let properties = self.ask.properties.get(&m.name).filter(|all| !all.is_empty()).map(|all| {
            let one = |(key, value): (&String, &String)| {
                el("ovf:Property").attr("ovf:key", key).attr("ovf:type", "string").attr("ovf:value", value)
            };
            el("ovf:ProductSection").with(text("ovf:Info", "Properties")).and(all.iter().map(one))
        });
        let params = el("InstantiationParams").and(nics).and(guest).and(hardware).and(properties);
        let profile = self.policies.iter().find(|p| p.name == size.storage).map(|p| {
            let id = profile_id(self.vdc.id, p.id);
            el("StorageProfile").attr("href", self.href(format_args!("vdcStorageProfile/{id}"))).attr("name", &p.name)
        });
        el("SourcedItem")
            .with(el("Source").attr("href", self.href(format_args!("vAppTemplate/vm-{}", vm_id(self.t.id, i)))))
            .with(el("VmGeneralParams").with(text("Name", name)))
            .with(params)
            .and(profile)
            .and(size.sizing.map(|id| vm::compute_policy(self.site, id)))
    }

    fn vcd(&self) -> Way {
        let mut lines = in_vdc(self.site, &self.vdc.org_name, &self.vdc.name);
        let line = shell::vcd(["vapp", "create", self.name, "-c", &self.t.catalog_name, "-t", &self.t.name]);
        let line = shell::with(line, &[("-d", self.ask.description.trim())]);
        let number = |n: Option<i64>| n.map(|n| n.to_string()).unwrap_or_default();
        let mut note = String::new();
        let line = match self.t.vms.as_slice() {
            [m] if !self.t.by_instance => {
                let size = self.size(m);
                if size.sizing.is_some() {
                    note = "vcd-cli has no sizing policies.".to_owned();
                }
                let host = name::label_from(self.name, 63);
                let line = shell::with(
                    line,
                    &[
                        ("-v", self.name),
                        ("-o", &host),
                        ("-u", &number(size.cpus.map(Into::into))),
                        ("-m", &number(size.memory_mb)),
                        ("-k", &number(size.disk_mb)),
                        ("-s", &size.storage),
                    ],
                );
                match self.ask.nics.get(&m.name).and_then(|n| n.first()).and_then(|n| Some((n, n.attach.network()?))) {
                    Some((nic, id)) => match self.networks.iter().find(|n| n.id == id) {
                        Some(n) => {
                            let mode = if nic.mode == IpMode::Dhcp { "dhcp" } else { "pool" };
                            shell::with(line, &[("-n", n.name()), ("-i", mode)])
                        }
                        None => line,
                    },
                    None => line,
                }
            }
            _ => {
                note = "Its VMs are as the template has them: vcd-cli takes sizes for one VM alone.".to_owned();
                line
            }
        };
        lines.push(line + " -a");
        if !self.ask.power_on {
            lines.push(shell::vcd(["vapp", "power-off", self.name]) + " --yes");
            note += " It is powered on by vcd-cli whatever is said, and powered off again.";
        }
        let way = Way::vcd([self.name], lines);
        if note.is_empty() { way } else { way.but(note.trim()) }
    }

    fn terraform(&self) -> Way {
        let (t, vdc) = (self.t, self.vdc);
        let catalog =
            Block::data("vcd_catalog", &t.catalog_name).text("org", &t.org_name).text("name", &t.catalog_name);
        let template = Block::data("vcd_catalog_vapp_template", &t.name)
            .text("org", &t.org_name)
            .is("catalog_id", format_args!("data.vcd_catalog.{}.id", hcl::label(&t.catalog_name)))
            .text("name", &t.name);
        let vapp = hcl::in_vdc(Block::resource("vcd_vapp", self.name), &vdc.org_name, &vdc.name)
            .text("name", self.name)
            .said("description", &self.ask.description);
        let vapp_name = format!("vcd_vapp.{}.name", hcl::label(self.name));
        let mut blocks = vec![catalog, template, vapp];
        let mut seen: Vec<String> = Vec::new();
        for m in &t.vms {
            let (name, size) = (self.vm_name(m), self.size(m));
            let nics = self.ask.nics.get(&m.name).cloned().unwrap_or_default();
            let label = hcl::label(self.name);
            let (beside, inside) = nic::blocks((&vdc.org_name, &vdc.name, &label, &vapp_name), &nics, self.networks);
            for block in beside {
                // machines on one network share the vApp's way to it
                let text = block.to_string();
                if !seen.contains(&text) {
                    seen.push(text);
                    blocks.push(block);
                }
            }
            let block = hcl::in_vdc(Block::resource("vcd_vapp_vm", name), &vdc.org_name, &vdc.name)
                .is("vapp_name", &vapp_name)
                .text("name", name)
                .text("computer_name", &name::label_from(name, 63))
                .is("vapp_template_id", format_args!("data.vcd_catalog_vapp_template.{}.id", hcl::label(&t.name)));
            let block = if t.vms.len() > 1 { block.text("vm_name_in_template", &m.name) } else { block };
            let block =
                vm::sized(block, size.sizing, size.cpus.unwrap_or(m.cpus), size.memory_mb.unwrap_or(m.memory_mb));
            let block = block.said("storage_profile", &size.storage).is("power_on", self.ask.power_on).and(inside);
            let script = self.ask.guest.script.trim();
            let guest = (!script.is_empty())
                .then(|| Block::new("customization").is("enabled", true).text("initscript", &self.ask.guest.script));
            blocks.push(block.and(guest));
        }
        let nics: Vec<_> = self.ask.nics.values().flatten().cloned().collect();
        let larger = t.vms.iter().any(|m| self.size(m).disk_mb.is_some());
        hcl::all(blocks)
            .but_if(
                nic::hidden(&nics),
                "The provider has no word for the VDC's own network; a VM without a network block is on it.",
            )
            .but_if(larger, "Its disks are as large as the template's; a larger one takes override_template_disk.")
    }
}

fn device(instance: u8, kind: u8) -> El {
    el("ovf:Item")
        .with(text("rasd:ElementName", "device"))
        .with(text("rasd:InstanceID", instance))
        .with(text("rasd:ResourceType", kind))
}

fn quantity(instance: u8, kind: u8, n: i64) -> El {
    device(instance, kind).with(text("rasd:VirtualQuantity", n))
}
