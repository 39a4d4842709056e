//! Tells every replica that something changed. Of what people did the truth is the events table, and NOTIFY only makes it quick;
//! what hubs report is in the notification itself.
use crate::{Store, constraint::mapped, told};
use model::{
    Error, Kind, OrgId, Result, UserId,
    event::{Change, News},
};
use sqlx::{PgExecutor, postgres::PgListener};
use std::time::Duration;
use tokio::{
    sync::broadcast,
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout},
};

const CHANNEL: &str = "ssvirt_changes";
/// For what is told without an event. It wakes no workers.
const TOLD: &str = "ssvirt_told";
/// The longest that a change stays unseen when a notification is lost.
const POLL: Duration = Duration::from_secs(1);
/// Notifications are at least so far apart: commits in between share one, and what is told goes together.
const CALM: Duration = Duration::from_millis(20);

impl Store {
    /// Changes from now on. A receiver that falls behind is told so, and reads anew.
    pub fn changes(&self) -> broadcast::Receiver<News> {
        self.changes.subscribe()
    }

    /// Something changed that is no event, as what a hub reports. The streams of every replica hear of it, this one's too.
    pub fn tell(&self, change: Change) {
        self.told.add(change);
    }

    /// Sends and receives notifications until the pool is closed. It survives a database that goes away.
    pub async fn follow_changes(&self) {
        let mut seen: Option<String> = None;
        while !self.pool.is_closed() {
            if let Err(e) = self.follow(&mut seen).await {
                tracing::debug!(error = %e, "following changes is interrupted");
            }
            sleep(POLL).await;
        }
    }

    async fn follow(&self, seen: &mut Option<String>) -> Result<()> {
        let mut listener = PgListener::connect_with(&self.pool).await.map_err(mapped)?;
        listener.ignore_pool_close_event(false);
        listener.listen_all([CHANNEL, TOLD]).await.map_err(mapped)?;
        // what was told until now was not heard
        self.say(News::Much);
        let mut poll = interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // what an interruption left unsent
        let (mut committed, mut told) = (true, true);
        let mut sent = Instant::now() - CALM;
        loop {
            tokio::select! {
                heard = listener.try_recv() => match heard.map_err(mapped)? {
                    None => return Err(Error::Unavailable("the listening connection was lost".into())),
                    Some(n) if n.channel() == TOLD => self.hear(n.payload()).await?,
                    Some(_) => {
                        self.work_bell.notify_one();
                        self.read_changes(seen).await?;
                    }
                },
                () = self.bell.notified() => committed = true,
                () = self.told.comes() => told = true,
                // on the listener's connection, which waits for nobody, and not within the transaction: there it would make
                // commits wait for one another
                () = sleep_until(sent + CALM), if committed || told => {
                    sent = Instant::now();
                    if std::mem::take(&mut committed) {
                        notify(&mut listener, CHANNEL, &[String::new()]).await?;
                    }
                    if std::mem::take(&mut told) {
                        self.send_told(&mut listener).await?;
                    }
                }
                _ = poll.tick() => self.read_changes(seen).await?,
            }
        }
    }

    async fn send_told(&self, db: impl PgExecutor<'_>) -> Result<()> {
        let payloads = self.told.take();
        if payloads.is_empty() {
            return Ok(());
        }
        notify(db, TOLD, &payloads).await.inspect_err(|_| self.told.lost())
    }

    /// The last words of a replica that ends.
    pub(crate) async fn send_last(&self) {
        let _ = timeout(POLL, self.send_told(&self.pool)).await;
    }

    /// What this replica or another one told.
    async fn hear(&self, payload: &str) -> Result<()> {
        match told::read(payload) {
            Some(changes) => self.say_all(changes).await,
            None => {
                self.say(News::Much);
                Ok(())
            }
        }
    }

    /// Adds whom each is shared with now to those it says.
    async fn say_all(&self, changes: Vec<Change>) -> Result<()> {
        if self.changes.receiver_count() == 0 {
            return Ok(());
        }
        let audiences = self.audiences(changes.iter().filter_map(|c| Some((c.kind, c.id?)))).await?;
        for mut change in changes {
            if let Some(grants) = change.id.and_then(|id| audiences.get(&id)) {
                change.shares.extend(grants);
            }
            self.say(News::One(change));
        }
        Ok(())
    }

    fn say(&self, news: News) {
        let _ = self.changes.send(news); // nobody listens: fine
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
        let mut changes = Vec::new();
        let mut now = None;
        for r in rows {
            now = Some(r.snapshot);
            let (Some(org), Some(kind)) = (r.org_id, r.object_kind) else { continue };
            changes.push(Change {
                org: OrgId(org),
                user: r.user_id.map(UserId),
                owner: r.owner_id.map(UserId),
                kind: Kind::parse(&kind).unwrap_or(Kind::Installation),
                id: r.object_id,
                shares: Vec::new(),
            });
        }
        self.say_all(changes).await?;
        // what could not be said is read once more
        *seen = now;
        Ok(())
    }
}

/// One round trip, however many there are.
async fn notify(db: impl PgExecutor<'_>, channel: &str, payloads: &[String]) -> Result<()> {
    sqlx::query!("select pg_notify($1, payload) from unnest($2::text[]) as all_of (payload)", channel, payloads)
        .execute(db)
        .await
        .map_err(mapped)?;
    Ok(())
}
