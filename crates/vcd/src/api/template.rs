//! Templates: what vApps are made from.
use crate::{
    answer::Answer,
    api::{
        catalog_item::{self, delete_entity, edits, of_kind, offers},
        task, template_vm, upload,
    },
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, link, owner, owner_user, section, section_document},
        media, product, status,
        times::stamp,
    },
};
use domain::lease;
use model::{
    Action, Error, Result,
    lease::Lease,
    task::Task,
    template::{ItemKind, Template},
};
use std::fmt::Display;
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vAppTemplate/vappTemplate-{id}", get)
        .put("/api/vAppTemplate/vappTemplate-{id}", edit)
        .delete("/api/vAppTemplate/vappTemplate-{id}", |ask| delete_entity(ask, ItemKind::Template))
        .get("/api/vAppTemplate/vappTemplate-{id}/leaseSettingsSection", get_lease)
        .put("/api/vAppTemplate/vappTemplate-{id}/leaseSettingsSection", set_lease)
        .get("/api/vAppTemplate/vappTemplate-{id}/productSections", get_products)
        .get("/api/vAppTemplate/vappTemplate-{id}/networkSection", get_network_section)
        .get("/api/vAppTemplate/vappTemplate-{id}/networkConfigSection", get_network_config)
        .get("/api/vAppTemplate/vappTemplate-{id}/customizationSection", get_customization)
        .get("/api/vAppTemplate/vappTemplate-{id}/owner", get_owner)
        .post("/api/vAppTemplate/vappTemplate-{id}/action/enableDownload", no_download)
        .post("/api/vAppTemplate/vappTemplate-{id}/action/disableDownload", no_download)
}

async fn found(ask: &Ask) -> Result<Template> {
    of_kind(ask, ItemKind::Template).await
}

async fn get(ask: Ask) -> Result<Answer> {
    let template = found(&ask).await?;
    let coming = upload::latest(&ask, &template).await;
    let all = catalog_item::tasks(&ask, &template).await;
    let failed = upload::failed(&template, coming.as_ref(), &all);
    let under_way: Vec<Task> = all.into_iter().filter(|t| !t.status.ended()).collect();
    let lease = lease::of_template(ask.d(), &ask.actor, template.id).await?;
    let (base, href) = (ask.base(), ask.base().template(template.id));
    let state = if failed { -1 } else { status::template(&template).0 };
    // all of it is known from the descriptor on
    let described = template.ready() || coming.as_ref().is_some_and(|u| u.files.len() > 1);
    let attributes: [(&str, &dyn Display); 7] = [
        ("goldMaster", &false),
        ("ovfDescriptorUploaded", &described),
        ("status", &state),
        ("name", &template.name),
        ("id", &template.id.urn()),
        ("href", &href),
        ("type", &media::VAPP_TEMPLATE),
    ];
    let text = document("VAppTemplate", &attributes, |w| {
        link(w, "catalogItem", base.catalog_item(template.id), media::CATALOG_ITEM);
        link(w, "down", format_args!("{href}/metadata"), media::METADATA);
        link(w, "down", format_args!("{href}/productSections/"), media::PRODUCT_SECTIONS);
        link(w, "down", format_args!("{href}/owner"), media::OWNER);
        edits(w, &ask, &template, &href, media::VAPP_TEMPLATE);
        w.text("Description", template.words());
        task::tasks(w, base, &ask.actor, &under_way);
        upload::files(w, base, coming.as_ref());
        owner(w, base, template.catalog_owner, &template.catalog_owner_name);
        if !template.vms.is_empty() {
            w.el("Children", &[], |w| {
                for index in 0..template.vms.len() {
                    template_vm::element(w, base, &template, index);
                }
            });
        }
        w.el("ovf:NetworkSection", &[], networks);
        let at = format!("{href}/networkConfigSection/");
        section(w, "NetworkConfigSection", &at, media::NETWORK_CONFIG, network_config);
        let at = format!("{href}/leaseSettingsSection/");
        section(w, "LeaseSettingsSection", &at, media::LEASE, |w| {
            lease_content(w, &ask, &template, &at, lease.as_ref());
        });
        w.el("CustomizationSection", &[("ovf:required", &false)], |w| customization(w, &template));
        product::section(w, template.vms.iter().take(1).flat_map(|vm| &vm.properties).filter(|p| p.shared));
        w.text("DateCreated", stamp(template.created_at));
    });
    Ok(Answer::xml(media::VAPP_TEMPLATE, text))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let template = found(&ask).await?;
    catalog_item::rename(&ask, &template, &ask.xml("VAppTemplate")?).await?;
    task::accepted_about(&ask, Action::TemplateEdit, catalog_item::noted(&template)).await
}

