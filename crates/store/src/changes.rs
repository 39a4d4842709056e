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

    /// Something that a hub reported changed. This replica's streams hear of it at once, and no others.
    pub fn tell(&self, mut change: Change) {
        let Some(id) = change.id.filter(|_| self.changes.receiver_count() > 0) else {
            let _ = self.changes.send(change); // nobody listens: fine
            return;
        };
        let store = self.clone();
        tokio::spawn(async move {
            // without it those whom it is shared with see it a little later
            change.shares.extend(store.audience(change.kind, id).await.unwrap_or_default());
            let _ = store.changes.send(change);
        });
    }

    /// Sends and receives notifications until the pool is closed. It survives a database that goes away.
    pub async fn follow_changes(&self) {
        let mut seen: Option<String> = None;
        while !self.pool.is_closed() {
            if let Err(e) = self.follow(&mut seen).await {
                tracing::debug!(error = %e, "following changes is interrupted");
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn follow(&self, seen: &mut Option<String>) -> Result<()> {
        let mut listener = PgListener::connect_with(&self.pool).await.map_err(mapped)?;
        listener.ignore_pool_close_event(false);
        listener.listen(CHANNEL).await.map_err(mapped)?;
        loop {
            self.read_changes(seen).await?;
            tokio::select! {
                heard = listener.try_recv() => {
                    self.work_bell.notify_one();
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

    /// Reads events of transactions that ended since the last look. `seen` is the snapshot of that look: what it could not
    /// see, and this one can, is new, in whatever order transactions began and ended.
    async fn read_changes(&self, seen: &mut Option<String>) -> Result<()> {
        let rows = sqlx::query!(
            r#"select pg_current_snapshot()::text as "snapshot!", e.org_id as "org_id?", e.user_id, e.owner_id, e.object_kind as "object_kind?", e.object_id as "object_id?"
               from (values (1)) as always left join events e
               on e.tx >= pg_snapshot_xmin($1::text::pg_snapshot) and not pg_visible_in_snapshot(e.tx, $1::text::pg_snapshot)
               order by e.tx"#,
            seen.as_deref()
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        for r in rows {
            *seen = Some(r.snapshot);
            let (Some(org), Some(kind)) = (r.org_id, r.object_kind) else { continue };
            let kind = Kind::parse(&kind).unwrap_or(Kind::Installation);
            let shares = match r.object_id {
                Some(id) if self.changes.receiver_count() > 0 => self.audience(kind, id).await?,
                _ => Vec::new(),
            };
            let change = Change {
                shares,
                org: OrgId(org),
                user: r.user_id.map(UserId),
                owner: r.owner_id.map(UserId),
                kind,
                id: r.object_id,
            };
            let _ = self.changes.send(change); // nobody listens: fine
        }
        Ok(())
    }
}
