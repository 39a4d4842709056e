//! New items of catalogs: templates and discs that are uploaded, and vApps that are captured. Files are sent to transfer addresses.
use crate::{
    answer::Answer,
    api::{catalog_item, task},
    ask::{Ask, referred, shown},
    routes::Routes,
    wire::{body::Read, href::Base, media},
};
use domain::{catalog, item, task::Noted, upload, vapp, vm};
use model::{
    Action, CatalogId, Error, Kind, Result, TemplateId, VappId, VmId,
    template::{ItemKind, Template},
    upload::{Upload, UploadSpec, UploadState},
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/api/catalog/{id}/action/upload", begin)
        .post("/api/admin/catalog/{id}/action/upload", begin)
        .post("/api/catalog/{id}/action/captureVApp", capture)
        .post("/api/admin/catalog/{id}/action/captureVApp", capture)
        .post("/api/catalog/{id}/catalogItems", place)
        .post("/api/admin/catalog/{id}/catalogItems", place)
}

/// What an OVF package begins with, whatever it is called on the sender's disk.
const DESCRIPTOR: &str = "descriptor.ovf";
/// A disc is one file, whatever it is called.
const DISC: &str = "file";

/// One address takes both: a template, whose files its descriptor will name, and a disc of a known length.
async fn begin(ask: Ask) -> Result<Answer> {
    let catalog: CatalogId = ask.id(Kind::Catalog)?;
    let body = ask.xml_of(&[("Media", &["Size", "ImageType"]), ("UploadVAppTemplateParams", &[])])?;
    let made = match body.name.as_str() {
        "Media" => begin_disc(&ask, catalog, &body).await?,
        _ => begin_template(&ask, catalog, &body).await?,
    };
    let found = catalog::template(ask.d(), &ask.actor, made).await?;
    let answer = catalog_item::render(&ask, &found).await?;
    Ok(answer.created(ask.base().catalog_item(made)))
}

fn spec(body: &Element, kind: ItemKind) -> Result<UploadSpec> {
    Ok(UploadSpec {
        name: body.need("name")?.to_owned(),
        description: body.word("Description").unwrap_or_default().to_owned(),
        kind,
        ..UploadSpec::default()
    })
}

async fn begin_template(ask: &Ask, catalog: CatalogId, body: &Element) -> Result<TemplateId> {
    if body.word("sourceHref").is_some() {
        let why = "Nothing is fetched from other addresses. Send the files instead: leave sourceHref out.";
        return Err(Error::BadRequest(why.into()));
    }
    let id = upload::begin(ask.d(), &ask.actor, catalog, spec(body, ItemKind::Template)?).await?;
    Ok(upload::get(ask.d(), &ask.actor, id).await?.template)
}

async fn begin_disc(ask: &Ask, catalog: CatalogId, body: &Element) -> Result<TemplateId> {
    let size: u64 = body.number("size")?.unwrap_or(0);
    if size == 0 {
        return Err(Error::BadRequest("Media needs its size in bytes, and an empty file is no disc.".into()));
    }
    match body.word("imageType") {
        None => {}
        Some(kind) if kind.eq_ignore_ascii_case("iso") => {}
        Some(other) => {
            let why = format!("Discs are ISO images: imageType is iso, and not “{}”.", shown(other));
            return Err(Error::BadRequest(why));
        }
    }
    let id = upload::begin(ask.d(), &ask.actor, catalog, spec(body, ItemKind::Media)?).await?;
    let made = upload::get(ask.d(), &ask.actor, id).await?.template;
    if let Err(e) = upload::announce(ask.d(), &ask.actor, id, DISC, size).await {
        // nothing was begun after all, and the name is free again
        item::delete(ask.d(), &ask.actor, made).await?;
        return Err(e);
    }
    Ok(made)
}

/// The latest that is on its way into an item, or came to nothing. Who may not upload is told nothing of it.
pub(crate) async fn latest(ask: &Ask, item: &Template) -> Option<Upload> {
    item::uploads(ask.d(), &ask.actor, item.id).await.ok()?.into_iter().next()
}

/// Did the first upload or capture of it come to nothing?
pub(crate) fn failed(item: &Template, upload: Option<&Upload>, tasks: &[model::task::Task]) -> bool {
    let upload_failed = upload.is_some_and(|u| matches!(u.state, UploadState::Failed | UploadState::Cancelled));
    let capture_failed = tasks
        .iter()
        .find(|t| t.action() == Some(Action::VappCapture))
        .is_some_and(|t| matches!(t.status, model::task::TaskStatus::Error | model::task::TaskStatus::Aborted));
    !item.ready() && (upload_failed || capture_failed)
}

