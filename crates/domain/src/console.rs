//! Consoles: somebody with the right draws a ticket, which opens the screen and keyboard of a running machine once and soon. An
//! open console lasts as long as the session that drew its ticket, the right, and the machine do.
use crate::{
    Domain, hub as hubs,
    session::{self, SignedIn, fresh_secret, hash_of, themselves},
};
use hub::{
    Key,
    client::{Viewing, Vnc},
};
use model::{Action, Actor, Error, Fields, Kind, OrgId, Origin, Result, UserId, VappId, Via, VmId, can, vm::Vm};
use std::time::Duration as Span;
use store::{Record, Ticket};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

/// A ticket that is not used by then opens nothing.
const LASTS: Duration = Duration::seconds(30);
/// So many machines somebody may look at at once.
pub const PER_USER: i64 = 2;
/// How often it is looked at whether a console may go on, if nothing happens before.
pub const LOOK: Span = Span::from_secs(10);
/// Without a key or a move of the mouse for so long a console ends.
pub const IDLE: Span = Span::from_secs(15 * 60);
/// A console that was not looked at for so long has lost its server.
const ABANDONED: Duration = Duration::minutes(1);
/// What tickets begin with, as VCD's do.
const PREFIX: &str = "cst-";

/// What opens a console. The text is given out once, and the database knows its hash.
pub struct Drawn {
    pub ticket: String,
    pub vm: Vm,
}

/// A ticket for a machine that runs.
pub async fn acquire(d: &Domain, actor: &Actor, session: &[u8], id: VmId) -> Result<Drawn> {
    let action = Action::VmConsole;
    d.attempt(actor, action, async {
        let vm = d.store.vm(actor, action, id).await?.into_inner();
        can::or_not_now(can::vm(&vm, action))?;
        let user = actor.user.ok_or(Error::SignInNeeded)?;
        let now = d.now();
        if d.store.consoles_besides(user, id, now - ABANDONED).await? >= PER_USER {
            return Err(too_many());
        }
        let ticket = format!("{PREFIX}{}", fresh_secret());
        let by_browser = actor.origin.via == Via::Portal;
        let row = Ticket { hash: &hash_of(&ticket), vm: id, user, session, by_browser, expires_at: now + LASTS };
        d.store.console_draw(&row, now).await?;
        Ok(Drawn { ticket, vm })
    })
    .await
}

fn too_many() -> Error {
    Error::NotNow(format!("Not now: you have {PER_USER} consoles open, and nobody has more at once. Close one first."))
}

/// Somebody at the screen of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    pub name: String,
    pub own: bool,
    pub since: OffsetDateTime,
}

/// Who would be put out by whoever opens the console now. Only those who may open it learn that.
pub async fn seat(d: &Domain, actor: &Actor, id: VmId) -> Result<Option<Seat>> {
    let vm = d.store.vm(actor, Action::VmConsole, id).await?;
    let found = d.store.console_at(vm.id, d.now() - ABANDONED).await?;
    Ok(found.map(|(user, name, since)| Seat { name, own: actor.user == Some(user), since }))
}

/// A console whose ticket was used: to be opened, looked after and closed.
#[derive(Clone, Debug)]
pub struct Console {
    id: Uuid,
    pub vm: VmId,
    pub vapp: VappId,
    name: String,
    org: OrgId,
    owner: Option<UserId>,
    session: Vec<u8>,
    actor: Actor,
}

/// Uses a ticket up. `browser`: the session of the cookie that came along, which has to be the one that a page drew it in.
pub async fn redeem(d: &Domain, ticket: &str, browser: &[u8], origin: Origin) -> Result<Console> {
    let none = || Error::NotFound(Kind::Vm);
    if !ticket.starts_with(PREFIX) || ticket.len() > 100 {
        return Err(none());
    }
    let now = d.now();
    let found = d.store.console_redeem(&hash_of(ticket), PER_USER, now - ABANDONED, now).await?;
    let Some(row) = found else { return Err(none()) };
    let allowed = async {
        if row.by_browser && row.session != browser {
            return Err(none());
        }
        let actor = session::who(d, &row.session, origin, true).await?.ok_or(Error::SignInNeeded)?;
        let vm = d.attempt(&actor, Action::VmConsole, async {
            let vm = d.store.vm(&actor, Action::VmConsole, row.vm).await?.into_inner();
            can::or_not_now(can::vm(&vm, Action::VmConsole))?;
            Ok(vm)
        });
        let vm = vm.await?;
        Ok(Console {
            id: row.id,
            vm: vm.id,
            vapp: vm.vapp,
            name: vm.name,
            org: vm.org,
            owner: vm.owner,
            session: row.session.clone(),
            actor,
        })
    };
    let allowed = allowed.await;
    if allowed.is_err() {
        d.store.console_forget(row.id).await?;
    }
    allowed
}

