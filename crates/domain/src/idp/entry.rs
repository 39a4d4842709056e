//! Signing in by an identity provider's word: the user is made at the first time and kept up to date later.
use super::grant::AllowList;
use crate::{
    Domain,
    session::{SignedIn, welcome},
};
use model::{
    Action, Actor, Error, Origin, Result, Right, RoleId, UserId,
    audit::Outcome,
    name,
    quota::Limits,
    role::Predefined,
    user::{User, UserSpec},
};
use store::{IdentityProvider, Record, Refusal, Write};
use uuid::Uuid;

/// What an identity provider says about somebody, after its signature and everything else have been checked. Only issuer
/// and subject say who it is; the rest is decoration, and groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub subject: String,
    pub user_name: String,
    pub email: String,
    pub full_name: String,
    pub groups: Vec<String>,
}

/// How many may take the same new name at the same moment before we give up.
const TRIES: usize = 5;

/// Lets somebody in: who they are here, and the roles their groups give.
pub async fn sign_in(
    d: &Domain,
    p: &IdentityProvider,
    identity: &Identity,
    origin: Origin,
) -> Result<(SignedIn, Vec<RoleId>)> {
    if identity.subject.is_empty() || identity.subject.len() > 255 || identity.subject.chars().any(char::is_control) {
        refuse(d, p, None, "the subject can't be kept", &origin).await?;
        let message = "The identity provider names you in a way that can't be kept. Its administrator can help.";
        return Err(Error::SignInRefused(message.into()));
    }
    let roles = d.store.roles_of(p.org, p.org_is_provider).await?;
    let list = AllowList {
        groups: &p.groups,
        default_role: p.default_role,
        roles: &roles,
        org: p.org,
        org_is_provider: p.org_is_provider,
    };
    let given = list.roles_for(&identity.groups);
    let mut tries = TRIES;
    let who = loop {
        tries -= 1;
        match admit(d, p, identity, given.is_some(), &origin).await {
            // another sign-in took the name, or made this very user, in between
            Err(Error::Taken(_)) if tries > 0 => {}
            result => break result?,
        }
    };
    Ok((welcome(d, who, origin).await?, given.unwrap_or_default()))
}

/// Finds or makes the user. `has_role`: their groups give at least one.
async fn admit(
    d: &Domain,
    p: &IdentityProvider,
    identity: &Identity,
    has_role: bool,
    origin: &Origin,
) -> Result<SignedIn> {
    let actor = single_sign_on(p, origin.clone());
    let mut tx = d.store.write(&actor).await?;
    let found = tx.user_by_identity(p.org, &p.issuer, &identity.subject).await?;
    // a role that an administrator gave by hand counts, whatever the groups are
    let defers = found.as_ref().is_none_or(|user| user.role == Predefined::DeferToIdentityProvider.id());
    let refusal = match &found {
        Some(user) if !user.enabled => Some((
            "the user is disabled",
            format!(
                "Your user {} in {} is disabled. An administrator of the organization can enable it.",
                user.name, p.org_name
            ),
        )),
        _ if defers && !has_role => Some((
            "none of the groups has a role",
            format!(
                "The identity provider knows you, but none of your groups has a role in {}. An administrator of the \
                 organization can help.",
                p.org_name
            ),
        )),
        _ => None,
    };
    if let Some((reason, message)) = refusal {
        drop(tx);
        refuse(d, p, found.as_ref(), reason, origin).await?;
        return Err(Error::SignInRefused(message));
    }
    let (id, name) = match found {
        Some(user) => refresh(tx, user, identity).await?,
        None => make(tx, p, identity).await?,
    };
    Ok(SignedIn { user: id, org: p.org, org_name: p.org_name.clone(), name })
}

/// A user of our own for somebody who came for the first time. Whoever has the name already keeps it.
async fn make(mut tx: Write<'_>, p: &IdentityProvider, identity: &Identity) -> Result<(UserId, String)> {
    let wish = wished_name(identity);
    let mut name = wish.clone();
    let mut number = 1;
    while tx.user_name_taken(p.org, &name).await? {
        number += 1;
        name = format!("{wish}-{number}");
    }
    let (id, role) = (UserId(Uuid::now_v7()), Predefined::DeferToIdentityProvider);
    let (full_name, email) = decoration(identity);
    let spec = UserSpec { name, full_name, email, role: role.id(), limits: Limits::default() };
    tx.user_insert_external(id, p.org, &spec, &p.issuer, &identity.subject).await?;
    tx.commit(Record::new(Action::UserCreate, p.org, id, &spec.name).after(&(&spec, role.name()))).await?;
    Ok((id, spec.name))
}