fn lease_content(w: &mut Writer, ask: &Ask, template: &Template, href: &str, lease: Option<&Lease>) {
    w.text("ovf:Info", "Lease settings section");
    if offers(ask, template, Action::TemplateLease) {
        link(w, "edit", href, media::LEASE);
    }
    w.text("StorageLeaseInSeconds", lease.and_then(|l| l.storage_s).unwrap_or(0));
    if let Some(at) = lease.and_then(|l| l.ends_at) {
        w.text("StorageLeaseExpiration", stamp(at));
    }
}

async fn get_lease(ask: Ask) -> Result<Answer> {
    let template = found(&ask).await?;
    let lease = lease::of_template(ask.d(), &ask.actor, template.id).await?;
    let href = format!("{}/leaseSettingsSection/", ask.base().template(template.id));
    let text = section_document("LeaseSettingsSection", &href, media::LEASE, |w| {
        lease_content(w, &ask, &template, &href, lease.as_ref());
    });
    Ok(Answer::xml(media::LEASE, text))
}

/// 0 is no end. What says the same as before changes nothing.
async fn set_lease(ask: Ask) -> Result<Answer> {
    let template = found(&ask).await?;
    let wanted: i64 = ask.xml("LeaseSettingsSection")?.number("StorageLeaseInSeconds")?.unwrap_or(0);
    let storage_s = Some(wanted).filter(|s| *s > 0);
    let now = lease::of_template(ask.d(), &ask.actor, template.id).await?.and_then(|l| l.storage_s);
    if storage_s != now {
        lease::set_template(ask.d(), &ask.actor, template.id, storage_s).await?;
    }
    task::accepted_about(&ask, Action::TemplateLease, catalog_item::noted(&template)).await
}

async fn get_products(ask: Ask) -> Result<Answer> {
    let template = found(&ask).await?;
    let href = format!("{}/productSections/", ask.base().template(template.id));
    let text = document("ProductSectionList", &[("href", &href), ("type", &media::PRODUCT_SECTIONS)], |w| {
        product::section(w, template.vms.iter().take(1).flat_map(|vm| &vm.properties).filter(|p| p.shared));
    });
    Ok(Answer::xml(media::PRODUCT_SECTIONS, text))
}

/// What its machines were plugged into stays behind: they are on none until somebody chooses one.
fn networks(w: &mut Writer) {
    w.text("ovf:Info", "The list of logical networks");
    w.el("ovf:Network", &[("ovf:name", &"none")], |w| w.text("ovf:Description", "No network"));
}

fn network_config(w: &mut Writer) {
    w.text("ovf:Info", "The configuration parameters for logical networks");
    w.el("NetworkConfig", &[("networkName", &"none")], |w| {
        w.text("Description", "No network");
        w.el("Configuration", &[], |w| {
            w.text("FenceMode", "isolated");
            w.text("RetainNetInfoAcrossDeployments", false);
        });
        w.text("IsDeployed", false);
    });
}

fn customization(w: &mut Writer, template: &Template) {
    w.text("ovf:Info", "VApp template customization section");
    w.text("CustomizeOnInstantiate", template.customize);
}

async fn get_network_section(ask: Ask) -> Result<Answer> {
    found(&ask).await?;
    Ok(Answer::xml(media::NETWORK_SECTION, document("ovf:NetworkSection", &[], networks)))
}

async fn get_network_config(ask: Ask) -> Result<Answer> {
    let href = format!("{}/networkConfigSection/", ask.base().template(found(&ask).await?.id));
    let text = section_document("NetworkConfigSection", &href, media::NETWORK_CONFIG, network_config);
    Ok(Answer::xml(media::NETWORK_CONFIG, text))
}

async fn get_customization(ask: Ask) -> Result<Answer> {
    let template = found(&ask).await?;
    let kind = "application/vnd.vmware.vcloud.customizationSection+xml";
    let text = document("CustomizationSection", &[("ovf:required", &false)], |w| customization(w, &template));
    Ok(Answer::xml(kind, text))
}

/// That of its catalog.
async fn get_owner(ask: Ask) -> Result<Answer> {
    let template = found(&ask).await?;
    let text = document("Owner", &[("type", &media::OWNER)], |w| {
        owner_user(w, ask.base(), template.catalog_owner, &template.catalog_owner_name);
    });
    Ok(Answer::xml(media::OWNER, text))
}

async fn no_download(ask: Ask) -> Result<Answer> {
    let template = found(&ask).await?;
    Err(Error::NotNow(format!(
        "Templates are not given out as files: {} stays on its hubs. Deploy it, and copy what is on the VM's disks.",
        template.name
    )))
}
