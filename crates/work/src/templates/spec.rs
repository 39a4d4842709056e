//! What catalogs show of what a hub has: from templates and images as they were read.
use super::{Found, Known};
use hub::{
    Key,
    read::{self, InstanceType, ObservedImage, TemplateDisk},
};
use model::{
    disk::Bus,
    image::Image,
    nic::Adapter,
    parameter::{Given, Parameter, Takes, is_whole, named, put, value},
    template::{Asks, DiskAsks, TemplateNic, TemplateSpec, TemplateVm},
    vm::Disk,
};

/// The parameter that names machines and disks. Names are ours to choose.
const NAME: &str = "NAME";
/// As much as is kept of what a hub says.
const LONGEST_NAME: usize = 128;
const LONGEST_TITLE: usize = 256;
const LONGEST_TEXT: usize = 2000;

/// Source, uid and what a catalog shows.
pub(super) fn specs(known: &Known, image_namespaces: &[String]) -> Vec<(String, String, TemplateSpec)> {
    let mut all: Vec<(String, String, TemplateSpec)> = Vec::new();
    for (key, found) in known.templates.iter().flatten() {
        let t = &found.template;
        // "hidden" is for the catalog of OpenShift itself: all of its VM templates are
        if t.vms.is_empty() || !t.other_kinds.is_empty() {
            continue;
        }
        all.push((format!("template/{}/{}", key.namespace, key.name), t.meta.uid.clone(), of_template(found, known)));
    }
    let names: Vec<String> = all.iter().map(|(_, _, spec)| spec.name.clone()).collect();
    let offered = |key: &Key| image_namespaces.iter().any(|namespace| **namespace == *key.namespace);
    for (key, image) in known.images.iter().filter(|(key, image)| image.ready && offered(key)) {
        // an image without an instance type has no size to go by
        let Some(size) = image.default_instance_type.as_ref().and_then(|t| known.types.get(t)) else { continue };
        let name =
            if names.iter().any(|n| **n == *key.name) { format!("{} (image)", key.name) } else { key.name.to_string() };
        let source = format!("datasource/{}/{}", key.namespace, key.name);
        all.push((
            source.clone(),
            image.meta.uid.clone(),
            of_image(&name, &source, image, (size, known.image_mb(&source))),
        ));
    }
    all
}

fn of_template(found: &Found, known: &Known) -> TemplateSpec {
    let t = &found.template;
    let parameters: Vec<Parameter> = t.parameters.iter().filter(|p| p.name != NAME).map(|p| asked(p, found)).collect();
    let vms: Vec<TemplateVm> = t.vms.iter().map(|vm| machine(found, vm, &parameters, known)).collect();
    // OpenShift knows how, whatever it is
    let obstacle = match found.by_instance {
        true => None,
        false => t.vms.iter().zip(&vms).find_map(|(vm, made)| obstacle(vm, made, &parameters)),
    };
    TemplateSpec {
        name: clipped(&t.meta.key.name, LONGEST_NAME),
        title: clipped(
            Some(t.display_name.as_str()).filter(|title| **title != *t.meta.key.name).unwrap_or_default(),
            LONGEST_TITLE,
        ),
        description: clipped(&t.description, LONGEST_TEXT),
        os: t.os_name.clone().unwrap_or_else(|| t.os.first().cloned().unwrap_or_default()),
        icon: t.icon.clone().unwrap_or_default(),
        deprecated: t.deprecated,
        obstacle: obstacle.unwrap_or_default(),
        by_instance: found.by_instance,
        parameters: if found.by_instance { parameters } else { used(parameters, &vms) },
        vms,
    }
}

fn clipped(text: &str, longest: usize) -> String {
    text.chars().take(longest).collect()
}

fn asked(p: &read::Parameter, found: &Found) -> Parameter {
    Parameter {
        name: p.name.clone(),
        label: p.display_name.clone(),
        description: p.description.clone(),
        value: p.value.clone().unwrap_or_default(),
        required: p.required,
        generated: p.generated,
        secret: p.secret,
        bare: found.bare.contains(&p.name),
        ..Parameter::default()
    }
}