/// Full name and e-mail as the identity provider has them now. The user's name stays: others know them by it.
async fn refresh(mut tx: Write<'_>, user: User, identity: &Identity) -> Result<(UserId, String)> {
    let action = Action::UserEdit;
    let (full_name, email) = decoration(identity);
    let old = UserSpec::from(&user);
    let mut new = old.clone();
    if !full_name.is_empty() {
        new.full_name = full_name;
    }
    if !email.is_empty() {
        new.email = email;
    }
    if new != old {
        let held = tx.user(action, user.id).await?;
        tx.user_update(&held, &new).await?;
        let role = user.role_name.as_str();
        let record = Record::new(action, user.org, user.id, &user.name);
        tx.commit(record.before(&(&old, role)).after(&(&new, role))).await?;
    }
    Ok((user.id, user.name))
}

/// Writes to the audit that somebody was not let in.
pub async fn refuse(
    d: &Domain,
    p: &IdentityProvider,
    user: Option<&User>,
    reason: &str,
    origin: &Origin,
) -> Result<()> {
    let name = user.map_or("unknown", |u| &u.name);
    let refusal = Refusal {
        action: Action::SignIn,
        org: Some(p.org),
        user: user.map(|u| u.id),
        user_name: name,
        user_org: &p.org_name,
        object_id: user.map(|u| u.id.0),
        object_name: name,
        outcome: Outcome::Refused,
        reason: &format!("single sign-on: {reason}"),
        origin,
    };
    d.store.audit_refusal(refusal).await
}

/// Who makes users and keeps them up to date, in the audit.
fn single_sign_on(p: &IdentityProvider, origin: Origin) -> Actor {
    Actor {
        user: None,
        name: "single sign-on".into(),
        full_name: String::new(),
        org: p.org,
        org_name: p.org_name.clone(),
        org_display_name: String::new(),
        provider: p.org_is_provider,
        role: RoleId(Uuid::nil()),
        role_name: String::new(),
        rights: [Right::UserManage].into_iter().collect(),
        origin,
    }
}

/// What the identity provider calls them, as our rule for user names has it. Room stays for a number behind it.
fn wished_name(identity: &Identity) -> String {
    let clean = |text: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-@+".contains(c);
        let words: Vec<&str> = text.split(|c| !allowed(c)).filter(|word| !word.is_empty()).collect();
        let name: String = words.join("-").chars().take(100).collect();
        name::check_user_name(name.trim_matches(|c: char| !c.is_ascii_alphanumeric())).ok()
    };
    let wishes = [&identity.user_name, &identity.email, &identity.subject];
    wishes.into_iter().find_map(|wish| clean(wish)).unwrap_or_else(|| "user".into())
}

/// Full name and e-mail address, or nothing where they can't be kept.
fn decoration(identity: &Identity) -> (String, String) {
    let full_name: String =
        identity.full_name.trim().chars().filter(|c| !c.is_control() && !name::unseen(*c)).take(128).collect();
    (full_name.trim().to_owned(), name::check_email(&identity.email).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wished(user_name: &str, email: &str, subject: &str) -> String {
        let [user_name, email, subject] = [user_name, email, subject].map(str::to_owned);
        wished_name(&Identity { user_name, email, subject, ..Identity::default() })
    }

    #[test]
    fn a_name_is_made_of_what_the_provider_says() {
        assert_eq!(wished("alice", "a@example.com", "1"), "alice");
        assert_eq!(wished("", "a@example.com", "1"), "a@example.com");
        assert_eq!(wished("", "", "248289761001"), "248289761001");
        assert_eq!(wished("  ", "\u{0}", "ü"), "user");
    }

    #[test]
    fn whatever_it_says_the_name_fits_our_rule() {
        assert_eq!(wished("José Müller", "", "1"), "Jos-M-ller");
        assert_eq!(wished("ACME\\\\bob", "", "1"), "ACME-bob");
        assert_eq!(wished("-bob-", "", "1"), "bob");
        assert_eq!(wished("a\u{0}b\n<c>", "", "1"), "a-b-c");
        let long = wished(&"x".repeat(99).replace('x', "ab."), "", "1");
        assert!(long.len() <= 100 && name::check_user_name(&long).is_ok(), "{long}");
    }

    #[test]
    fn what_can_t_be_kept_is_left_out() {
        let (full_name, email) = ("Bob\u{0}\u{202e}\nB. ".repeat(50), "not an address".into());
        let (full_name, email) = decoration(&Identity { full_name, email, ..Identity::default() });
        assert!(full_name.starts_with("BobB. Bob") && full_name.chars().count() <= 128);
        assert_eq!(email, "");
    }
}
