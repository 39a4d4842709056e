//! Uploads and their files. A byte counts as received only once it is on the disk; parts of one file come one after the
//! other, and whoever writes one holds the file for so long.
use crate::{Authorized, Claim, Store, Write, constraint::mapped, share::GrantJson};
use model::{
    Action, Actor, CatalogId, Error, FieldError, Kind, OrgId, Result, TaskId, TemplateId, UploadId, UserId,
    decide::Resource,
    event::Change,
    share,
    template::ItemKind,
    upload::{Upload, UploadFile, UploadSpec, UploadState},
};
use sqlx::{PgConnection, types::Json};
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

/// A file that the caller may write to, from `received` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub file: UploadFile,
    pub holder: Uuid,
}

/// How much room a new file asks for, and how much there is in all.
#[derive(Clone, Copy, Debug)]
pub struct FileRoom {
    pub size: i64,
    pub limit: i64,
}

/// What a worker needs of an upload.
#[derive(Clone, Debug)]
pub struct UploadWork {
    pub upload: Upload,
    pub note: String,
    /// What each file was said to be, by its id.
    pub sums: Vec<(Uuid, String)>,
}

struct Row {
    id: Uuid,
    org_id: Uuid,
    catalog_owner: Option<Uuid>,
    shares: Json<Vec<GrantJson>>,
    catalog_id: Uuid,
    catalog_name: String,
    template_id: Uuid,
    name: String,
    kind: String,
    link: String,
    state: String,
    problem: String,
    user_name: String,
    created_at: OffsetDateTime,
    ends_at: OffsetDateTime,
}

enum By<'a> {
    Id(UploadId),
    Link(&'a str),
}

async fn find(db: &mut PgConnection, by: By<'_>) -> Result<Option<Upload>> {
    let (id, link) = match by {
        By::Id(id) => (Some(id.0), None),
        By::Link(link) => (None, Some(link)),
    };
    let row = sqlx::query_as!(
        Row,
        r#"select u.id, u.org_id, c.owner_id as catalog_owner,
                (select coalesce(jsonb_agg(jsonb_build_object('user', s.user_id, 'role', s.role_id, 'access', s.access)), '[]')
                 from shares s where s.object_id = c.id) as "shares!: Json<Vec<GrantJson>>", t.catalog_id, c.name as catalog_name, u.template_id, t.name, t.kind, u.link, u.state, u.problem,
                u.user_name, u.created_at, u.ends_at
         from uploads u join templates t on t.id = u.template_id join catalogs c on c.id = t.catalog_id
         where ($1::uuid is null or u.id = $1) and ($2::text is null or u.link = $2) and ($1 is not null or $2 is not null)"#,
        id,
        link
    )
    .fetch_optional(&mut *db)
    .await
    .map_err(mapped)?;
    let Some(r) = row else { return Ok(None) };
    let files = sqlx::query_as!(
        UploadFile,
        "select id, name, size, received from upload_files where upload_id = $1 order by created_at, id",
        r.id
    )
    .fetch_all(&mut *db)
    .await
    .map_err(mapped)?;
    Ok(Some(Upload {
        id: UploadId(r.id),
        org: OrgId(r.org_id),
        catalog: CatalogId(r.catalog_id),
        catalog_owner: r.catalog_owner.map(UserId),
        shares: r.shares.0.into_iter().map(GrantJson::read).collect(),
        catalog_name: r.catalog_name,
        template: TemplateId(r.template_id),
        name: r.name,
        kind: ItemKind::parse(&r.kind).unwrap_or_default(),
        link: r.link,
        state: UploadState::parse(&r.state).ok_or_else(|| Error::Internal(format!("upload state {:?}", r.state)))?,
        problem: r.problem,
        files,
        user_name: r.user_name,
        created_at: r.created_at,
        ends_at: r.ends_at,
    }))
}

fn resource(actor: &Actor) -> impl Fn(&Upload) -> Resource {
    move |u| share::resource(actor, u.org, u.catalog_owner, &u.shares)
}

/// A part is written for at most so long without a sign of life.
const HELD_FOR: Duration = Duration::from_secs(120);

