//! What is in catalogs: templates and media, uploaded and captured.
use super::{
    AsCode, Site, TASK, Way, catalog, curl,
    hcl::{self, Block},
    in_org, in_vdc, named, shell,
    vapp::IMPORT,
    xml::{VCLOUD, el, text},
};
use model::{
    catalog::Catalog,
    template::{ItemKind, Template},
    upload::{Upload, UploadSpec},
    vapp::Vapp,
};

fn resource_kind(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Template => "vcd_catalog_vapp_template",
        ItemKind::Media => "vcd_catalog_media",
    }
}

fn catalog_id(name: &str) -> String {
    format!("data.vcd_catalog.{}.id", hcl::label(name))
}

/// A file of the reader's into a catalog.
pub fn upload(site: &Site, c: &Catalog, spec: &UploadSpec) -> AsCode {
    let media = spec.kind == ItemKind::Media;
    let name = named(&spec.name, if media { "my-media" } else { "my-template" });
    let file = if media { "my-image.iso" } else { "my-image.ova" };
    let begin = format!("api/catalog/{}/action/upload", c.id);
    let begun = match media {
        false => {
            let body = el("UploadVAppTemplateParams").attrs(&[VCLOUD]).attr("name", name);
            curl::post_xml(site, &begin, "uploadVAppTemplateParams", &body.said("Description", &spec.description))
        }
        true => {
            let body = el("Media").attrs(&[VCLOUD]).attr("name", name).attr("imageType", "iso").attr("size", "SIZE");
            let body = shell::still(&body.said("Description", &spec.description).to_string());
            let body = body.replacen("size=\"SIZE\"", "size=\"$(wc -c <\"$FILE\" | tr -d ' ')\"", 1);
            curl::post_open_xml(site, &begin, "media", &body)
        }
    };
    let entity = if media { "api/media/" } else { "api/vAppTemplate/vappTemplate-" };
    let item = curl::kept("item", &begun, r#"/api/catalogItem/\([0-9a-f-]*\)""#);
    let link =
        curl::kept("link", &curl::get(site, &format!("{entity}$item")), r#"rel="upload:default" href="\([^"]*\)""#);
    // a template's link ends with the name of a descriptor; an archive or a disk goes beside it, under its own name
    let to = if media { "\"$link\"" } else { "\"${link%/*}/${FILE##*/}\"" };
    let send = format!("curl -sS --fail-with-body -T \"$FILE\" {to}");
    let curl = curl::steps(&[
        ("the file", format!("FILE={file}")),
        ("begin", item),
        ("where it is to be sent", link),
        ("send it", send),
    ]);
    let mut lines = in_org(site, &c.org_name);
    lines.push(shell::vcd(["catalog", "upload", &c.name, file, "-i", name]));
    let resource = Block::resource(resource_kind(spec.kind), name)
        .text("org", &c.org_name)
        .is("catalog_id", catalog_id(&c.name))
        .text("name", name)
        .said("description", &spec.description)
        .text(if media { "media_path" } else { "ova_path" }, file)
        .is("upload_piece_size", 10);
    AsCode::of_form(
        Way::code(curl).but_if(
            !media,
            "The file is an OVA, or one disk as qcow2, VMDK or raw. It is checked when all of it has come.",
        ),
        Way::vcd([&c.name, name], lines)
            .but_if(!media, "vcd-cli sends templates as .ova alone.")
            .but_if(!spec.description.trim().is_empty(), "It gives no description."),
        hcl::all([catalog::data(&c.org_name, &c.name), resource]).but_if(!media, "The provider sends OVAs alone."),
    )
}

/// Of an upload that is on its way.
pub fn upload_thing(site: &Site, u: &Upload) -> AsCode {
    let path = match u.kind {
        ItemKind::Template => format!("api/vAppTemplate/vappTemplate-{}", u.template),
        ItemKind::Media => format!("api/media/{}", u.template),
    };
    let why = "sends a file and waits for its end in one command, and knows nothing of uploads that others began.";
    AsCode::of_thing(
        Way::code(curl::get(site, &path)).but("While it is open, Files says where to send what and how much has come."),
        Way::none(format!("vcd-cli {why}")),
        Way::none(format!("Terraform {why}")),
    )
}

/// Another version of one that is there.
pub fn version() -> AsCode {
    let why =
        "VCD's items have one version, so this is the portal's alone. With code it is another item, of another name.";
    AsCode::of_form(Way::none(why), Way::none(why), Way::none(why))
}

/// `own`: the reader's organization can change it.
pub fn thing(site: &Site, t: &Template, own: bool) -> AsCode {
    let path = match t.kind {
        ItemKind::Template => format!("api/vAppTemplate/vappTemplate-{}", t.id),
        ItemKind::Media => format!("api/media/{}", t.id),
    };
    let org = if own { t.org_name.as_str() } else { &site.org };
    let mut lines = in_org(site, org);
    lines.push(shell::vcd(["catalog", "info", &t.catalog_name, &t.name]));
    let kind = resource_kind(t.kind);
    let place = catalog::data(&t.org_name, &t.catalog_name);
    let managed = own && t.source.is_empty();
    let (id, separator) = hcl::import_id(&[&t.org_name, &t.catalog_name, &t.name]);
    let block = if managed { Block::resource(kind, &t.name) } else { Block::data(kind, &t.name) };
    let block = block.text("org", &t.org_name);
    let block = match (t.kind, managed) {
        (ItemKind::Media, false) => block.text("catalog", &t.catalog_name),
        _ => block.is("catalog_id", catalog_id(&t.catalog_name)),
    };
    let block = block.text("name", &t.name);
    let terraform = match managed {
        true => {
            let from = if t.kind == ItemKind::Media { "media_path" } else { "ova_path" };
            let file = if t.kind == ItemKind::Media { "my-image.iso" } else { "my-image.ova" };
            let kept = Block::new("lifecycle").is("ignore_changes", format_args!("[{from}]"));
            let block = block.said("description", &t.description).text(from, file).with(kept);
            hcl::all([Block::import(kind, &t.name, &id), place, block])
                .but(IMPORT)
                .but(format!("{from} has to be said, and is not looked at once the item is there."))
        }
        false if t.kind == ItemKind::Media => hcl::all([block]).but("It is read and not managed."),
        false => hcl::all([place, block])
            .but("It came from hubs or from another organization, so it is read and not managed."),
    };
    AsCode::of_thing(Way::code(curl::get(site, &path)), Way::vcd([&t.name], lines), terraform).separated(if managed {
        separator
    } else {
        hcl::DOT
    })
}

/// A template of a vApp.
pub fn capture(site: &Site, v: &Vapp, c: &Catalog, name: &str, description: &str) -> AsCode {
    let name = named(name, "my-template");
    let body = el("CaptureVAppParams")
        .attrs(&[VCLOUD])
        .attr("name", name)
        .said("Description", description)
        .with(el("Source").attr("href", site.href(format_args!("api/vApp/vapp-{}", v.id))))
        .with(el("CustomizationSection").with(text("CustomizeOnInstantiate", true)));
    let path = format!("api/catalog/{}/action/captureVApp", c.id);
    let mut lines = in_vdc(site, &v.org_name, &v.vdc_name);
    lines.push(shell::with(shell::vcd(["vapp", "capture", &v.name, &c.name, name]), &[("-d", description.trim())]));
    let source = hcl::in_vdc(Block::data("vcd_vapp", &v.name), &v.org_name, &v.vdc_name).text("name", &v.name);
    let from = Block::new("capture_vapp").is("source_id", format_args!("data.vcd_vapp.{}.id", hcl::label(&v.name)));
    let resource = Block::resource("vcd_catalog_vapp_template", name)
        .text("org", &c.org_name)
        .is("catalog_id", catalog_id(&c.name))
        .text("name", name)
        .said("description", description)
        .with(from);
    AsCode::of_form(
        Way::code(curl::post_xml(site, &path, "captureVAppParams", &body)).but(TASK),
        Way::vcd([&v.name, &c.name, name], lines),
        hcl::all([catalog::data(&c.org_name, &c.name), source, resource]),
    )
}
