//! What a machine's guest is told: guest customization, and the properties of its product sections.
use super::{Shown, reconfigure};
use crate::{
    answer::Answer,
    api::task,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, link},
        media, product,
    },
};
use domain::guest as told;
use model::{
    Error, Kind, Result, TaskId, VmId,
    guest::{GuestSettings, Property},
    vm::{Seen, Vm},
};
use std::fmt::Display;
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vApp/vm-{id}/guestCustomizationSection", get)
        .put("/api/vApp/vm-{id}/guestCustomizationSection", set)
        .get("/api/vApp/vm-{id}/guestcustomizationstatus", status)
        .get("/api/vApp/vm-{id}/guestCustomizationStatus", status)
        .get("/api/vApp/vm-{id}/checkpostcustomizationscript", after_script)
        .get("/api/vApp/vm-{id}/productSections", get_products)
        .put("/api/vApp/vm-{id}/productSections", set_products)
}

/// Within the machine's document.
pub(crate) fn section(w: &mut Writer, ask: &Ask, shown: &Shown) {
    let Some(guest) = shown.guest else { return };
    let href = format!("{}/guestCustomizationSection/", ask.base().vm(shown.vm.id));
    let attributes: [(&str, &dyn Display); 3] =
        [("href", &href), ("type", &media::GUEST_CUSTOMIZATION), ("ovf:required", &false)];
    w.el("GuestCustomizationSection", &attributes, |w| content(w, &href, shown.vm, guest));
}

fn content(w: &mut Writer, href: &str, vm: &Vm, g: &GuestSettings) {
    w.text("ovf:Info", "Specifies Guest OS Customization Settings");
    w.text("Enabled", g.enabled);
    w.text("ChangeSid", g.change_sid);
    w.text("VirtualMachineId", vm.id);
    w.text("JoinDomainEnabled", false);
    w.text("UseOrgSettings", false);
    w.text("AdminPasswordEnabled", g.set_password);
    w.text("AdminPasswordAuto", g.auto_password);
    if !g.password.is_empty() {
        w.text("AdminPassword", &g.password);
    }
    w.text("AdminAutoLogonEnabled", g.auto_logons > 0);
    w.text("AdminAutoLogonCount", g.auto_logons);
    w.text("ResetPasswordRequired", g.reset_password);
    if !g.script.is_empty() {
        w.text("CustomizationScript", &g.script);
    }
    w.text("ComputerName", &vm.computer_name);
    link(w, "edit", href, media::GUEST_CUSTOMIZATION);
}

async fn get(ask: Ask) -> Result<Answer> {
    let (vm, guest) = told::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    let href = format!("{}/guestCustomizationSection/", ask.base().vm(vm.id));
    let attributes: [(&str, &dyn Display); 3] =
        [("href", &href), ("type", &media::GUEST_CUSTOMIZATION), ("ovf:required", &false)];
    let text = document("GuestCustomizationSection", &attributes, |w| content(w, &href, &vm, &guest));
    Ok(Answer::xml(media::GUEST_CUSTOMIZATION, text))
}

/// The settings of a section over those that are there; what it leaves out stays. The computer's name: small letters, as hosts have.
pub(crate) fn read(section: &Element, now: &GuestSettings) -> Result<(GuestSettings, Option<String>)> {
    if section.on("JoinDomainEnabled")? {
        return Err(Error::BadRequest("Guests are not joined to a domain here. Leave JoinDomainEnabled out.".into()));
    }
    let mut g = now.clone();
    g.enabled = section.flag("Enabled")?.unwrap_or(g.enabled);
    g.change_sid = section.flag("ChangeSid")?.unwrap_or(g.change_sid);
    g.set_password = section.flag("AdminPasswordEnabled")?.unwrap_or(g.set_password);
    g.auto_password = section.flag("AdminPasswordAuto")?.unwrap_or(g.auto_password);
    if let Some(password) = section.child("AdminPassword").map(|p| p.text.clone()).filter(|p| !p.is_empty()) {
        g.password = password;
        // a password that is given is not made up
        g.auto_password = g.auto_password && g.password == now.password;
    }
    g.reset_password = section.flag("ResetPasswordRequired")?.unwrap_or(g.reset_password);
    let logons: Option<i32> = section.number("AdminAutoLogonCount")?;
    g.auto_logons = match section.flag("AdminAutoLogonEnabled")? {
        Some(false) => 0,
        Some(true) => logons.unwrap_or(1).max(1),
        None => logons.unwrap_or(g.auto_logons),
    };
    if let Some(script) = section.child("CustomizationScript") {
        g.script.clone_from(&script.text);
    }
    Ok((g, section.word("ComputerName").map(str::to_lowercase)))
}

async fn set(ask: Ask) -> Result<Answer> {
    let body = ask.xml("GuestCustomizationSection")?;
    let id: VmId = ask.id(Kind::Vm)?;
    match customize(&ask, id, &body).await? {
        Some(task) => task::accepted(&ask, Some(task)).await,
        None => reconfigure::nothing(&ask, &domain::vm::get(ask.d(), &ask.actor, id).await?).await,
    }
}

