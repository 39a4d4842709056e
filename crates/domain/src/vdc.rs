//! Virtual data centers of an organization, within what it may have.
use crate::Domain;
use model::{
    Action, Actor, Error, FieldError, HubId, Kind, OrgId, Problems, Result, VdcId, can, conflict,
    decide::{Resource, authorize, list_scope},
    list::{ListQuery, Page},
    name,
    org::Org,
    query::{Found, Numbered},
    site::Sites,
    template::ItemKind,
    vdc::{Vdc, VdcBesides, VdcContents, VdcSpec},
};
use store::{Authorized, Record, Write};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Vdc>> {
    d.store.vdcs(list_scope(actor, Action::VdcList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Vdc>> {
    d.store.vdcs_query(list_scope(actor, Action::VdcList, org)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: VdcId) -> Result<Vdc> {
    Ok(d.store.vdc(actor, Action::VdcView, id).await?.into_inner())
}

/// What is in it. Kinds that somebody may not see are empty.
pub async fn contents(d: &Domain, actor: &Actor, vdc: &Vdc) -> Result<VdcContents> {
    let (s, org) = (&d.store, Some(vdc.org));
    let mut all = VdcContents::default();
    if let Ok(scope) = list_scope(actor, Action::VappList, org) {
        all.vapps = s.vapp_names(scope, vdc.id).await?;
    }
    if let Ok(scope) = list_scope(actor, Action::CatalogList, org) {
        all.templates = s.template_names(scope, vdc.org, ItemKind::Template).await?;
        all.media = s.template_names(scope, vdc.org, ItemKind::Media).await?;
    }
    if let Ok(scope) = list_scope(actor, Action::DiskList, org) {
        all.disks = s.disk_names(scope, vdc.id).await?;
    }
    if authorize(actor, Action::NetworkList, Resource::Of(vdc.org)).is_ok() {
        all.networks = s.network_names_in_reach(vdc).await?;
    }
    Ok(all)
}

pub async fn create(d: &Domain, actor: &Actor, org: OrgId, spec: VdcSpec) -> Result<Vdc> {
    let action = Action::VdcCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Of(org))?;
        let id = VdcId(Uuid::now_v7());
        let sites = d.store.sites().await?;
        let mut tx = d.store.write(actor).await?;
        // held until the end: nobody else makes the organization's last VDC meanwhile
        let org = tx.org(action, org).await?;
        if org.is_provider {
            return Err(Error::BadRequest(format!(
                "{} is the provider's own organization. VDCs are for tenants.",
                org.name
            )));
        }
        let spec = checked(actor, &org, spec, &sites, None)?;
        if let Some(limit) = org.vdc_limit
            && org.vdcs >= limit
        {
            let message = format!(
                "{} has {} of {limit} VDCs, so none is left. Delete one, or have the limit raised.",
                org.name, org.vdcs
            );
            return Err(Error::OverQuota(FieldError { field: "", message }));
        }
        let plain = name::namespace_name(&org.name, &spec.name, id.0, false);
        let taken = tx.namespace_taken(&plain).await?;
        let namespace = name::namespace_name(&org.name, &spec.name, id.0, taken);
        tx.vdc_insert(id, &org, &spec, &namespace).await?;
        tx.enqueue(Kind::Vdc, id, org.id, None).await?;
        tx.commit(Record::new(action, org.id, id, &spec.name).after(&spec).with_open_task()).await?;
        get(d, actor, id).await
    })
    .await
}

/// The namespace keeps its name: it may hold machines.
pub async fn edit(d: &Domain, actor: &Actor, id: VdcId, version: i64, spec: VdcSpec) -> Result<Vdc> {
    let action = Action::VdcEdit;
    d.attempt(actor, action, async {
        let sites = d.store.sites().await?;
        let mut tx = d.store.write(actor).await?;
        let vdc = tx.vdc(action, id).await?;
        let org = tx.org_seen(action, vdc.org).await?;
        let current = VdcSpec::from(&*vdc);
        let spec = checked(actor, &org, spec, &sites, Some(&current))?;
        if version != vdc.version {
            let changed = (vdc.updated_by.as_str(), vdc.updated_at, vdc.version);
            return Err(Error::Conflict(Box::new(conflict(Kind::Vdc, &vdc.name, changed, &current, &spec))));
        }
        tx.vdc_update(&vdc, &spec).await?;
        tx.enqueue(Kind::Vdc, id, vdc.org, None).await?;
        tx.commit(Record::new(action, vdc.org, id, &spec.name).before(&current).after(&spec).with_open_task()).await?;
        if (&spec.hubs, &spec.region, &spec.zone) != (&current.hubs, &current.region, &current.zone) {
            // what found no hub may find one now
            d.store.wake_waiting("").await?;
        }
        get(d, actor, id).await
    })
    .await
}

/// By its own rules and against the hubs there are; what was wished for `before` may stay. Hubs are the provider's choice,
/// region and zone also the organization's.
fn checked(actor: &Actor, org: &Org, spec: VdcSpec, sites: &Sites, before: Option<&VdcSpec>) -> Result<VdcSpec> {
    if spec.hubs.as_slice() != before.map_or(&[][..], |b| &b.hubs) {
        authorize(actor, Action::VdcChooseHubs, Resource::Of(org.id))?;
    }
    let spec = spec.check(&org.limits, &org.name)?;
    let mut problems = Problems::default();
    sites.check_vdc(&spec, before, &mut problems);
    problems.done()?;
    Ok(spec)
}

/// What VCD's clients set besides: kept as it is given.
pub async fn keep(d: &Domain, actor: &Actor, id: VdcId, besides: VdcBesides) -> Result<Vdc> {
    let action = Action::VdcEdit;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vdc = tx.vdc(action, id).await?;
        if vdc.besides != besides {
            tx.vdc_keep(&vdc, &besides).await?;
            let record = Record::new(action, vdc.org, id, &vdc.name).before(&vdc.besides).after(&besides);
            tx.commit(record.with_task()).await?;
        }
        get(d, actor, id).await
    })
    .await
}

