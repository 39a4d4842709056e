//! For demonstrations and benchmarks: what was made before, and many rows at once by COPY, past the operations.
use crate::{Store, constraint::mapped};
use model::{OrgId, Result};
use uuid::Uuid;

/// Something that the operator made once. It may have been renamed or deleted since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// An action's key.
    pub action: String,
    pub org: OrgId,
    pub id: Uuid,
    /// The name it was made under.
    pub name: String,
}

impl Store {
    /// What the operator ever made under these names, by the audit.
    pub async fn made_by_operator(&self, names: &[String]) -> Result<Vec<Made>> {
        let rows = sqlx::query!(
            r#"select action, org_id as "org!", object_id as "id!", object_name from audit
               where user_id is null and via = 'command line' and result = 'done' and object_name = any($1)
                 and org_id is not null and object_id is not null and action like '%.create'"#,
            names
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let made = rows.into_iter();
        Ok(made.map(|r| Made { action: r.action, org: OrgId(r.org), id: r.id, name: r.object_name }).collect())
    }

    /// The last of the numbered organizations (`org-000001`, …) that the operator ever made.
    pub async fn last_numbered_org(&self) -> Result<u32> {
        let last = sqlx::query_scalar!(
            "select max(object_name) from audit
             where user_id is null and via = 'command line' and action = 'org.create' and object_name ~ '^org-[0-9]{6}$'"
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(last.and_then(|name| name.strip_prefix("org-")?.parse().ok()).unwrap_or(0))
    }

    /// Copies tab-separated rows into several tables, all or nothing. A table is named with its columns; both are
    /// constants of the code, never input.
    pub async fn copy_rows(&self, tables: &[(&'static str, String)]) -> Result<()> {
        let mut tx = self.begin().await?;
        for (table, rows) in tables {
            let mut copy = tx.copy_in_raw(&format!("copy {table} from stdin")).await.map_err(mapped)?;
            copy.send(rows.as_bytes()).await.map_err(mapped)?;
            copy.finish().await.map_err(mapped)?;
        }
        tx.commit().await.map_err(mapped)
    }

    /// Counts anew what the planner goes by; otherwise it would take tables that were just filled for empty ones.
    pub async fn analyze(&self) -> Result<()> {
        sqlx::query!("analyze organizations, users, vdcs, tasks, events, audit")
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    pub async fn org_id(&self, name: &str) -> Result<Option<OrgId>> {
        let id = sqlx::query_scalar!(
            "select id from organizations where lower(name) = lower($1) and deleted_at is null",
            name
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(id.map(OrgId))
    }
}
