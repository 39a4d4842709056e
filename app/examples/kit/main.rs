//! Writes every part in its states, and a few whole pages made of them, as plain HTML into target/kit, to look at.
//! `cargo xtask site` first, for the stylesheet; then serve `target/` and open `/kit/kit.html`.
mod pages;
mod sheet;

use app::shell::{SiteRoot, Theme, html_document};
use leptos::prelude::*;
use leptos_meta::{ServerMetaContext, provide_meta_context};
use std::{fs, io, path::Path};

type Page = fn() -> AnyView;

fn main() -> io::Result<()> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/kit");
    fs::create_dir_all(&dir)?;
    let pages: [(&str, Page); 11] = [
        ("kit", sheet::kit),
        ("organizations", pages::organizations),
        ("organization-new", pages::organization_new),
        ("organization-edit", pages::organization_edit),
        ("dashboard", pages::dashboard),
        ("audit", pages::audit),
        ("delete", pages::delete),
        ("sign-in", pages::sign_in),
        ("sign-in-refused", pages::sign_in_refused),
        ("answers", pages::answers),
        ("out-of-order", pages::out_of_order),
    ];
    for (name, page) in pages {
        let file = dir.join(format!("{name}.html"));
        fs::write(&file, document(name, page))?;
        println!("{}", file.display());
    }
    Ok(())
}

fn document(name: &str, page: Page) -> String {
    let html = Owner::new().with(|| {
        provide_meta_context();
        provide_context(ServerMetaContext::new().0);
        provide_context(SiteRoot("../site".to_owned()));
        provide_context(Theme::System);
        let options = LeptosOptions::builder().output_name("ssvirt").build();
        html_document(options, page).to_html()
    });
    // A running server puts the page's own title here.
    html.replace("<!--HEAD-->", &format!("<title>{name}</title>"))
}