/// The hubs it is on.
pub async fn hubs(d: &Domain, actor: &Actor, id: VdcId) -> Result<Vec<HubId>> {
    authorize(actor, Action::HubList, Resource::Installation)?;
    d.store.hubs_of_vdc(id).await
}

/// A disabled VDC allows nothing new; what runs in it goes on.
pub async fn set_enabled(d: &Domain, actor: &Actor, id: VdcId, enabled: bool) -> Result<Vdc> {
    let action = if enabled { Action::VdcEnable } else { Action::VdcDisable };
    d.attempt(actor, action, async {
        let (mut tx, vdc) = hold(d, actor, action, id).await?;
        tx.vdc_set_enabled(&vdc, enabled).await?;
        tx.enqueue(Kind::Vdc, id, vdc.org, None).await?;
        tx.commit(Record::new(action, vdc.org, id, &vdc.name).with_open_task()).await?;
        get(d, actor, id).await
    })
    .await
}

pub async fn delete(d: &Domain, actor: &Actor, id: VdcId) -> Result<()> {
    let action = Action::VdcDelete;
    d.attempt(actor, action, async {
        let (mut tx, vdc) = hold(d, actor, action, id).await?;
        tx.vdc_delete(&vdc).await?;
        tx.enqueue(Kind::Vdc, id, vdc.org, None).await?;
        tx.commit(Record::new(action, vdc.org, id, &vdc.name).before(&VdcSpec::from(&*vdc)).with_open_task()).await?;
        Ok(())
    })
    .await
}

async fn hold<'a>(d: &'a Domain, actor: &'a Actor, action: Action, id: VdcId) -> Result<(Write<'a>, Authorized<Vdc>)> {
    let mut tx = d.store.write(actor).await?;
    let vdc = tx.vdc(action, id).await?;
    can::or_not_now(can::vdc(&vdc, action))?;
    Ok((tx, vdc))
}
