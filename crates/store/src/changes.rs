//! Tells every replica that something changed. The truth is the events table; NOTIFY only makes it quick.
use crate::{Store, constraint::mapped};
use model::{Error, Kind, OrgId, Result, UserId, event::Change};
use sqlx::postgres::PgListener;
use std::time::Duration;
use tokio::sync::broadcast;

const CHANNEL: &str = "ssvirt_changes";
/// The longest that a change stays unseen when a notification is lost.
const POLL: Duration = Duration::from_secs(1);
/// Commits within this time share one notification.
const CALM: Duration = Duration::from_millis(20);

impl Store {
    /// Changes from now on. A receiver that falls behind is told so, and reads anew.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Sends and receives notifications until the pool is closed. It survives a database that goes away.
    pub async fn follow_changes(&self) {
        let mut next: Option<String> = None;
        while !self.pool.is_closed() {
            if let Err(e) = self.follow(&mut next).await {
                tracing::debug!(error = %e, "following changes is interrupted");
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn follow(&self, next: &mut Option<String>) -> Result<()> {
        let mut listener = PgListener::connect_with(&self.pool).await.map_err(mapped)?;
        listener.ignore_pool_close_event(false);
        listener.listen(CHANNEL).await.map_err(mapped)?;
        loop {
            self.read_changes(next).await?;
            tokio::select! {
                heard = listener.try_recv() => {
                    if heard.map_err(mapped)?.is_none() {
                        return Err(Error::Unavailable("the listening connection was lost".into()));
                    }
                }
                () = self.bell.notified() => {
                    // not within the transaction: there it would make commits wait for one another
                    tokio::time::sleep(CALM).await;
                    sqlx::query!("select pg_notify($1, '')", CHANNEL).execute(&self.pool).await.map_err(mapped)?;
                }
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// Reads events of transactions that ended since the last look. `next` is the oldest transaction that was still
    /// open then: everything before it had been read, and nothing at or after it.
    async fn read_changes(&self, next: &mut Option<String>) -> Result<()> {
        let horizon = sqlx::query_scalar!(r#"select pg_snapshot_xmin(pg_current_snapshot())::text as "horizon!""#)
            .fetch_one(&self.pool)
            .await
            .map_err(mapped)?;
        let Some(from) = next.replace(horizon.clone()) else { return Ok(()) };
        if from == horizon {
            return Ok(());
        }
        let rows = sqlx::query!(
            "select org_id, user_id, object_kind, object_id from events where tx >= $1::text::xid8 and tx < $2::text::xid8 order by tx limit 2000",
            from,
            horizon
        )
        .fetch_all(&self.pool)
        .await
        .inspect_err(|_| *next = Some(from.clone()))
        .map_err(mapped)?;
        for r in rows {
            let change = Change {
                org: OrgId(r.org_id),
                user: r.user_id.map(UserId),
                kind: Kind::parse(&r.object_kind).unwrap_or(Kind::Installation),
                id: r.object_id,
            };
            let _ = self.changes.send(change); // nobody listens: fine
        }
        Ok(())
    }
}
