//! Simulated hubs can be told to misbehave, so that people see what SSVirt does then.
use crate::Domain;
use model::{Action, Actor, Error, Fields, HubId, Kind, Result};
use store::Record;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub name: String,
    /// What it does, for people.
    pub about: String,
    pub on: bool,
}

/// Whoever plays the hubs.
pub trait Simulator: Send + Sync {
    /// None: the hub is a real one.
    fn faults(&self, hub: &HubId) -> Option<Vec<Fault>>;
    fn set(&self, hub: &HubId, fault: &str, on: bool);
}

pub fn faults(d: &Domain, hub: &HubId) -> Option<Vec<Fault>> {
    d.simulator.as_ref()?.faults(hub)
}

pub async fn set_fault(d: &Domain, actor: &Actor, id: &HubId, fault: &str, on: bool) -> Result<()> {
    let action = Action::HubFault;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let hub = tx.hub(action, id).await?;
        let simulator = d.simulator.as_ref().ok_or(Error::NotFound(Kind::Hub))?;
        let faults = simulator.faults(id).ok_or(Error::NotFound(Kind::Hub))?;
        let Some(known) = faults.iter().find(|f| f.name == fault) else {
            return Err(Error::BadRequest("There is no such fault. Open the hub's page again.".into()));
        };
        let (before, after) = (Switch(fault, known.on), Switch(fault, on));
        tx.commit(Record::new(action, actor.org, hub.uid, &hub.id.0).before(&before).after(&after)).await?;
        simulator.set(id, fault, on);
        Ok(())
    })
    .await
}

struct Switch<'a>(&'a str, bool);

impl Fields for Switch<'_> {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let state = if self.1 { "on" } else { "off" };
        vec![("fault", format!("{} is {state}", self.0))]
    }
}
