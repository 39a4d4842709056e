//! What the guest of a VM is told: read, changed, and shown as it will be before it is asked for.
use crate::{Domain, network, vapp_network};
use hub::shape::{
    cloud_init::{self, CloudInit},
    customize::{self, Customize},
    guest::Told,
    network_data::{GuestAddress, GuestNic, network_data},
};
use model::{
    Action, Actor, Error, Kind, Problems, Result, TaskId, VappId, VmId, can, conflict,
    decide::{Resource, authorize},
    guest::{GuestSettings, Property, is_windows},
    name,
    network::{Network, NetworkSpec},
    nic::{Attach, IpMode, Nic, NicSpec},
    vm::Vm,
};
use rand::Rng;
use std::{collections::BTreeMap, net::Ipv4Addr};
use store::{Record, Write};

/// A VM with what its guest is told, as far as the one who asks may know.
pub async fn get(d: &Domain, actor: &Actor, id: VmId) -> Result<(Vm, GuestSettings)> {
    let vm = d.store.vm(actor, Action::VmView, id).await?;
    let settings = opened(d, vm.id, d.store.vm_guest(&vm).await?).await?;
    let settings = as_known(actor, vm.resource(actor), settings);
    Ok((vm.into_inner(), settings))
}

/// The same of all machines of a vApp, which are shared as it is.
pub async fn in_vapp(d: &Domain, actor: &Actor, id: VappId) -> Result<BTreeMap<VmId, GuestSettings>> {
    let vapp = d.store.vapp(actor, Action::VappView, id).await?;
    let mut all = BTreeMap::new();
    for (vm, sealed) in d.store.vm_guests(&vapp).await? {
        let settings = opened(d, vm, sealed).await?;
        all.insert(vm, as_known(actor, vapp.resource(actor), settings));
    }
    Ok(all)
}

fn as_known(actor: &Actor, resource: Resource, settings: GuestSettings) -> GuestSettings {
    match () {
        () if authorize(actor, Action::VmGuest, resource).is_err() => settings.without_secrets(),
        () if authorize(actor, Action::VmPassword, resource).is_err() => settings.without_passwords(),
        () => settings,
    }
}

async fn opened(d: &Domain, vm: VmId, sealed: Option<Vec<u8>>) -> Result<GuestSettings> {
    let Some(sealed) = sealed else { return Ok(GuestSettings::default()) };
    let plain = d.vault()?.open(&of(vm), &sealed).await?;
    serde_json::from_slice(&plain).map_err(|e| Error::Internal(format!("guest settings can't be read: {e}")))
}

/// What the seal is bound to.
fn of(vm: VmId) -> String {
    format!("vm/{vm}")
}

/// As stored; None: there is nothing to tell.
pub(crate) async fn sealed(d: &Domain, id: VmId, settings: &GuestSettings) -> Result<Option<Vec<u8>>> {
    if settings.is_empty() {
        return Ok(None);
    }
    Ok(Some(seal(d, id, settings).await?))
}

async fn seal(d: &Domain, id: VmId, settings: &GuestSettings) -> Result<Vec<u8>> {
    let plain = serde_json::to_vec(settings).map_err(|e| Error::Internal(e.to_string()))?;
    d.vault()?.seal(&of(id), &plain).await
}

/// The settings of a VM that is copied, for its copy.
pub(crate) async fn for_copy(d: &Domain, tx: &mut Write<'_>, from: VmId, to: VmId) -> Result<Option<Vec<u8>>> {
    let sealed_for_it = tx.vm_guest(from).await?;
    sealed(d, to, &opened(d, from, sealed_for_it).await?).await
}

/// What the template of a VM asked for, for a template that is made of it. Passwords stay behind.
pub(crate) async fn asked_for(d: &Domain, tx: &mut Write<'_>, vm: VmId) -> Result<Vec<Property>> {
    let sealed = tx.vm_guest(vm).await?;
    Ok(opened(d, vm, sealed).await?.without_passwords().properties)
}

/// For a VM that is asked for.
pub(crate) fn check(settings: &GuestSettings, problems: &mut Problems) {
    settings.check(problems);
    if let Err(e) = cloud_init::parts(&linux("check", settings)) {
        problems.add(e.field, e.message);
    }
}

