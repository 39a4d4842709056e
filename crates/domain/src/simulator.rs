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
    pub of: FaultOf,
}

/// Where a fault shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultOf {
    /// Between SSVirt and the hub.
    Answers,
    /// On the hub itself, with what runs there.
    Machines,
}

/// What somebody does to a VM on the hub, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    pub name: String,
    pub about: String,
}

/// Whoever plays the hubs.
pub trait Simulator: Send + Sync {
    /// None: the hub is a real one.
    fn faults(&self, hub: &HubId) -> Option<Vec<Fault>>;
    fn set(&self, hub: &HubId, fault: &str, on: bool);
    /// What can be done to VMs by hand.
    fn deeds(&self, hub: &HubId) -> Vec<Deed>;
    /// The VM of that name on the hub, or any one if the name is empty, as it is called there.
    fn machine(&self, hub: &HubId, meant: &str) -> Option<String>;
    /// False: that VM is not there any more.
    fn act(&self, hub: &HubId, deed: &str, machine: &str) -> bool;
}

pub fn faults(d: &Domain, hub: &HubId) -> Option<Vec<Fault>> {
    d.simulator.as_ref()?.faults(hub)
}

pub fn deeds(d: &Domain, hub: &HubId) -> Vec<Deed> {
    d.simulator.as_ref().map(|s| s.deeds(hub)).unwrap_or_default()
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

/// Does something to a VM of the hub past SSVirt, and says to which.
pub async fn by_hand(d: &Domain, actor: &Actor, id: &HubId, deed: &str, meant: &str) -> Result<String> {
    let action = Action::HubFault;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let hub = tx.hub(action, id).await?;
        let simulator = d.simulator.as_ref().ok_or(Error::NotFound(Kind::Hub))?;
        simulator.faults(id).ok_or(Error::NotFound(Kind::Hub))?;
        if !simulator.deeds(id).iter().any(|known| known.name == deed) {
            return Err(Error::BadRequest("Nothing like that can be done by hand. Open the hub's page again.".into()));
        }
        let missing = || match meant {
            "" => Error::NotNow(format!("There is no VM on hub {id}. Deploy one first.")),
            name => Error::NotNow(format!(
                "There is no VM {name} on hub {id}. Take its name from its page, or leave the field empty."
            )),
        };
        let machine = simulator.machine(id, meant).ok_or_else(missing)?;
        let done = Done(deed, &machine);
        tx.commit(Record::new(action, actor.org, hub.uid, &hub.id.0).after(&done)).await?;
        if simulator.act(id, deed, &machine) { Ok(machine) } else { Err(missing()) }
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

struct Done<'a>(&'a str, &'a str);

impl Fields for Done<'_> {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("fault", format!("{} of {}", self.0, self.1))]
    }
}
