//! Which of the things that tasks, events and audit rows name are still there.
use crate::{Store, constraint::mapped};
use model::Result;
use std::collections::HashSet;
use uuid::Uuid;

impl Store {
    /// Says nothing about who may see them.
    pub async fn living(&self, ids: &[Uuid]) -> Result<HashSet<Uuid>> {
        let found = sqlx::query_scalar!(
            r#"select id as "id!" from organizations where id = any($1) and deleted_at is null
               union all select id from users where id = any($1) and deleted_at is null
               union all select id from roles where id = any($1) and deleted_at is null
               union all select id from vdcs where id = any($1) and deleted_at is null"#,
            ids
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(found.into_iter().collect())
    }
}
