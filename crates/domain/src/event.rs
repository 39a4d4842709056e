//! Events: one's own, or those of the organization with the right to see them.
use crate::Domain;
use model::{
    Action, Actor, OrgId, Result,
    decide::{Resource, list_scope},
    event::{Change, Event},
    list::{ListQuery, Page},
    query::{Found, Numbered},
    share,
};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Event>> {
    d.store.events(list_scope(actor, Action::EventList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Event>> {
    d.store.events_query(list_scope(actor, Action::EventList, org)?, q).await
}

/// The latest about one thing of an organization; none for those who see none.
pub async fn about(d: &Domain, actor: &Actor, org: OrgId, object: Uuid) -> Result<Vec<Event>> {
    match list_scope(actor, Action::EventList, Some(org)) {
        Ok(scope) => d.store.events_about(scope, object, 5).await,
        Err(_) => Ok(Vec::new()),
    }
}

/// May this actor learn that this changed? The same rule as for the list of events.
pub fn concerns(actor: &Actor, change: &Change) -> bool {
    // of no one thing: who sees the list sees whatever it was
    let on = match change.id {
        None => Resource::Owned(change.org, actor.user),
        Some(_) => share::resource(actor, change.org, change.owner, &change.shares),
    };
    actor.may(Action::EventList, Resource::Owned(change.org, change.user))
        || (change.org == actor.org && change.kind.shown_by().is_some_and(|a| actor.may(a, on)))
}
