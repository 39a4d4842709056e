//! API tokens: a program signs in by one as the user who made it, until it is revoked.
use crate::{
    Domain,
    session::{Opened, SignedIn, fresh_secret, hash_of, session_row, themselves, waits},
};
use model::{
    Action, Actor, Error, OrgId, Origin, Result, TokenId,
    decide::{Resource, authorize, list_scope},
    query::{Found, Numbered},
    role::Predefined,
    token::{ApiToken, TokenSpec},
};
use store::Record;
use uuid::Uuid;

/// Failures from one address before more of them have to wait. Tokens can't be guessed; whoever tries so often has a wrong one.
const FREE_BY_ADDRESS: i32 = 50;

pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<ApiToken>> {
    d.store.tokens_query(list_scope(actor, Action::TokenList, org)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: TokenId) -> Result<ApiToken> {
    Ok(d.store.token(actor, Action::TokenView, id).await?.into_inner())
}

/// A token of one's own, without its secret yet. `session`: the one that asks; a token can't make another.
pub async fn create(d: &Domain, actor: &Actor, session: &[u8], spec: TokenSpec) -> Result<ApiToken> {
    let action = Action::TokenCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Of(actor.org))?;
        let user = by_hand(d, actor, session).await?;
        let spec = spec.check(d.now())?;
        let id = TokenId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        tx.token_insert(id, user, &spec).await?;
        tx.commit(Record::new(action, actor.org, id, &spec.name).after(&spec)).await?;
        get(d, actor, id).await
    })
    .await
}

/// The secret, once. Nobody sees it again.
pub async fn give(d: &Domain, actor: &Actor, session: &[u8], id: TokenId) -> Result<String> {
    let action = Action::TokenGive;
    d.attempt(actor, action, async {
        by_hand(d, actor, session).await?;
        let secret = fresh_secret();
        let mut tx = d.store.write(actor).await?;
        let token = tx.token(action, id).await?;
        if token.given {
            return Err(Error::NotNow(format!("The token {} was shown already. Make another one.", token.name)));
        }
        tx.token_give(&token, &hash_of(&secret)).await?;
        tx.commit(Record::new(action, token.org, id, &token.name)).await?;
        Ok(secret)
    })
    .await
}

/// The user, where a person is there and the role is the user's own.
async fn by_hand(d: &Domain, actor: &Actor, session: &[u8]) -> Result<model::UserId> {
    let user = actor.user.ok_or(Error::SignInNeeded)?;
    if d.store.session_is_of_token(session).await? {
        let why = "Not now: you signed in by an API token, and those make no others. Sign in with your password.";
        return Err(Error::NotNow(why.into()));
    }
    if actor.role == Predefined::DeferToIdentityProvider.id() {
        let why =
            "Not now: what you may do is said by the identity provider at each sign-in, so a token could do nothing.";
        return Err(Error::NotNow(why.into()));
    }
    Ok(user)
}

/// Whoever signed in by it is signed out, on every replica.
pub async fn delete(d: &Domain, actor: &Actor, id: TokenId) -> Result<()> {
    let action = Action::TokenDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let token = tx.token(action, id).await?;
        tx.token_delete(&token).await?;
        tx.commit(Record::new(action, token.org, id, &token.name)).await?;
        Ok(())
    })
    .await
}

/// Signs in by a token. The session ends with the token at the latest.
pub async fn sign_in(d: &Domain, org: &str, secret: &str, origin: Origin, agent: &str) -> Result<(SignedIn, Opened)> {
    let now = d.now();
    let by_address = format!("token:{}", origin.address);
    waits(d, std::slice::from_ref(&by_address), "Sign-in by API token opens again").await?;
    let readable = org.len() <= 128 && !org.contains('\0') && (16..=256).contains(&secret.len());
    let found = match readable {
        true => d.store.token_by_secret(org, &hash_of(secret), now).await?,
        false => None,
    };
    let Some(token) = found else {
        d.store.sign_in_failed(&by_address, FREE_BY_ADDRESS, crate::session::LONGEST_WAIT, now).await?;
        return Err(Error::BadCredentials);
    };
    let who =
        SignedIn { user: token.user, org: token.org, org_name: token.org_name.clone(), name: token.user_name.clone() };
    let absolute = now + d.sessions.absolute;
    let ends_at = token.expires_at.map_or(absolute, |end| end.min(absolute));
    let opened = Opened { secret: fresh_secret(), ends_at };
    let address = origin.address.clone();
    let actor = themselves(&who, origin);
    let mut tx = d.store.write(&actor).await?;
    let row = session_row(&who, &address, agent, ends_at);
    if !tx.token_use(token.id, &hash_of(&opened.secret), &row, now).await? {
        return Err(Error::BadCredentials);
    }
    tx.user_signed_in(who.user).await?;
    tx.commit(Record::new(Action::TokenUse, who.org, token.id, &token.name)).await?;
    Ok((who, opened))
}
