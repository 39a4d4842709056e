//! Images on hubs: one copy an image and hub, made when something there first needs it.
use crate::{Claim, Store, constraint::mapped};
use model::{HubId, Kind, OrgId, Result, TaskId, TemplateId, VmId, event::Change};
use uuid::Uuid;

/// What a worker needs of a copy.
#[derive(Clone, Debug)]
pub struct HubImage {
    pub id: Uuid,
    pub image: Uuid,
    pub hub: HubId,
    pub org: OrgId,
    pub template: TemplateId,
    pub template_name: String,
    pub name: String,
    /// None: it is a copy of a disk, on one hub only.
    pub file: Option<Uuid>,
    pub taken_from: Option<(String, String)>,
    pub position: i64,
    pub size: i64,
    pub virtual_size: i64,
    pub uid: Option<String>,
    pub ready: bool,
    /// Why it could not be brought.
    pub problem: String,
    /// Its version was deleted: it goes when it is not needed any more.
    pub unwanted: bool,
    /// By machines that are still being made from it there, or may be.
    pub needed: bool,
}

/// How a copy stands that somebody waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageWanted {
    pub ready: bool,
    pub problem: String,
    pub percent: i64,
    pub name: String,
}

impl Store {
    /// An image is needed on a hub by a machine: the first who asks has it brought there, with a task of its own; one that could not be
    /// brought is tried again. That of a deleted version goes after that. None: there is no such image any more.
    pub async fn image_want(&self, image: Uuid, hub: &HubId, vm: VmId) -> Result<Option<ImageWanted>> {
        let mut tx = self.begin().await?;
        let of = sqlx::query!(
            "select i.size, i.name, t.id as template, t.name as template_name, t.org_id from images i
             join item_versions v on v.id = i.version_id join templates t on t.id = v.template_id where i.id = $1",
            image
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        let Some(of) = of else { return Ok(None) };
        // what failed is tried again with every wish; it is an answer only to those that were there before it
        let failed = sqlx::query!(
            r#"with failed as (select id, problem, problem_at from hub_images where image_id = $1 and hub_id = $2 and problem <> '' for update),
             again as (update hub_images h set problem = '' from failed f where h.id = f.id),
             open as (update tasks t set status = 'queued', ended_at = null, message = '', deadline = now() + interval '1 day'
                      from failed f where t.id = f.id),
             queued as (insert into work (kind, id, org_id, hub_id) select 'image', id, $3, $2 from failed
                      on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), attempt = 0, failing = '')
             select problem, coalesce(problem_at > (select created_at from work where kind = 'vm' and id = $4), true) as "now!" from failed"#,
            image,
            hub.0,
            of.org_id,
            vm.0
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        if let Some(failed) = failed {
            tx.commit().await.map_err(mapped)?;
            self.work_bell.notify_one();
            let problem = if failed.now { failed.problem } else { String::new() };
            return Ok(Some(ImageWanted { ready: false, problem, percent: 0, name: of.name }));
        }
        let new = sqlx::query_scalar!(
            "insert into hub_images (id, image_id, hub_id, unwanted_at)
             select $1, i.id, $3, case when v.deleted_at is not null then now() end from images i join item_versions v on v.id = i.version_id
             where i.id = $2 on conflict (image_id, hub_id) do nothing returning id",
            Uuid::now_v7(),
            image,
            hub.0
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        if let Some(id) = new {
            sqlx::query!(
                "insert into work (kind, id, org_id, hub_id) values ('image', $1, $2, $3) on conflict (kind, id) do nothing",
                id,
                of.org_id,
                hub.0
            )
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
            sqlx::query!(
                "insert into tasks (id, org_id, user_name, operation, object_kind, object_id, object_name, status, request_id, started_at, deadline)
                 values ($1, $2, 'ssvirt', 'image.bring', 'vapptemplate', $3, $4, 'queued', $5, now(), now() + interval '1 day')",
                id,
                of.org_id,
                of.template,
                of.template_name,
                ""
            )
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
        }
        let stands = sqlx::query!(
            r#"select ready_at is not null and (unwanted_at is null or image_needed(image_id, hub_id)) as "ready!", problem, sent
               from hub_images where image_id = $1 and hub_id = $2"#,
            image,
            hub.0
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(mapped)?;
        tx.commit().await.map_err(mapped)?;
        if new.is_some() {
            self.work_bell.notify_one();
        }
        let percent = stands.sent * 100 / of.size.max(1);
        Ok(Some(ImageWanted { ready: stands.ready, problem: stands.problem, percent, name: of.name }))
    }

    pub async fn hub_image(&self, id: Uuid) -> Result<Option<HubImage>> {
        let r = sqlx::query!(
            r#"select h.image_id, h.hub_id, h.uid, h.ready_at is not null as "ready!", h.problem, h.unwanted_at is not null as "unwanted!", t.org_id,
                      t.id as template, t.name as template_name, i.name, i.file_id, i.position, i.hub_id as "of_hub?", i.taken_from, i.size, i.virtual_size,
                      image_needed(i.id, h.hub_id) as "needed!"
               from hub_images h join images i on i.id = h.image_id join item_versions v on v.id = i.version_id
               join templates t on t.id = v.template_id where h.id = $1"#,
            id
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(r.map(|r| HubImage {
            taken_from: match &r.of_hub {
                Some(of) if *of == r.hub_id => r.taken_from.split_once('/').map(|(n, c)| (n.to_owned(), c.to_owned())),
                _ => None,
            },
            id,
            image: r.image_id,
            hub: HubId(r.hub_id),
            org: OrgId(r.org_id),
            template: TemplateId(r.template),
            template_name: r.template_name,
            name: r.name,
            file: r.file_id,
            position: r.position,
            size: r.size,
            virtual_size: r.virtual_size,
            uid: r.uid,
            ready: r.ready,
            problem: r.problem,
            unwanted: r.unwanted,
            needed: r.needed,
        }))
    }

    /// Its DataVolume is there. False: the work is not this worker's any more.
    pub async fn hub_image_made(&self, c: &Claim, uid: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update hub_images set uid = $2 where id = $1 and (uid is null or uid = $2)
             and exists (select from work where kind = 'image' and id = $1 and lease_epoch = $3)",
            c.id,
            uid,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// So many bytes are on their way. False: the work is not this worker's any more.
    pub async fn hub_image_sent(&self, c: &Claim, image: &HubImage, sent: i64) -> Result<bool> {
        let done = sqlx::query!(
            "update hub_images set sent = $2 where id = $1 and exists (select from work where kind = 'image' and id = $1 and lease_epoch = $3)",
            c.id,
            sent,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        let percent = i16::try_from(sent * 99 / image.size.max(1)).unwrap_or(99);
        self.image_task(image, "running", Some(percent), "").await?;
        Ok(done.rows_affected() == 1)
    }

    pub async fn hub_image_ready(&self, c: &Claim, image: &HubImage) -> Result<()> {
        sqlx::query!(
            "update hub_images set ready_at = coalesce(ready_at, now()), problem = '' where id = $1
             and exists (select from work where kind = 'image' and id = $1 and lease_epoch = $2)",
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.image_task(image, "success", Some(100), "").await?;
        self.captured(image, None).await?;
        // whatever waits for it goes on
        self.wake_waiting(&image.hub.0).await
    }

    pub async fn hub_image_problem(&self, c: &Claim, image: &HubImage, why: &str, over: bool) -> Result<()> {
        sqlx::query!(
            "update hub_images set problem = case when $4 then $2 else '' end, problem_at = now() where id = $1
             and exists (select from work where kind = 'image' and id = $1 and lease_epoch = $3)",
            c.id,
            why,
            c.epoch,
            over
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        if over {
            self.captured(image, Some(why)).await?;
        }
        self.image_task(image, if over { "error" } else { "running" }, None, why).await
    }

    /// Nothing of it is left on the hub.
    pub async fn hub_image_gone(&self, c: &Claim) -> Result<()> {
        sqlx::query!(
            "delete from hub_images where id = $1 and exists (select from work where kind = 'image' and id = $1 and lease_epoch = $2)",
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Its task has the copy's own id.
    async fn image_task(&self, image: &HubImage, status: &str, percent: Option<i16>, message: &str) -> Result<()> {
        let news = sqlx::query!(
            "update tasks set status = $2, progress = coalesce($3::smallint, progress), message = $4,
                    moved_at = case when $3::smallint > coalesce(progress, 0) then now() else moved_at end,
                    ended_at = case when $2 in ('success', 'error') then clock_timestamp() end
             where id = $1 and status in ('queued', 'running') and (status, coalesce(progress, -1), message) is distinct from ($2, coalesce($3::smallint, progress, -1), $4)",
            image.id,
            status,
            percent,
            message
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        if news.rows_affected() > 0 {
            self.tell(change(image, Kind::Task, TaskId(image.id).0));
            self.tell(change(image, Kind::Template, image.template.0));
        }
        Ok(())
    }

    /// Whoever looks at the capture or its task sees that it has ended.
    async fn captured(&self, image: &HubImage, failed: Option<&str>) -> Result<()> {
        if self.capture_stands(image.image, failed).await? {
            self.tell(change(image, Kind::Template, image.template.0));
        }
        Ok(())
    }
}

fn change(image: &HubImage, kind: Kind, id: Uuid) -> Change {
    Change { org: image.org, user: None, owner: None, kind, id: Some(id), shares: Vec::new() }
}