fn machine(found: &Found, vm: &read::TemplateVm, parameters: &[Parameter], known: &Known) -> TemplateVm {
    let t = &found.template;
    let typed = vm.instance_type.as_ref().and_then(|name| known.types.get(name));
    let cpus = vm.cpus.or(typed.map(|t| t.cpus)).unwrap_or(0);
    let memory = vm.memory_mb.or(typed.map(|t| t.memory_mb)).unwrap_or(0);
    let disks = vm.disks.iter().filter(|d| !d.cdrom).map(|d| {
        let image = d.image.as_deref().unwrap_or_default();
        let image = put(image, |name| value(parameters, &Given::new(), name));
        Disk {
            name: d.name.clone(),
            size_mb: d.size_mb.unwrap_or_else(|| known.image_mb(&image)),
            image,
            storage_class: d.storage_class.clone().unwrap_or_default(),
            bus: Bus::parse(&d.bus).unwrap_or_default(),
            ..Disk::default()
        }
    });
    let nics = vm.nics.iter().map(|n| TemplateNic {
        name: n.name.clone(),
        adapter: n.model.as_deref().and_then(Adapter::parse).unwrap_or_default(),
    });
    let within = |n: Option<i64>, most: i32| n.map_or(0, |n| i32::try_from(n).unwrap_or(0).clamp(0, most));
    // one that nobody gave a value has none
    let given = |text: &Option<String>| text.clone().filter(|t| !t.contains("${")).unwrap_or_default();
    TemplateVm {
        name: plain(&vm.name, &t.meta.key.name),
        cpus: i32::try_from(cpus).unwrap_or(0),
        memory_mb: memory,
        instance_type: given(&vm.instance_type),
        preference: given(&vm.preference),
        disks: disks.collect(),
        nics: nics.collect(),
        os: vm.os_name.clone().or_else(|| t.os_name.clone()).unwrap_or_default(),
        hardware: vm.hardware.clone(),
        start_order: within(vm.start_order, 1000),
        start_delay_s: within(vm.start_delay_s, 3600),
        properties: Vec::new(),
        asks: if found.by_instance { Asks::default() } else { asks(vm, parameters, t.vms.len() > 1) },
    }
}

/// Where it names parameters. One machine is called like its vApp, `several` have names of their own.
fn asks(vm: &read::TemplateVm, parameters: &[Parameter], several: bool) -> Asks {
    let asks = |text: &str| named(text).iter().any(|name| parameters.iter().any(|p| p.name == *name));
    let text = |text: &str| Some(text.to_owned()).filter(|t| asks(t)).unwrap_or_default();
    let own = put(&vm.says.name, |name| (name == NAME).then(String::new));
    let disk = |d: &TemplateDisk| DiskAsks { image: text(d.image.as_deref().unwrap_or_default()), size: text(&d.size) };
    let disks: Vec<DiskAsks> = vm.disks.iter().filter(|d| !d.cdrom).map(disk).collect();
    Asks {
        name: if several { text(&own) } else { String::new() },
        cpus: if vm.says.cpus.iter().any(|t| asks(t)) { vm.says.cpus.clone() } else { Vec::new() },
        memory: text(&vm.says.memory),
        preference: text(&vm.says.preference),
        disks: if disks.iter().all(|d| *d == DiskAsks::default()) { Vec::new() } else { disks },
    }
}

/// Why a machine can't be made from here as its template has it.
fn obstacle(vm: &read::TemplateVm, made: &TemplateVm, parameters: &[Parameter]) -> Option<String> {
    let disks: Vec<&TemplateDisk> = vm.disks.iter().filter(|d| !d.cdrom).collect();
    for d in &disks {
        let image = match &d.image {
            Ok(image) => image,
            Err(why) => return Some(why.clone()),
        };
        let names = named(image);
        if let Some(odd) = names.iter().find(|name| !parameters.iter().any(|p| p.name == **name)) {
            return Some(format!("its disk {} is filled from what {odd} says, and nobody is asked for that", d.name));
        }
        if names.is_empty() && Image::parse(image).is_err() {
            return Some(format!("its disk {} is filled from {image}, which is not known here", d.name));
        }
    }
    // only the first one's size is asked for
    let unsaid = |(d, made): &(&&TemplateDisk, &Disk)| made.size_mb == 0 && named(&d.size).is_empty();
    if let Some((d, _)) = disks.iter().zip(&made.disks).skip(1).find(unsaid) {
        return Some(format!("nothing says how large its disk {} is", d.name));
    }
    let full = |d: &TemplateDisk| d.image.as_ref().map_or(true, |image| !image.is_empty());
    let from_disc = !disks.iter().any(|d| full(d)) && vm.disks.iter().any(|d| d.cdrom && full(d));
    from_disc.then(|| "it starts from a CD, and CDs of templates stay behind".to_owned())
}