/// A password where one is to be made up.
pub(crate) fn with_password(mut settings: GuestSettings) -> GuestSettings {
    if settings.set_password && settings.auto_password && settings.password.is_empty() {
        settings.password = made_up();
    }
    settings
}

/// Without letters that look like others.
fn made_up() -> String {
    const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let mut rng = rand::rng();
    let mut letter = |_| char::from(LETTERS[rng.random_range(0..LETTERS.len())]);
    let text: String = (0..16).map(&mut letter).collect();
    // the parts between make it readable, and hold every kind of letter that a policy asks for
    format!("{}-{}-{}-{}", &text[..4], &text[4..8], &text[8..12], &text[12..])
}

/// Changes what its guest is told. It is told at its next start; passwords that are left out stay as they are.
pub async fn set(
    d: &Domain,
    actor: &Actor,
    id: VmId,
    version: i64,
    computer_name: &str,
    wished: GuestSettings,
) -> Result<Option<TaskId>> {
    let action = Action::VmGuest;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = tx.vm(action, id).await?;
        can::or_not_now(can::vm(&vm, action))?;
        let before = opened(d, id, tx.vm_guest(id).await?).await?;
        let mut after = as_saved(&before, wished);
        let mut problems = Problems::default();
        let name = match computer_name.trim() {
            "" => vm.computer_name.clone(),
            typed => problems.take("computer_name", name::check_label(typed)),
        };
        check(&after, &mut problems);
        problems.done()?;
        after = with_password(after);
        after.named |= name != vm.computer_name;
        let passwords = |g: &GuestSettings| (g.set_password, g.auto_password, g.password.clone(), g.reset_password);
        if passwords(&before) != passwords(&after) {
            authorize(actor, Action::VmPassword, vm.resource(actor))?;
        }
        let (was, is) = ((vm.computer_name.as_str(), &before), (name.as_str(), &after));
        if version != vm.version {
            let changed = (vm.updated_by.as_str(), vm.updated_at, vm.version);
            return Err(Error::Conflict(Box::new(conflict(Kind::Vm, &vm.name, changed, &was, &is))));
        }
        tx.vm_guest_set(id, &name, &seal(d, id, &after).await?).await?;
        tx.enqueue(Kind::Vm, id, vm.org, vm.hub.as_ref()).await?;
        let record = Record::new(action, vm.org, id, &vm.name).of(vm.owner).before(&was).after(&is);
        tx.commit(record.with_open_task()).await
    })
    .await
}

/// What is not shown to everybody comes back empty from a form, and stays then.
pub fn as_saved(before: &GuestSettings, wished: GuestSettings) -> GuestSettings {
    let mut after = GuestSettings { run: before.run + 1, named: before.named || wished.named, ..wished };
    if after.set_password && after.password.is_empty() && before.auto_password == after.auto_password {
        after.password = before.password.clone();
    }
    if !after.set_password {
        after.password = String::new();
    }
    for p in after.properties.iter_mut().filter(|p| p.password && p.value.is_empty()) {
        if let Some(was) = before.properties.iter().find(|was| was.key == p.key) {
            p.value = was.value.clone();
        }
    }
    after
}

/// A file that a guest finds, as people can read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    pub name: String,
    pub text: String,
}

/// In a preview: what is known only when the VM is made.
const LATER_MAC: &str = "(given when it is made)";
const LATER_ADDRESS: &str = "(from the pool)";

/// What the guest of such a VM will be told, with its secrets left out. `nics`: as they are asked for, on some of these networks.
pub fn preview(
    computer_name: &str,
    os: &str,
    settings: &GuestSettings,
    nics: &[NicSpec],
    networks: &[Network],
) -> Result<Vec<Preview>> {
    // an address that nothing has stands for the one that is not known yet
    let stands_in = |n: &NicSpec| Ipv4Addr::new(0, 0, 0, u8::try_from(n.index).unwrap_or(0).saturating_add(1));
    let told = |n: &NicSpec| {
        let network = networks.iter().find(|k| Some(k.id) == n.attach.network()).map(|k| &k.spec);
        let address = if n.mode == IpMode::Pool { Some(stands_in(n)) } else { n.address };
        let mac = if n.mac.is_empty() { LATER_MAC } else { &n.mac };
        guest_nic(&NicSpec { address, ..n.clone() }, mac, network)
    };
    let cards = nics.iter().filter(|n| n.attach != Attach::Nothing).map(told).collect();
    let mut files = shown(computer_name, os, settings, cards)?;
    for file in files.iter_mut().filter(|f| [NETWORK_CONFIG, ANSWERS].contains(&f.name.as_str())) {
        file.text = file.text.replace(&LATER_MAC.to_uppercase(), LATER_MAC);
        for n in nics.iter().filter(|n| n.mode == IpMode::Pool) {
            file.text = file.text.replace(&format!("{}/", stands_in(n)), &format!("{LATER_ADDRESS}/"));
        }
    }
    Ok(files)
}

