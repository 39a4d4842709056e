//! Many rows at once, for big demonstrations and benchmarks: by COPY, past the operations.
use crate::{Store, constraint::mapped};
use model::{OrgId, Result};

/// A table's name with its columns, as COPY wants it, and the rows as text.
impl Store {
    /// Copies tab-separated rows. `table` is a constant of the code, never input.
    pub async fn copy_rows(&self, table: &'static str, rows: &str) -> Result<u64> {
        let mut conn = self.pool.acquire().await.map_err(mapped)?;
        let mut copy = conn.copy_in_raw(&format!("copy {table} from stdin")).await.map_err(mapped)?;
        copy.send(rows.as_bytes()).await.map_err(mapped)?;
        copy.finish().await.map_err(mapped)
    }

    /// How many organizations there are: seeding looks before it leaps.
    pub async fn org_count(&self) -> Result<i64> {
        sqlx::query_scalar!(r#"select count(*) as "n!" from organizations where deleted_at is null"#)
            .fetch_one(&self.pool)
            .await
            .map_err(mapped)
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
