//! What users may do about themselves, without any right.
use crate::{Domain, user};
use model::{
    Action, Actor, Error, Kind, Result, UserId, conflict,
    session::SessionInfo,
    user::{Password, User, UserSpec},
};
use store::Record;

pub async fn get(d: &Domain, actor: &Actor) -> Result<User> {
    Ok(d.store.user(actor, Action::ProfileView, myself(actor)?).await?.into_inner())
}

/// Who a user of an identity provider is, is said there.
pub fn may_edit(me: &User) -> Result<()> {
    if me.local() {
        return Ok(());
    }
    Err(Error::NotNow(
        "Not now: your name and e-mail address come from the identity provider. Change them there.".into(),
    ))
}

pub fn may_change_password(me: &User) -> Result<()> {
    if me.local() {
        return Ok(());
    }
    Err(Error::NotNow("Not now: you sign in by the identity provider. Change the password there.".into()))
}

/// One's own full name and e-mail address.
pub async fn edit(d: &Domain, actor: &Actor, version: i64, full_name: String, email: String) -> Result<User> {
    let action = Action::ProfileEdit;
    let me = myself(actor)?;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let user = tx.user(action, me).await?;
        may_edit(&user)?;
        let current = UserSpec::from(&*user);
        let spec = UserSpec { full_name, email, ..current.clone() }.check()?;
        let (theirs, yours) = ((&current, user.role_name.as_str()), (&spec, user.role_name.as_str()));
        if version != user.version {
            let changed = (user.updated_by.as_str(), user.updated_at, user.version);
            return Err(Error::Conflict(Box::new(conflict(Kind::User, &user.name, changed, &theirs, &yours))));
        }
        tx.user_update(&user, &spec).await?;
        tx.commit(Record::new(action, user.org, me, &user.name).before(&theirs).after(&yours)).await?;
        get(d, actor).await
    })
    .await
}

/// Ends one's other sessions; `session` is the hash of the current one, which stays.
pub async fn change_password(d: &Domain, actor: &Actor, session: &[u8], old: Password, new: Password) -> Result<()> {
    let action = Action::ProfilePassword;
    let me = myself(actor)?;
    d.attempt(actor, action, async {
        may_change_password(&get(d, actor).await?)?;
        let hash = d.store.own_password_hash(me).await?;
        if !d.hasher.verify(&old, hash.as_deref()).await? {
            return Err(Error::field("old_password", "That is not your present password."));
        }
        user::check_password(d, &new, &actor.name)?;
        let hash = d.hasher.hash(&new).await?;
        let mut tx = d.store.write(actor).await?;
        let user = tx.user(action, me).await?;
        tx.user_set_password(&user, &hash, Some(session)).await?;
        tx.commit(Record::new(action, user.org, me, &user.name)).await?;
        Ok(())
    })
    .await
}

pub async fn sessions(d: &Domain, actor: &Actor, current: &[u8]) -> Result<Vec<SessionInfo>> {
    d.store.sessions_of(myself(actor)?, current, d.sessions.idle, d.now()).await
}

/// Signs out everywhere else. How many sessions that were.
pub async fn end_other_sessions(d: &Domain, actor: &Actor, current: &[u8]) -> Result<u64> {
    let me = myself(actor)?;
    let mut tx = d.store.write(actor).await?;
    let ended = tx.user_end_sessions(me, Some(current)).await?;
    tx.commit(Record::new(Action::SessionEnd, actor.org, me, &actor.name)).await?;
    Ok(ended)
}

fn myself(actor: &Actor) -> Result<UserId> {
    actor.user.ok_or(Error::NotFound(Kind::User))
}