const NETWORK_CONFIG: &str = "network-config";
const ANSWERS: &str = "unattend.xml";

/// The same for a VM that is there, with its NICs where they have addresses of ours.
pub async fn preview_of(
    d: &Domain,
    actor: &Actor,
    vm: &Vm,
    computer_name: &str,
    settings: &GuestSettings,
) -> Result<Vec<Preview>> {
    let mut known = network::in_reach(d, actor, vm.vdc).await?;
    known.extend(vapp_network::list(d, actor, vm.vapp).await?);
    let of = |id| known.iter().find(|n| n.id == id).map(|n| &n.spec);
    let told = |n: &Nic| {
        let mac = if n.spec.mac.is_empty() { &n.seen_mac } else { &n.spec.mac };
        guest_nic(&n.spec, mac, n.spec.attach.network().and_then(of))
    };
    let nics: Vec<GuestNic> = vm.nics.iter().filter(|n| n.spec.attach != Attach::Nothing).map(told).collect();
    let computer_name = if computer_name.is_empty() { &vm.computer_name } else { computer_name };
    let named = settings.named || *computer_name != vm.computer_name;
    shown(computer_name, &vm.os, &GuestSettings { named, ..settings.clone() }, nics)
}

fn guest_nic(n: &NicSpec, mac: &str, network: Option<&NetworkSpec>) -> GuestNic {
    let address = match (n.mode, n.address, network) {
        (_, Some(address), Some(network)) => GuestAddress::Static {
            address,
            prefix: network.prefix,
            gateway: network.gateway,
            dns: network.dns.clone(),
            dns_suffix: network.dns_suffix.clone(),
        },
        (IpMode::Dhcp, ..) => GuestAddress::Dhcp,
        _ => GuestAddress::None,
    };
    GuestNic { mac: mac.to_owned(), primary: n.primary, address }
}

fn shown(computer_name: &str, os: &str, settings: &GuestSettings, nics: Vec<GuestNic>) -> Result<Vec<Preview>> {
    let mut problems = Problems::default();
    check(settings, &mut problems);
    problems.done()?;
    let mut shown = settings.clone();
    const HIDDEN: &str = "(not shown)";
    if shown.set_password {
        shown.password = HIDDEN.into();
    }
    for p in shown.properties.iter_mut().filter(|p| p.password && !p.value.is_empty()) {
        p.value = HIDDEN.into();
    }
    let told = told(computer_name, os, "", &shown, nics);
    let wrong = |e: cloud_init::BadCloudInit| Error::field(e.field, e.message);
    let mut files = Vec::new();
    if let Some(init) = &told.cloud_init {
        // as one reads it: parts by themselves, and of ours the words instead of what a shell is given
        let bare = CloudInit { customize: Customize::default(), ..init.clone() };
        for part in cloud_init::parts(&bare).map_err(wrong)? {
            files.push(Preview { name: part.name.to_owned(), text: part.text });
        }
        files.extend(words(&init.customize));
        if !init.network_data.is_empty() {
            files.push(Preview { name: NETWORK_CONFIG.into(), text: laid_out(&init.network_data) });
        }
    }
    if let Some((name, customize)) = &told.unattend {
        files.push(Preview { name: ANSWERS.into(), text: customize::unattend(name, customize) });
        files.extend(words(&Customize { password: None, ..customize.clone() }));
    }
    let environment = Told { environment: told.environment, ..Told::default() };
    for (name, text) in environment.files(computer_name).map_err(wrong)? {
        files.push(Preview { name: name.to_owned(), text });
    }
    Ok(files)
}