/// Those that make a difference, with what fits into their places.
fn used(parameters: Vec<Parameter>, vms: &[TemplateVm]) -> Vec<Parameter> {
    let in_use = parameters.into_iter().filter(|p| vms.iter().any(|vm| vm.asks.uses(&p.name)));
    let fitted = in_use.map(|p| {
        let holds = |text: &String| named(text).contains(&p.name.as_str());
        let image = |vm: &TemplateVm| vm.asks.disks.iter().any(|d| holds(&d.image));
        let later = |vm: &TemplateVm| vm.asks.disks.iter().skip(1).any(|d| holds(&d.size));
        let named_by = |vm: &TemplateVm| holds(&vm.asks.name) || holds(&vm.asks.preference);
        Parameter {
            takes: vms.iter().find_map(|vm| takes(vm, holds)).unwrap_or_default(),
            size: !vms.iter().any(|vm| image(vm) || later(vm) || named_by(vm)),
            // nobody makes anything up here
            required: if p.generated { vms.iter().any(image) } else { p.required },
            generated: false,
            ..p.clone()
        }
    });
    fitted.collect()
}

/// What a parameter has to be where it stands alone.
fn takes(vm: &TemplateVm, holds: impl Fn(&String) -> bool) -> Option<Takes> {
    let alone = |text: &String| is_whole(text) && holds(text);
    let of_object = |image: &str| {
        let mut parts = image.splitn(3, '/');
        matches!(parts.next(), Some("datasource" | "claim" | "snapshot"))
            && parts.nth(1).is_some_and(|name| alone(&name.to_owned()))
    };
    let disks = &vm.asks.disks;
    match () {
        () if vm.asks.cpus.iter().any(&alone) => Some(Takes::Count),
        () if alone(&vm.asks.memory) || disks.iter().any(|d| alone(&d.size)) => Some(Takes::Amount),
        () if alone(&vm.asks.preference) || disks.iter().any(|d| of_object(&d.image)) => Some(Takes::Name),
        () if disks.iter().any(|d| alone(&d.image)) => Some(Takes::Address),
        () => None,
    }
}

fn of_image(name: &str, source: &str, image: &ObservedImage, (size, mb): (&InstanceType, i64)) -> TemplateSpec {
    let root = Disk { name: "root".into(), size_mb: mb, image: source.into(), ..Disk::default() };
    let vm = TemplateVm {
        name: image.meta.key.name.to_string(),
        cpus: i32::try_from(size.cpus).unwrap_or(1),
        memory_mb: size.memory_mb,
        instance_type: size.meta.key.name.to_string(),
        preference: image.default_preference.clone().unwrap_or_default(),
        disks: vec![root],
        nics: vec![TemplateNic { name: "nic-0".into(), ..TemplateNic::default() }],
        os: image.default_preference.clone().unwrap_or_default(),
        ..TemplateVm::default()
    };
    TemplateSpec {
        name: name.to_owned(),
        description: format!("Image with the size {}.", size.meta.key.name),
        os: image.default_preference.clone().unwrap_or_default(),
        vms: vec![vm],
        ..TemplateSpec::default()
    }
}

/// The part of a name that is not a parameter: `${NAME}-web` is `web`.
fn plain(name: &str, template: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    let out = out.trim_matches(['-', '.', '_']);
    if out.is_empty() { template.to_owned() } else { out.to_owned() }
}

#[cfg(test)]
mod tests;
