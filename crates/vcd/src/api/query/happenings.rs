//! Records of tasks and events.
use super::page::{About, Page};
use crate::{
    api::task::{status, thing},
    ask::Ask,
    wire::{
        media,
        operation::{keys_of, vcd_name},
        times::stamp,
    },
};
use domain::{event, task};
use model::{
    Kind, Result,
    query::{Clause, Filter, Numbered, Op, Value},
};

/// A name of VCD's stands for several of our actions.
pub(crate) fn by_our_names(c: Clause) -> Filter {
    if !matches!(c.field.as_str(), "name" | "operationName" | "operation") || !matches!(c.op, Op::Is | Op::IsNot) {
        return Filter::Is(c);
    }
    let same = |key: &'static str| Filter::Is(Clause { value: Value::exactly(key), ..c.clone() });
    let all: Vec<Filter> = keys_of(|name| c.value.fits(name)).into_iter().map(same).collect();
    match (all.is_empty(), c.op) {
        (true, _) => Filter::Is(c),
        (false, Op::IsNot) => Filter::All(all),
        (false, _) => Filter::Any(all),
    }
}

pub(super) async fn tasks(ask: &Ask, q: &Numbered) -> Result<Page> {
    let q = Numbered { filter: q.filter.clone().rewritten(&by_our_names), ..q.clone() };
    let found = task::query(ask.d(), &ask.actor, ask.context, &q).await?;
    let base = ask.base().clone();
    Ok(Page::new(found.total, [], move |rows| {
        for t in &found.items {
            let (href, org) = (base.task(t.id), base.org(t.org));
            let object = t.kind().and_then(|kind| thing(&base, kind, t.object_id, t.medium)).map(|(href, ..)| href);
            let (object, owner) = (object.unwrap_or_default(), t.user.map(|id| base.user(id)).unwrap_or_default());
            let (started, ended) = (stamp(t.started_at), t.ended_at.map(stamp).unwrap_or_default());
            let (full, progress) = (t.title(), t.progress.unwrap_or_default());
            rows.add(
                &About { href: &href, urn: &t.id.urn(), name: vcd_name(&t.operation), kind: media::TASK },
                &[
                    ("status", &status(t.status)),
                    ("objectName", &t.object_name),
                    ("object", &object),
                    ("objectType", &t.object_kind),
                    ("operationFull", &full),
                    ("message", &t.message),
                    ("progress", &progress),
                    ("ownerName", &t.user_name),
                    ("owner", &owner),
                    ("orgName", &t.org_name),
                    ("org", &org),
                    ("startDate", &started),
                    ("endDate", &ended),
                    ("serviceNamespace", &"com.vmware.vcloud"),
                ],
            );
        }
    }))
}

pub(super) async fn events(ask: &Ask, q: &Numbered) -> Result<Page> {
    let found = event::query(ask.d(), &ask.actor, ask.context, q).await?;
    let base = ask.base().clone();
    Ok(Page::new(found.total, [], move |rows| {
        for e in &found.items {
            let kind = Kind::parse(&e.object_kind);
            let entity =
                kind.zip(e.object_id).and_then(|(kind, id)| thing(&base, kind, id, e.medium)).map(|(href, ..)| href);
            let (entity, at) = (entity.unwrap_or_default(), stamp(e.created_at));
            let urn = e.id.urn();
            // an event has no address of its own
            rows.add(
                &About { href: &entity, urn: &urn, name: &e.kind, kind: media::ENTITY },
                &[
                    ("eventId", &urn),
                    ("eventType", &e.kind),
                    ("eventStatus", &1),
                    ("entity", &entity),
                    ("entityName", &e.object_name),
                    ("entityType", &e.object_kind),
                    ("orgName", &e.org_name),
                    ("userName", &e.user_name),
                    ("timeStamp", &at),
                    ("description", &e.message),
                    ("serviceNamespace", &"com.vmware.vcloud"),
                ],
            );
        }
    }))
}