/// Reaches the machine's screen on its hub. Whoever looks at it until then is put out: KubeVirt shows it to one.
pub async fn open(d: &Domain, console: &Console) -> Result<Vnc> {
    let opened = async {
        let (client, key, uid) = reach(d, console.vm).await?;
        client.vnc(&key, &uid, Viewing::TakeOver).await.map_err(|e| unreached(console.vm, e))
    };
    match opened.await {
        Ok(vnc) => {
            let tx = d.store.write(&console.actor).await?;
            tx.commit(Record::new(Action::VmConsole, console.org, console.vm, &console.name).of(console.owner)).await?;
            Ok(vnc)
        }
        Err(e) => {
            d.store.console_forget(console.id).await?;
            Err(e)
        }
    }
}

/// A picture of the screen, as PNG. Nobody is put out for it.
pub async fn picture(d: &Domain, actor: &Actor, id: VmId) -> Result<Vec<u8>> {
    let vm = d.store.vm(actor, Action::VmScreen, id).await?;
    can::or_not_now(can::vm(&vm, Action::VmScreen))?;
    let (client, key, uid) = reach(d, id).await?;
    client.picture(&key, &uid).await.map_err(|e| unreached(id, e))
}

/// The client of a machine's hub, and where the machine is there.
async fn reach(d: &Domain, id: VmId) -> Result<(hub::Client, Key, String)> {
    let gone = || Error::NotFound(Kind::Vm);
    let vm = d.store.vm_work(id.0).await?.filter(|vm| !vm.deleted).ok_or_else(gone)?;
    let (Some(hub), Some(uid)) = (&vm.hub, vm.uid) else { return Err(gone()) };
    let place = d.store.place(vm.vdc, hub).await?.ok_or_else(gone)?;
    Ok((hubs::client(d, hub).await?, Key::new(&place.namespace, &vm.hub_name), uid))
}

fn unreached(vm: VmId, e: hub::Error) -> Error {
    tracing::warn!(vm_id = %vm, error = %e, "a screen could not be reached");
    Error::NotNow(format!("Not now: its screen can't be reached. {}", e.for_tenants()))
}

/// The ticket was used, and nobody came for what it opens.
pub async fn forget(d: &Domain, console: &Console) -> Result<()> {
    d.store.console_forget(console.id).await
}

/// Why a console ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Whoever looked went away.
    Left,
    Session,
    Right(String),
    /// The machine stopped, or is being deleted.
    Machine(String),
    Idle,
    /// The hub closed it.
    Closed,
    /// It could not be reached, or broke.
    Broken(String),
    /// This server stops.
    Stopping,
}

impl End {
    pub fn words(&self) -> String {
        match self {
            End::Left => "It was left.".into(),
            End::Session => "Your session has ended. Sign in again.".into(),
            End::Right(why) | End::Machine(why) | End::Broken(why) => why.clone(),
            End::Idle => format!("Nobody used it for {} minutes.", IDLE.as_secs() / 60),
            End::Closed => "The machine stopped, or somebody else opened its console.".into(),
            End::Stopping => "The server stops. Connect again.".into(),
        }
    }
}

impl Fields for End {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("reason", self.words())]
    }
}

/// May it go on? `used`: somebody pressed a key or moved the mouse since the last look, so their session goes on as well.
pub async fn look(d: &Domain, console: &Console, used: bool) -> Result<Option<End>> {
    let Some(actor) = session::who(d, &console.session, console.actor.origin.clone(), used).await? else {
        return Ok(Some(End::Session));
    };
    let vm = match d.store.vm(&actor, Action::VmConsole, console.vm).await {
        Ok(vm) => vm,
        Err(e @ (Error::Forbidden { .. } | Error::NotShared { .. })) => return Ok(Some(End::Right(e.to_string()))),
        Err(Error::NotFound(_)) => return Ok(Some(End::Machine("The VM is not there any more.".into()))),
        Err(e) => return Err(e),
    };
    if let Err(why) = can::console_goes_on(&vm) {
        return Ok(Some(End::Machine(why)));
    }
    d.store.console_alive(console.id, d.now()).await?;
    Ok(None)
}

/// Writes down that it has ended, once.
pub async fn close(d: &Domain, console: &Console, end: &End) -> Result<()> {
    let mut tx = d.store.write(&console.actor).await?;
    if tx.console_close(console.id).await? {
        let record = Record::new(Action::VmConsoleClose, console.org, console.vm, &console.name);
        tx.commit(record.of(console.owner).after(end)).await?;
    }
    Ok(())
}

/// Tickets that nobody used are removed, and consoles whose server died are closed. Any replica may do it.
pub async fn clean(d: &Domain) -> Result<u64> {
    let mut gone = d.store.tickets_purge(d.now()).await?;
    for c in d.store.consoles_abandoned(d.now() - ABANDONED).await? {
        let who = SignedIn { user: c.user, org: c.user_org, org_name: c.user_org_name, name: c.user_name };
        let actor = themselves(&who, Origin { via: Via::Itself, ..Origin::default() });
        let mut tx = d.store.write(&actor).await?;
        if tx.console_close(c.id).await? {
            let end = End::Broken("The server that carried it stopped.".into());
            let record = Record::new(Action::VmConsoleClose, c.org, c.vm, &c.vm_name).of(c.owner);
            tx.commit(record.after(&end)).await?;
            gone += 1;
        }
    }
    Ok(gone)
}
