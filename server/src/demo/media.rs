//! The demonstration's disc: `tools`, in a catalog of acme's own.

use axum::body::Bytes;
use domain::{Domain, bootstrap, catalog, upload};
use model::{Action, Result, catalog::CatalogSpec, template::ItemKind, upload::UploadSpec};

const CATALOG: &str = "acme-tools";
const BLOCK: usize = 2048;

pub async fn run(d: &Domain) -> Result<()> {
    let operator = bootstrap::operator(d).await?;
    let made = d.store.made_by_operator(&[CATALOG.to_owned()]).await?;
    let Some(org) = d.store.org_id("acme").await? else { return Ok(()) };
    if d.area.is_none() || made.iter().any(|m| m.action == Action::CatalogCreate.key()) {
        return Ok(());
    }
    let spec = CatalogSpec {
        name: CATALOG.into(),
        description: "What is put into machines.".into(),
        ..CatalogSpec::default()
    };
    let catalog = match catalog::create(d, &operator, org, spec).await {
        Ok(catalog) => catalog.id,
        other => return super::taken_is_fine(other),
    };
    let spec = UploadSpec {
        name: "tools".into(),
        description: "Drivers and the guest agent.".into(),
        kind: ItemKind::Media,
        ..UploadSpec::default()
    };
    let id = upload::begin(d, &operator, catalog, spec).await?;
    let link = upload::get(d, &operator, id).await?.link;
    let disc = empty_disc();
    let length = disc.len() as u64;
    let bytes = futures::stream::iter([Ok::<_, model::Error>(Bytes::from(disc))]);
    upload::send_whole(d, &link, "tools.iso", length, bytes).await
}

/// An ISO 9660 image with its descriptor, and nothing on it.
fn empty_disc() -> Vec<u8> {
    let blocks: u32 = 24;
    let mut disc = vec![0; blocks as usize * BLOCK];
    let descriptor = &mut disc[16 * BLOCK..17 * BLOCK];
    descriptor[..7].copy_from_slice(b"\x01CD001\x01");
    descriptor[40..72].copy_from_slice(b"TOOLS                           ");
    descriptor[80..84].copy_from_slice(&blocks.to_le_bytes());
    disc[17 * BLOCK..17 * BLOCK + 7].copy_from_slice(b"\xffCD001\x01");
    disc
}
