//! Proof that somebody may do something to a thing they looked up. Only lookups make one.
use model::{
    Action, Actor, Error, Result,
    decide::{Decision, Resource, authorize, decide},
};
use std::ops::Deref;

#[derive(Clone, Debug)]
pub struct Authorized<T> {
    value: T,
    action: Action,
}

impl<T> Authorized<T> {
    /// `found` is None for a missing row; a hidden one is answered alike.
    pub(crate) fn check(
        actor: &Actor,
        action: Action,
        found: Option<T>,
        resource: impl Fn(&T) -> Resource,
    ) -> Result<Authorized<T>> {
        match found {
            Some(value) => authorize(actor, action, resource(&value)).map(|()| Authorized { value, action }),
            None => {
                // the right is looked at first, so that without it missing and foreign look alike too
                match decide(actor, action, Resource::Of(actor.org)) {
                    Decision::Forbid(right) => Err(Error::Forbidden { action, right }),
                    _ => Err(Error::NotFound(action.kind())),
                }
            }
        }
    }

    pub fn action(&self) -> Action {
        self.action
    }

    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> Deref for Authorized<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}
