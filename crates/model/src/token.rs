//! API tokens: for programs that sign in as the user who made them.
use crate::{Fields, OrgId, Problems, Result, TokenId, UserId, name};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApiToken {
    pub id: TokenId,
    pub name: String,
    pub user: UserId,
    pub user_name: String,
    pub org: OrgId,
    pub org_name: String,
    /// Its secret was shown; that happens once.
    pub given: bool,
    #[serde(with = "time::serde::rfc3339::option")]
    pub expires_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub last_used_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSpec {
    pub name: String,
    /// None: it lasts until it is revoked.
    #[serde(with = "time::serde::rfc3339::option")]
    pub expires_at: Option<OffsetDateTime>,
}

impl TokenSpec {
    pub fn check(self, now: OffsetDateTime) -> Result<TokenSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_line(&self.name, 128));
        if name.is_empty() && !self.name.chars().any(char::is_control) {
            problems.add("name", "A name is needed.");
        }
        if self.expires_at.is_some_and(|at| at <= now) {
            problems.add("expires_at", "That is over already. Choose a time to come.");
        }
        problems.done()?;
        Ok(TokenSpec { name, ..self })
    }
}

impl Fields for TokenSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let end = self.expires_at.map_or_else(|| "no end".to_owned(), |at| at.date().to_string());
        vec![("name", self.name.clone()), ("expires_at", end)]
    }
}
