//! Strangers: objects under our label on a hub that nobody here knows. They are shown, and never touched.
use crate::{Store, constraint::mapped};
use model::{HubId, Result};
use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    pub namespace: String,
    pub name: String,
    pub kind: String,
    pub seen_at: OffsetDateTime,
}

impl Store {
    /// Those of a hub, the latest first.
    pub async fn strangers(&self, hub: &HubId) -> Result<Vec<Stranger>> {
        sqlx::query_as!(
            Stranger,
            "select namespace, name, kind, seen_at from strangers where hub_id = $1 order by seen_at desc, namespace, name limit 200",
            hub.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)
    }

    pub async fn stranger(&self, hub: &HubId, uid: &str, namespace: &str, name: &str, kind: &str) -> Result<()> {
        sqlx::query!(
            "insert into strangers (hub_id, uid, namespace, name, kind) values ($1, $2, $3, $4, $5)
             on conflict (hub_id, uid) do update set seen_at = now()",
            hub.0,
            uid,
            namespace,
            name,
            kind
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn stranger_gone(&self, hub: &HubId, uid: &str) -> Result<()> {
        sqlx::query!("delete from strangers where hub_id = $1 and uid = $2", hub.0, uid)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// After a full list of a kind: what is not in it is not there any more.
    pub async fn strangers_left(&self, hub: &HubId, kind: &str, uids: &[String]) -> Result<()> {
        sqlx::query!("delete from strangers where hub_id = $1 and kind = $2 and uid <> all($3)", hub.0, kind, uids)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }
}