/// `<Files>`: where to send what. They are there as long as something is to come, and no longer: clients wait for that.
pub(crate) fn files(w: &mut Writer, base: &Base, upload: Option<&Upload>) {
    let Some(upload) = upload.filter(|u| u.state == UploadState::Open) else { return };
    w.el("Files", &[], |w| match upload.files.is_empty() {
        true => file(w, base, upload, DESCRIPTOR, 0, 0),
        false => upload.files.iter().for_each(|f| file(w, base, upload, &f.name, f.size, f.received)),
    });
}

fn file(w: &mut Writer, base: &Base, upload: &Upload, name: &str, size: i64, received: i64) {
    let file = utf8_percent_encode(name, PLAIN);
    let href = format!("{}/transfer/{}/{file}", base.0, upload.link);
    w.el("File", &[("name", &name), ("size", &size), ("bytesTransferred", &received)], |w| {
        w.empty("Link", &[("rel", &"upload:default"), ("href", &href)]);
    });
}

const PLAIN: &percent_encoding::AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// A vApp as a template, new or as the next version of one that is there.
async fn capture(ask: Ask) -> Result<Answer> {
    let catalog: CatalogId = ask.id(Kind::Catalog)?;
    let body = ask.xml("CaptureVAppParams")?;
    let source = body.child("Source").ok_or_else(|| Error::BadRequest("CaptureVAppParams names no Source.".into()))?;
    let vapp = source_vapp(&ask, source).await?;
    let customize = match body.child("CustomizationSection") {
        Some(section) => section.flag("CustomizeOnInstantiate")?,
        None => None,
    };
    let made = match body.child("TargetCatalogItem") {
        Some(target) => {
            let id: TemplateId = referred(target, Kind::Template)?;
            let found = catalog::template(ask.d(), &ask.actor, id).await?;
            if found.catalog != catalog {
                return Err(Error::BadRequest(format!("{} is in another catalog than this one.", found.name)));
            }
            item::capture_version(ask.d(), &ask.actor, vapp, id, customize).await?;
            let description = body.word("Description").unwrap_or(&found.description).to_owned();
            let name = body.word("name").unwrap_or(&found.name);
            if (name, &description) != (&found.name, &found.description) {
                item::edit(ask.d(), &ask.actor, id, name, &description).await?;
            }
            id
        }
        None => {
            let spec = spec(&body, ItemKind::Template)?;
            item::capture_as(ask.d(), &ask.actor, vapp, catalog, spec, customize.unwrap_or(true)).await?
        }
    };
    let found = catalog::template(ask.d(), &ask.actor, made).await?;
    let tasks = domain::task::about(ask.d(), &ask.actor, found.org, made.0).await?;
    match tasks.into_iter().find(|t| t.action() == Some(Action::VappCapture)) {
        Some(began) => task::accepted(&ask, Some(began.id)).await,
        None => {
            let what = Noted { org: found.org, id: made.0, name: found.name, owner: found.catalog_owner };
            task::accepted_about(&ask, Action::VappCapture, what).await
        }
    }
}

/// The vApp, or that of a VM which is alone in it.
async fn source_vapp(ask: &Ask, source: &Element) -> Result<VappId> {
    if !source.attr("href").or_else(|| source.attr("id")).is_some_and(|a| a.contains("/vm-") || a.contains(":vm:")) {
        return referred(source, Kind::Vapp);
    }
    let id: VmId = referred(source, Kind::Vm)?;
    let vm = vm::get(ask.d(), &ask.actor, id).await?;
    match vapp::get(ask.d(), &ask.actor, vm.vapp).await?.vms.all {
        1 => Ok(vm.vapp),
        _ => Err(Error::BadRequest(format!(
            "{} is one of several VMs in {}. A vApp is captured with all its VMs: name the vApp.",
            vm.name, vm.vapp_name
        ))),
    }
}

/// What is in one catalog is in no other.
async fn place(ask: Ask) -> Result<Answer> {
    let catalog = catalog::get(ask.d(), &ask.actor, ask.id(Kind::Catalog)?).await?;
    ask.xml("CatalogItem")?;
    Err(Error::BadRequest(format!(
        "Templates and discs are not put into {} from elsewhere. Upload them ({}), or capture a vApp ({}).",
        catalog.name,
        media::UPLOAD_TEMPLATE_PARAMS,
        media::CAPTURE_PARAMS
    )))
}
