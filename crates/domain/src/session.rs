//! Signing in with a password, and out.
use crate::Domain;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use model::{Action, Actor, Error, OrgId, Origin, Result, UserId, audit::Outcome, user::Password};
use store::{Credentials, Record, Refusal, SessionRow};
use time::{Duration, OffsetDateTime};

/// Failures by one name before sign-in begins to wait.
const FREE_BY_NAME: i32 = 5;
/// Failures from one address: many people may share it.
const FREE_BY_ADDRESS: i32 = 50;
pub(crate) const LONGEST_WAIT: Duration = Duration::minutes(15);

/// Who signed in; the face makes a new session of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    pub user: UserId,
    pub org: OrgId,
    pub org_name: String,
    pub name: String,
}

pub async fn sign_in(d: &Domain, org: &str, name: &str, password: &Password, origin: Origin) -> Result<SignedIn> {
    let (org, name) = (org.trim(), name.trim());
    if org.len() > 128
        || name.len() > 256
        || password.expose().len() > 1024
        || org.contains('\0')
        || name.contains('\0')
    {
        return Err(Error::BadCredentials);
    }
    let by_name = format!("name:{}/{}", org.to_lowercase(), name.to_lowercase());
    let by_address = format!("address:{}", origin.address);
    let now = d.now();
    waits(d, &[by_name.clone(), by_address.clone()], "Sign-in for this name opens again").await?;
    let found = d.store.credentials(org, name).await?;
    let hash = found.as_ref().and_then(|c| c.password_hash.as_deref());
    let fits = d.hasher.verify(password, hash).await?;
    let refused = match &found {
        Some(_) if !fits => Some("wrong password"),
        Some(c) if !c.org_enabled => Some("the organization is disabled"),
        Some(c) if !c.enabled => Some("the user is disabled"),
        Some(_) => None,
        None => Some("no such user"),
    };
    if let Some(reason) = refused {
        d.store.sign_in_failed(&by_name, FREE_BY_NAME, LONGEST_WAIT, now).await?;
        d.store.sign_in_failed(&by_address, FREE_BY_ADDRESS, LONGEST_WAIT, now).await?;
        refuse(d, found.as_ref(), (org, name), reason, &origin).await?;
        return Err(Error::BadCredentials);
    }
    let Some(c) = found else { return Err(Error::BadCredentials) };
    d.store.sign_in_succeeded(&by_name).await?;
    welcome(d, SignedIn { user: c.user, org: c.org, org_name: c.org_name, name: c.name }, origin).await
}

/// Too many failures by one of these have to wait. `what`: what opens again after it.
pub(crate) async fn waits(d: &Domain, who: &[String], what: &str) -> Result<()> {
    let now = d.now();
    let Some(until) = d.store.sign_in_wait(who, now).await? else { return Ok(()) };
    let wait = u64::try_from((until - now).whole_milliseconds()).unwrap_or(0).div_ceil(1000).max(1);
    Err(Error::TooMany { message: format!("Too many failed tries. {what} in {}.", words(wait)), retry_after_s: wait })
}

/// Records a sign-in, however it was proven.
pub async fn welcome(d: &Domain, who: SignedIn, origin: Origin) -> Result<SignedIn> {
    let actor = themselves(&who, origin);
    let mut tx = d.store.write(&actor).await?;
    tx.user_signed_in(who.user).await?;
    tx.commit(Record::new(Action::SignIn, who.org, who.user, &who.name)).await?;
    Ok(who)
}

/// How often a session's last use is written down, at most.
const TOUCH: Duration = Duration::minutes(1);

/// A session for a program: its secret is given out once, and the database knows the hash.
pub struct Opened {
    pub secret: String,
    pub ends_at: OffsetDateTime,
}

/// Opens one for somebody who has just signed in.
pub async fn open(d: &Domain, who: &SignedIn, address: &str, agent: &str) -> Result<Opened> {
    let secret = fresh_secret();
    let (now, ends_at) = (d.now(), d.now() + d.sessions.absolute);
    let row = session_row(who, address, agent, ends_at);
    match d.store.session_create(&hash_of(&secret), &row, now).await? {
        true => Ok(Opened { secret, ends_at }),
        false => Err(Error::Internal("a session's secret was drawn twice".into())),
    }
}

/// Nobody guesses it.
pub(crate) fn fresh_secret() -> String {
    BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

pub(crate) fn session_row(who: &SignedIn, address: &str, agent: &str, ends_at: OffsetDateTime) -> SessionRow {
    SessionRow {
        user: Some(who.user),
        roles: Vec::new(),
        data: serde_json::Value::Object(serde_json::Map::new()),
        address: address.to_owned(),
        agent: agent.chars().take(200).collect(),
        expires_at: ends_at,
    }
}

/// What the database knows such a session by.
pub fn hash_of(secret: &str) -> Vec<u8> {
    ring::digest::digest(&ring::digest::SHA256, secret.as_bytes()).as_ref().to_vec()
}

/// The user of a session with the rights of this moment; None when it has ended. `used`: somebody is there.
pub async fn who(d: &Domain, hash: &[u8], origin: Origin, used: bool) -> Result<Option<Actor>> {
    let now = d.now();
    let Some(found) = d.store.session_user(hash, d.sessions.idle, now, origin).await? else { return Ok(None) };
    if used && now - found.last_seen_at > TOUCH {
        d.store.session_touch(hash, now).await?;
    }
    Ok(Some(found.actor))
}

/// Ends it, on every replica: whoever has its secret is a stranger from now on.
pub async fn close(d: &Domain, actor: &Actor, hash: &[u8]) -> Result<()> {
    d.store.session_delete(hash).await?;
    sign_out(d, actor).await
}

pub async fn sign_out(d: &Domain, actor: &Actor) -> Result<()> {
    let Some(user) = actor.user else { return Ok(()) };
    let tx = d.store.write(actor).await?;
    tx.commit(Record::new(Action::SignOut, actor.org, user, &actor.name)).await.map(|_| ())
}

async fn refuse(
    d: &Domain,
    found: Option<&Credentials>,
    typed: (&str, &str),
    reason: &str,
    origin: &Origin,
) -> Result<()> {
    // what was typed for an unknown name may be a password in the wrong field: it is not kept
    let (org, user, name) = match found {
        Some(c) => (Some(c.org), Some(c.user), c.name.as_str()),
        None => (d.store.org_id(typed.0).await?, None, "unknown"),
    };
    d.store
        .audit_refusal(Refusal {
            action: Action::SignIn,
            org,
            user,
            user_name: name,
            user_org: found.map_or("", |c| c.org_name.as_str()),
            object_id: user.map(|u| u.0),
            object_name: name,
            outcome: Outcome::Refused,
            reason,
            origin,
        })
        .await
}

/// Just enough of an actor to record one's own sign-in.
pub(crate) fn themselves(who: &SignedIn, origin: Origin) -> Actor {
    Actor {
        user: Some(who.user),
        name: who.name.clone(),
        full_name: String::new(),
        org: who.org,
        org_name: who.org_name.clone(),
        org_display_name: String::new(),
        provider: false,
        role: model::RoleId(uuid::Uuid::nil()),
        role_name: String::new(),
        rights: model::Rights::NONE,
        origin,
    }
}

fn words(seconds: u64) -> String {
    match seconds {
        1 => "1 second".into(),
        s if s < 120 => format!("{s} seconds"),
        s => format!("{} minutes", s.div_ceil(60)),
    }
}