impl Store {
    pub async fn upload(&self, actor: &Actor, action: Action, id: UploadId) -> Result<Authorized<Upload>> {
        let mut db = self.pool.acquire().await.map_err(mapped)?;
        Authorized::check(actor, action, find(&mut db, By::Id(id)).await?, resource(actor))
    }

    /// By what the transfer URL carries, while it may be used.
    pub async fn upload_by_link(&self, link: &str, now: OffsetDateTime) -> Result<Upload> {
        let mut db = self.pool.acquire().await.map_err(mapped)?;
        let found = find(&mut db, By::Link(link)).await?;
        found.filter(|u| u.ends_at > now).ok_or(Error::NotFound(Kind::Upload))
    }

    /// Those of an item, the newest first.
    pub async fn uploads_of(&self, template: TemplateId) -> Result<Vec<Upload>> {
        let ids = sqlx::query_scalar!(
            "select id from uploads where template_id = $1 and state <> 'done' order by created_at desc limit 20",
            template.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let mut db = self.pool.acquire().await.map_err(mapped)?;
        let mut all = Vec::new();
        for id in ids {
            all.extend(find(&mut db, By::Id(UploadId(id))).await?);
        }
        Ok(all)
    }

    pub async fn upload_work(&self, id: Uuid) -> Result<Option<UploadWork>> {
        let mut db = self.pool.acquire().await.map_err(mapped)?;
        let Some(upload) = find(&mut db, By::Id(UploadId(id))).await? else { return Ok(None) };
        let rows = sqlx::query!("select id, sha256 from upload_files where upload_id = $1", id)
            .fetch_all(&mut *db)
            .await
            .map_err(mapped)?;
        let note = sqlx::query_scalar!("select note from uploads where id = $1", id)
            .fetch_one(&mut *db)
            .await
            .map_err(mapped)?;
        Ok(Some(UploadWork { upload, note, sums: rows.into_iter().map(|r| (r.id, r.sha256)).collect() }))
    }

    /// A file of an upload, with room for all of it. One that is there already stays as it is.
    pub async fn upload_file(&self, upload: &Upload, name: &str, room: FileRoom, sha256: &str) -> Result<UploadFile> {
        let mut tx = self.begin().await?;
        // room is given out by one at a time
        sqlx::query!("select pg_advisory_xact_lock(7357012)").execute(&mut *tx).await.map_err(mapped)?;
        let there = sqlx::query_as!(
            UploadFile,
            "select id, name, size, received from upload_files where upload_id = $1 and name = $2",
            upload.id.0,
            name
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        if let Some(file) = there {
            return match file.size == room.size {
                true => Ok(file),
                false => Err(Error::BadRequest(format!(
                    "{name} was said to have {} bytes, and now {}. Begin another upload for another file.",
                    file.size, room.size
                ))),
            };
        }
        let used = sqlx::query_scalar!(
            r#"select coalesce(sum(size), 0)::bigint as "used!" from upload_files where removed_at is null"#
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(mapped)?;
        if room.size > room.limit - used {
            let message = format!(
                "There is no room for {name}: it has {} bytes, and {} are left in the transfer area. Delete what is not needed, or ask the provider for more.",
                room.size,
                (room.limit - used).max(0)
            );
            return Err(Error::OverQuota(FieldError { field: "file", message }));
        }
        let file = UploadFile { id: Uuid::now_v7(), name: name.to_owned(), size: room.size, received: 0 };
        sqlx::query!(
            // what was said beforehand is of the first file
            "insert into upload_files (id, upload_id, name, size, sha256) values ($1, $2, $3, $4, coalesce(nullif($5, ''),
                 (select sha256 from uploads where id = $2 and not exists (select from upload_files where upload_id = $2)), ''))",
            file.id,
            upload.id.0,
            name,
            room.size,
            sha256
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        tx.commit().await.map_err(mapped)?;
        Ok(file)
    }

    /// Takes a file to write at its end. None: somebody else does, or its end is not where the caller thinks.
    pub async fn upload_hold(&self, file: Uuid, at: i64) -> Result<Option<Held>> {
        let holder = Uuid::now_v7();
        let held = sqlx::query_as!(
            UploadFile,
            "update upload_files f set holder = $3, held_until = now() + make_interval(secs => $4)
             where id = $1 and received = $2 and held_until < now() and removed_at is null
               and exists (select from uploads u where u.id = f.upload_id and u.state = 'open')
             returning id, name, size, received",
            file,
            at,
            holder,
            HELD_FOR.as_secs_f64()
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(held.map(|file| Held { file, holder }))
    }

    /// Still at it.
    pub async fn upload_extend(&self, held: &Held) -> Result<()> {
        sqlx::query!(
            "update upload_files set held_until = now() + make_interval(secs => $3) where id = $1 and holder = $2",
            held.file.id,
            held.holder,
            HELD_FOR.as_secs_f64()
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Its length was not known before.
    pub async fn upload_sized(&self, held: &Held, size: i64) -> Result<()> {
        sqlx::query!(
            "update upload_files set size = $3 where id = $1 and holder = $2",
            held.file.id,
            held.holder,
            size
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// So much of it is on the disk now; others may write on. Its task says how far it is. False: it was not held any more.
    pub async fn upload_received(&self, upload: &Upload, held: &Held, received: i64) -> Result<bool> {
        let mut tx = self.begin().await?;
        let done = sqlx::query!(
            "update upload_files set received = $3, held_until = '-infinity' where id = $1 and holder = $2",
            held.file.id,
            held.holder,
            received
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        sqlx::query!("update uploads set touched_at = now() where id = $1", upload.id.0)
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
        let task = sqlx::query_scalar!(
            "update tasks set status = 'running', deadline = now() + interval '1 day',
                    progress = (select (sum(received) * 95 / greatest(sum(size), 1))::smallint from upload_files where upload_id = $2)
             where object_id = $1 and operation = 'template.upload' and status in ('queued', 'running') returning id",
            upload.template.0,
            upload.id.0
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        tx.commit().await.map_err(mapped)?;
        self.tell_upload(upload, task);
        Ok(done.rows_affected() == 1)
    }

    /// All of it has come: a worker looks at it. False: something is missing, or it is looked at already.
    pub async fn upload_complete(&self, upload: &Upload) -> Result<bool> {
        let mut tx = self.begin().await?;
        let done = sqlx::query!(
            "update uploads set state = 'checking', touched_at = now() where id = $1 and state = 'open'
             and exists (select from upload_files where upload_id = $1)
             and not exists (select from upload_files where upload_id = $1 and received < size)",
            upload.id.0
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        if done.rows_affected() == 1 {
            sqlx::query!(
                "insert into work (kind, id, org_id) values ('upload', $1, $2)
                 on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
                upload.id.0,
                upload.org.0
            )
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
        }
        tx.commit().await.map_err(mapped)?;
        self.work_bell.notify_one();
        self.tell_upload(upload, None);
        Ok(done.rows_affected() == 1)
    }

    /// It came to nothing: why, and its files can go.
    pub async fn upload_failed(&self, upload: &Upload, why: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        let ended = sqlx::query!(
            "update uploads set state = 'failed', problem = $2 where id = $1 and state in ('open', 'checking')",
            upload.id.0,
            why
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        let mut task = None;
        if ended.rows_affected() == 1 {
            task = end_task(&mut tx, upload.template, "error", why).await?;
        }
        tx.commit().await.map_err(mapped)?;
        self.tell_upload(upload, task);
        Ok(())
    }

    /// Uploads that nobody goes on with.
    pub async fn uploads_abandoned(&self, now: OffsetDateTime) -> Result<Vec<Upload>> {
        let ids = sqlx::query_scalar!("select id from uploads where state = 'open' and ends_at < $1 limit 100", now)
            .fetch_all(&self.pool)
            .await
            .map_err(mapped)?;
        let mut db = self.pool.acquire().await.map_err(mapped)?;
        let mut all = Vec::new();
        for id in ids {
            all.extend(find(&mut db, By::Id(UploadId(id))).await?);
        }
        Ok(all)
    }

    /// Files in the transfer area that nothing needs: of uploads that came to nothing, and of versions that are gone from
    /// here and from all hubs, and of which no machine is to be made any more.
    pub async fn files_unneeded(&self) -> Result<Vec<Uuid>> {
        sqlx::query_scalar!(
            "select f.id from upload_files f join uploads u on u.id = f.upload_id
             where f.removed_at is null and f.held_until < now() and u.state in ('failed', 'cancelled', 'done')
               and not exists (select from images i join item_versions v on v.id = i.version_id
                               where i.file_id = f.id and (v.deleted_at is null or image_needed(i.id, null)
                                 or exists (select from hub_images h where h.image_id = i.id)))
             limit 500"
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)
    }

    pub async fn file_removed(&self, file: Uuid) -> Result<()> {
        sqlx::query!("update upload_files set removed_at = now() where id = $1", file)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// How many bytes of the transfer area are given out.
    pub async fn area_used(&self) -> Result<i64> {
        sqlx::query_scalar!(
            r#"select coalesce(sum(size), 0)::bigint as "used!" from upload_files where removed_at is null"#
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)
    }

    /// Uploads take as long as they take.
    pub async fn task_may_last(&self, task: TaskId, until: OffsetDateTime) -> Result<()> {
        sqlx::query!("update tasks set deadline = $2 where id = $1", task.0, until)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    pub(crate) fn tell_upload(&self, upload: &Upload, task: Option<Uuid>) {
        let change =
            |kind, id| Change { org: upload.org, user: None, owner: None, kind, id: Some(id), shares: Vec::new() };
        self.tell(change(Kind::Upload, upload.id.0));
        if let Some(task) = task {
            self.tell(change(Kind::Task, task));
        }
    }

    /// Is it still this worker's to end?
    pub(crate) async fn holds(db: &mut PgConnection, c: &Claim) -> Result<bool> {
        sqlx::query_scalar!(
            r#"select exists (select from work where kind = $1 and id = $2 and lease_epoch = $3) as "holds!""#,
            c.kind.key(),
            c.id,
            c.epoch
        )
        .fetch_one(db)
        .await
        .map_err(mapped)
    }
}

/// The task of an upload, by the item it is for.
pub(crate) async fn end_task(
    db: &mut PgConnection,
    template: TemplateId,
    status: &str,
    message: &str,
) -> Result<Option<Uuid>> {
    sqlx::query_scalar!(
        "update tasks set status = $2, message = $3, ended_at = clock_timestamp(), progress = case when $2 = 'success' then 100 else progress end
         where object_id = $1 and operation = 'template.upload' and status in ('queued', 'running') returning id",
        template.0,
        status,
        message
    )
    .fetch_optional(db)
    .await
    .map_err(mapped)
}

impl Write<'_> {
    pub async fn upload(&mut self, action: Action, id: UploadId) -> Result<Authorized<Upload>> {
        sqlx::query!("select id from uploads where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = find(&mut self.tx, By::Id(id)).await?;
        Authorized::check(self.actor, action, found, resource(self.actor))
    }

    /// Is something being uploaded for the item?
    pub async fn upload_under_way(&mut self, template: TemplateId) -> Result<bool> {
        sqlx::query_scalar!(
            r#"select exists (select from uploads where template_id = $1 and state in ('open', 'checking')) as "there!""#,
            template.0
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    pub async fn upload_insert(
        &mut self,
        id: UploadId,
        org: OrgId,
        template: TemplateId,
        spec: &UploadSpec,
        (link, ends_at): (&str, OffsetDateTime),
    ) -> Result<()> {
        sqlx::query!(
            "insert into uploads (id, org_id, template_id, user_id, user_name, link, note, ends_at, sha256) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            id.0,
            org.0,
            template.0,
            self.actor.user.map(|u| u.0),
            self.actor.name,
            link,
            spec.note,
            ends_at,
            spec.sha256
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn upload_cancel(&mut self, upload: &Authorized<Upload>) -> Result<()> {
        sqlx::query!("update uploads set state = 'cancelled' where id = $1 and state = 'open'", upload.id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        end_task(&mut self.tx, upload.template, "aborted", "The upload was cancelled.").await?;
        Ok(())
    }
}