/// As people read it: a guest gets it in one line.
fn laid_out(json: &str) -> String {
    let read = serde_json::from_str::<serde_json::Value>(json).and_then(|v| serde_json::to_string_pretty(&v));
    read.map(|text| format!("{text}\n")).unwrap_or_else(|_| json.to_owned())
}

/// What is brought in at a start.
fn words(c: &Customize) -> Vec<Preview> {
    let mut all = Vec::new();
    if let Some(password) = &c.password {
        let text = format!("root:{password}{}\n", if c.expires { ", to be changed at the first sign-in" } else { "" });
        all.push(Preview { name: "password".into(), text });
    }
    if !c.script.trim().is_empty() {
        all.push(Preview { name: "script".into(), text: c.script.clone() });
    }
    all
}

fn linux(computer_name: &str, g: &GuestSettings) -> CloudInit {
    CloudInit {
        user_data: g.user_data.clone(),
        ssh_keys: g.ssh_keys.clone(),
        hostname: if g.enabled { computer_name.to_owned() } else { String::new() },
        customize: if g.enabled { customization(g) } else { Customize::default() },
        network_data: String::new(),
    }
}

fn customization(g: &GuestSettings) -> Customize {
    Customize {
        run: g.run,
        password: (g.set_password && !g.password.is_empty()).then(|| g.password.clone()),
        expires: g.reset_password,
        script: g.script.clone(),
        auto_logons: g.auto_logons,
        nics: Vec::new(),
    }
}

/// All that the guest of a VM is told. Windows reads its name, addresses, password and script from sysprep's answers, Linux from
/// cloud-init.
pub fn told(computer_name: &str, os: &str, preference: &str, g: &GuestSettings, nics: Vec<GuestNic>) -> Told {
    let network_data = network_data(&nics);
    let windows = is_windows(os, preference);
    let mut init = linux(computer_name, g);
    let unattend = (windows && g.enabled).then(|| {
        let customize = Customize { nics, ..std::mem::take(&mut init.customize) };
        (computer_name.to_owned(), customize)
    });
    let given = !g.user_data.trim().is_empty() || !g.ssh_keys.is_empty();
    let name = g.enabled && g.named && unattend.is_none();
    let ours = name || !init.customize.is_empty() || !network_data.is_empty();
    let environment = g.properties.iter().map(|p| (p.key.clone(), p.value.clone())).collect();
    Told { cloud_init: (given || ours).then_some(CloudInit { network_data, ..init }), unattend, environment }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_stays_when_a_form_comes_back_without_it() {
        let before =
            GuestSettings { set_password: true, password: "secret".into(), run: 4, ..GuestSettings::default() };
        let after = as_saved(&before, GuestSettings { password: String::new(), ..before.clone() });
        assert_eq!((after.password.as_str(), after.run), ("secret", 5));
        let without = as_saved(&before, GuestSettings::default());
        assert_eq!(without.password, "", "a password that is not set any more is forgotten");
        let another =
            as_saved(&before, GuestSettings { auto_password: true, password: String::new(), ..before.clone() });
        assert_eq!(another.password, "", "one that is made up is another one");
        assert_eq!(with_password(another).password.len(), 19);
    }

    #[test]
    fn a_preview_shows_everything_but_secrets() {
        let settings = GuestSettings {
            set_password: true,
            password: "hunter2".into(),
            script: "echo hello".into(),
            ssh_keys: Vec::new(),
            properties: vec![Property {
                key: "db".into(),
                password: true,
                value: "hunter2".into(),
                ..Default::default()
            }],
            ..GuestSettings::default()
        };
        for os in ["Ubuntu 24.04", "Windows Server 2022"] {
            let files = preview("web", os, &settings, &[], &[]).expect("good");
            let all = format!("{files:?}");
            assert!(!all.contains("hunter2") && all.contains("(not shown)"), "{all}");
            assert!(all.contains("echo hello") && all.contains("ovf-env.xml"), "{all}");
            assert_eq!(all.contains("unattend.xml"), os.starts_with("Windows"), "{all}");
        }
    }

    #[test]
    fn a_guest_that_is_told_nothing_has_no_disc() {
        let told = told("web", "Ubuntu", "", &GuestSettings::default(), Vec::new());
        assert_eq!(told, Told::default());
    }
}
