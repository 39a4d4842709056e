//! Strangers: objects under our label on a hub that nobody here knows. They are shown, and never touched.
use crate::{Store, constraint::mapped};
use model::{HubId, Result, VappId};
use time::OffsetDateTime;
use uuid::Uuid;

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

    /// `vm` is the machine that it says to be.
    pub async fn stranger(
        &self,
        hub: &HubId,
        uid: &str,
        namespace: &str,
        name: &str,
        kind: &str,
        vm: Option<Uuid>,
    ) -> Result<()> {
        sqlx::query!(
            "insert into strangers (hub_id, uid, namespace, name, kind, vm_id) values ($1, $2, $3, $4, $5, $6)
             on conflict (hub_id, uid) do update set seen_at = now(), vm_id = $6",
            hub.0,
            uid,
            namespace,
            name,
            kind,
            vm
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// The hubs on which machines of a vApp stand already, though nobody here put them there: a database that was
    /// restored knows less than the hubs.
    pub async fn hubs_with_machines_of(&self, vapp: VappId) -> Result<Vec<HubId>> {
        let hubs = sqlx::query_scalar!(
            "select distinct s.hub_id from strangers s join vms v on v.id = s.vm_id where v.vapp_id = $1 order by 1",
            vapp.0
        );
        Ok(hubs.fetch_all(&self.pool).await.map_err(mapped)?.into_iter().map(HubId).collect())
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
