//! Users: local ones with a password, and those an identity provider vouches for.
use crate::{
    Error, Fields, OrgId, Problems, Result, RoleId, UserId,
    name::{self, PasswordRules},
    quota::{Amount, Limits},
};
use serde::{Deserialize, Serialize};
use std::fmt;
use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    pub id: UserId,
    pub org: OrgId,
    pub org_name: String,
    pub name: String,
    pub full_name: String,
    pub email: String,
    pub role: RoleId,
    pub role_name: String,
    pub enabled: bool,
    pub limits: Limits,
    pub besides: UserBesides,
    pub used: Amount,
    /// The identity provider that vouches for the user. None: signs in with a password kept here.
    pub issuer: Option<String>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub last_sign_in_at: Option<OffsetDateTime>,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

/// What VCD's clients say of a user and find again. Nothing follows from it here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserBesides {
    pub description: String,
    pub telephone: String,
    pub messenger: String,
}

impl UserBesides {
    pub fn check(self) -> Result<UserBesides> {
        let mut problems = Problems::default();
        let description = problems.take("description", name::check_text(&self.description));
        let telephone = problems.take("telephone", name::check_line(&self.telephone, 128));
        let messenger = problems.take("messenger", name::check_line(&self.messenger, 128));
        problems.done()?;
        Ok(UserBesides { description, telephone, messenger })
    }
}

impl Fields for UserBesides {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("description", self.description.clone()),
            ("telephone", self.telephone.clone()),
            ("messenger", self.messenger.clone()),
        ]
    }
}

impl User {
    pub fn local(&self) -> bool {
        self.issuer.is_none()
    }
}

/// What can be set on a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserSpec {
    pub name: String,
    pub full_name: String,
    pub email: String,
    pub role: RoleId,
    pub limits: Limits,
}

impl UserSpec {
    pub fn check(self) -> Result<UserSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_user_name(&self.name));
        let full_name = problems.take("full_name", name::check_line(&self.full_name, 128));
        let email = problems.take("email", name::check_email(&self.email));
        self.limits.check(&mut problems);
        problems.done()?;
        Ok(UserSpec { name, full_name, email, ..self })
    }
}

impl From<&User> for UserSpec {
    fn from(u: &User) -> UserSpec {
        UserSpec {
            name: u.name.clone(),
            full_name: u.full_name.clone(),
            email: u.email.clone(),
            role: u.role,
            limits: u.limits,
        }
    }
}

#[derive(Clone, Debug)]
pub struct NewUser {
    pub spec: UserSpec,
    pub password: Password,
    pub besides: UserBesides,
    pub enabled: bool,
}

impl NewUser {
    /// One who can sign in at once, with nothing said besides.
    pub fn of(spec: UserSpec, password: Password) -> NewUser {
        NewUser { spec, password, besides: UserBesides::default(), enabled: true }
    }

    /// Everything that is wrong with it, at once.
    pub fn check(self, rules: PasswordRules) -> Result<NewUser> {
        let mut problems = Problems::default();
        problems.take("password", name::check_password(self.password.expose(), self.spec.name.trim(), rules));
        let besides = problems.gather("", self.besides.check());
        match (self.spec.check(), problems.done()) {
            (Ok(spec), Ok(())) => Ok(NewUser { spec, besides: besides.unwrap_or_default(), ..self }),
            (Err(Error::Invalid(mut a)), Err(Error::Invalid(b))) => {
                a.extend(b);
                Err(Error::Invalid(a))
            }
            (Err(e), _) | (_, Err(e)) => Err(e),
        }
    }
}

/// A password on its way to be hashed or compared. It is never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    pub fn new(text: impl Into<String>) -> Password {
        Password(text.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