/// What its sections say to its guest, with the name of its computer where another is wished; None: it is told that already.
pub(crate) async fn wished(
    ask: &Ask,
    id: VmId,
    customization: Option<&Element>,
    products: Option<&Element>,
) -> Result<Option<(GuestSettings, Option<String>)>> {
    if customization.is_none() && products.is_none() {
        return Ok(None);
    }
    let (vm, now) = told::get(ask.d(), &ask.actor, id).await?;
    let (mut wished, name) = match customization {
        Some(section) => read(section, &now)?,
        None => (now.clone(), None),
    };
    if let Some(list) = products {
        wished.properties = read_products(list, &now.properties)?;
    }
    let name = name.filter(|name| *name != vm.computer_name);
    Ok((wished != now || name.is_some()).then_some((wished, name)))
}

/// None: it is so already.
pub(crate) async fn customize(ask: &Ask, id: VmId, section: &Element) -> Result<Option<TaskId>> {
    match wished(ask, id, Some(section), None).await? {
        Some(wished) => tell(ask, id, wished).await,
        None => Ok(None),
    }
}

pub(crate) async fn tell(
    ask: &Ask,
    id: VmId,
    (wished, name): (GuestSettings, Option<String>),
) -> Result<Option<TaskId>> {
    let version = domain::vm::get(ask.d(), &ask.actor, id).await?.version;
    told::set(ask.d(), &ask.actor, id, version, name.as_deref().unwrap_or_default(), wished).await
}

/// As far as we know: whether its guest has been started since it was last told something.
async fn status(ask: Ask) -> Result<Answer> {
    let (vm, guest) = told::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    let href = format!("{}/guestcustomizationstatus/", ask.base().vm(vm.id));
    let text = document("GuestCustomizationStatusSection", &[("href", &href)], |w| {
        w.text("GuestCustStatus", gc_status(&vm, &guest));
    });
    Ok(Answer::xml("application/vnd.vmware.vcloud.guestcustomizationstatussection+xml", text))
}

/// The same of the script that runs after it, which is run with the rest.
async fn after_script(ask: Ask) -> Result<Answer> {
    let (vm, guest) = told::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    let href = format!("{}/checkpostcustomizationscript/", ask.base().vm(vm.id));
    let text = document("CheckPostGuestCustomizationSection", &[("href", &href)], |w| {
        w.text("CheckPostGCStatus", gc_status(&vm, &guest));
    });
    Ok(Answer::xml("application/vnd.vmware.vcloud.checkpostguestcustomizationsection+xml", text))
}

pub(crate) fn gc_status(vm: &Vm, guest: &GuestSettings) -> &'static str {
    match vm.seen {
        _ if !guest.enabled => "GC_COMPLETE",
        Seen::Running | Seen::Migrating if vm.restart_needed => "REBOOT_PENDING",
        Seen::Running | Seen::Migrating => "GC_COMPLETE",
        _ => "GC_PENDING",
    }
}

/// The sections of a machine's properties.
pub(crate) fn product_sections(w: &mut Writer, guest: &GuestSettings) {
    product::section(w, &guest.properties);
}

/// Of a machine or a vApp.
pub(crate) fn product_list(href: &str, properties: &[Property]) -> Answer {
    let text = document("ProductSectionList", &[("href", &href), ("type", &media::PRODUCT_SECTIONS)], |w| {
        link(w, "edit", href, media::PRODUCT_SECTIONS);
        product::section(w, properties);
    });
    Answer::xml(media::PRODUCT_SECTIONS, text)
}

async fn get_products(ask: Ask) -> Result<Answer> {
    let (vm, guest) = told::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    Ok(product_list(&format!("{}/productSections", ask.base().vm(vm.id)), &guest.properties))
}

/// All properties, as they are to be. What the machine's template said of one stays.
pub(crate) fn read_products(list: &Element, now: &[Property]) -> Result<Vec<Property>> {
    let sections = list.all("ProductSection");
    let properties = sections.flat_map(|s| s.children.iter().filter(|c| c.name == "Property"));
    let one = |p: &Element| {
        let key = p.attr("key").map(str::trim).filter(|k| !k.is_empty());
        let key = key.ok_or_else(|| Error::BadRequest("A Property has no key.".into()))?;
        let value = p.all("Value").find_map(|v| v.attr("value")).or_else(|| p.attr("value")).unwrap_or_default();
        let known = now.iter().find(|k| k.key == key).cloned();
        let fresh = || Property {
            key: key.to_owned(),
            kind: p.attr("type").unwrap_or("string").to_owned(),
            user_configurable: true,
            password: p.attr("password") == Some("true"),
            label: p.word("Label").unwrap_or_default().to_owned(),
            description: p.word("Description").unwrap_or_default().to_owned(),
            ..Property::default()
        };
        Ok(Property { value: value.to_owned(), ..known.unwrap_or_else(fresh) })
    };
    properties.map(one).collect()
}

async fn set_products(ask: Ask) -> Result<Answer> {
    let body = ask.xml("ProductSectionList")?;
    let id: VmId = ask.id(Kind::Vm)?;
    match put_products(&ask, id, &body).await? {
        Some(task) => task::accepted(&ask, Some(task)).await,
        None => reconfigure::nothing(&ask, &domain::vm::get(ask.d(), &ask.actor, id).await?).await,
    }
}

/// None: it is so already.
pub(crate) async fn put_products(ask: &Ask, id: VmId, list: &Element) -> Result<Option<TaskId>> {
    match wished(ask, id, None, Some(list)).await? {
        Some(wished) => tell(ask, id, wished).await,
        None => Ok(None),
    }
}
