//! The lease of a vApp. Zero is what clients say for ever.
use super::nothing;
use crate::{
    answer::Answer,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, link},
        media,
        times::stamp,
    },
};
use domain::{lease, vapp};
use model::{Error, Kind, Result, lease::LeaseSpec, vapp::Vapp};
use std::fmt::Display;
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.get("/api/vApp/vapp-{id}/leaseSettingsSection", get).put("/api/vApp/vapp-{id}/leaseSettingsSection", set)
}

fn href(ask: &Ask, v: &Vapp) -> String {
    format!("{}/leaseSettingsSection/", ask.base().vapp(v.id))
}

pub(crate) fn section(w: &mut Writer, ask: &Ask, v: &Vapp) {
    let href = href(ask, v);
    let attributes: [(&str, &dyn Display); 3] = [("href", &href), ("type", &media::LEASE), ("ovf:required", &false)];
    w.el("LeaseSettingsSection", &attributes, |w| content(w, &href, v));
}

fn content(w: &mut Writer, href: &str, v: &Vapp) {
    w.text("ovf:Info", "Lease settings section");
    link(w, "edit", href, media::LEASE);
    w.text("DeploymentLeaseInSeconds", v.lease.runtime_s.unwrap_or(0));
    w.text("StorageLeaseInSeconds", v.lease.storage_s.unwrap_or(0));
    if let Some(at) = v.lease.ends_at {
        w.text(if v.lease.running { "DeploymentLeaseExpiration" } else { "StorageLeaseExpiration" }, stamp(at));
    }
}

async fn get(ask: Ask) -> Result<Answer> {
    let v = vapp::get(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    let href = href(&ask, &v);
    let attributes: [(&str, &dyn Display); 3] = [("href", &href), ("type", &media::LEASE), ("ovf:required", &false)];
    let text = document("LeaseSettingsSection", &attributes, |w| content(w, &href, &v));
    Ok(Answer::xml(media::LEASE, text))
}

async fn set(ask: Ask) -> Result<Answer> {
    let body = ask.xml("LeaseSettingsSection")?;
    let v = vapp::get(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    let read = |name: &str, now: Option<i64>| match body.number::<i64>(name)? {
        None => Ok(now),
        Some(0) => Ok(None),
        Some(s) if s > 0 => Ok(Some(s)),
        Some(_) => Err(Error::BadRequest(format!("{name} is a number of seconds, or 0 for ever."))),
    };
    let spec = LeaseSpec {
        runtime_s: read("DeploymentLeaseInSeconds", v.lease.runtime_s)?,
        storage_s: read("StorageLeaseInSeconds", v.lease.storage_s)?,
    };
    if spec != v.lease.spec() {
        lease::set(ask.d(), &ask.actor, v.id, spec).await?;
    }
    nothing(&ask, &v).await
}
