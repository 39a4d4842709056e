//! Items that people brought into catalogs, and their versions.
use crate::{Authorized, Claim, Store, Write, constraint::mapped, upload::end_task};
use model::{
    CatalogId, Error, HubId, OrgId, Result, TemplateId, VmId,
    template::{ItemKind, Template, TemplateVm, Version},
    upload::{Upload, UploadSpec},
};
use sqlx::{PgExecutor, types::Json};
use uuid::Uuid;

/// A disk that becomes an image by a copy on its hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    pub id: Uuid,
    pub name: String,
    pub size_mb: i64,
    /// The machine that it is of.
    pub vm: VmId,
    /// Its namespace and claim on the hub.
    pub from: (String, String),
}

/// A disk or disc of a new version: a part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewImage {
    pub id: Uuid,
    pub file: Uuid,
    pub name: String,
    pub position: i64,
    pub size: i64,
    pub virtual_size: i64,
    pub format: String,
    pub sha256: String,
}

#[derive(Clone, Debug, Default)]
pub struct NewVersion {
    pub note: String,
    pub os: String,
    pub vms: Vec<TemplateVm>,
    pub images: Vec<NewImage>,
    pub created_by: String,
}

async fn versions(db: impl PgExecutor<'_>, template: TemplateId) -> Result<Vec<Version>> {
    let rows = sqlx::query!(
            r#"select v.number, v.note, v.os, v.vms as "vms: Json<Vec<TemplateVm>>", v.size, v.created_at, v.created_by,
                      array(select i.name from images i where i.version_id = v.id and i.sha256 <> '' order by i.name, i.id) as "images!",
                      array(select i.sha256 from images i where i.version_id = v.id and i.sha256 <> '' order by i.name, i.id) as "sums!",
                      array(select h.id from hubs h where exists (select from images i where i.version_id = v.id)
                            and not exists (select from images i where i.version_id = v.id and not exists
                                (select from hub_images c where c.image_id = i.id and c.hub_id = h.id and c.ready_at is not null))
                            order by 1) as "hubs!",
                      array(select case when m.org_id = t.org_id then m.name else 'a VM of another organization' end
                            from vms m where m.id in (select k.vm_id from images i join disks k on k.image = 'image/' || i.id
                                where i.version_id = v.id and k.media_id = t.id and k.gone_at is null) order by 1) as "used_by!"
               from item_versions v join templates t on t.id = v.template_id
               where v.template_id = $1 and v.deleted_at is null and v.ready_at is not null order by v.number desc"#,
            template.0
        )
        .fetch_all(db)
        .await
        .map_err(mapped)?;
    let version = |vms: Json<Vec<TemplateVm>>| vms.0;
    Ok(rows
        .into_iter()
        .map(|r| Version {
            number: r.number,
            note: r.note,
            os: r.os,
            vms: version(r.vms),
            size: r.size,
            sums: r.images.into_iter().zip(r.sums).collect(),
            hubs: r.hubs.into_iter().map(HubId).collect(),
            created_at: r.created_at,
            created_by: r.created_by,
            used_by: r.used_by,
        })
        .collect())
}

impl Store {
    /// Discs of an organization that VMs of others have, by name.
    pub async fn discs_elsewhere(&self, org: OrgId) -> Result<Vec<String>> {
        sqlx::query_scalar!(
            "select distinct t.name from templates t join disks k on k.media_id = t.id join vms m on m.id = k.vm_id
             where t.org_id = $1 and t.deleted_at is null and k.gone_at is null and m.org_id <> $1 order by 1",
            org.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)
    }

    /// Those that were not deleted, the newest first.
    pub async fn versions_of(&self, template: TemplateId) -> Result<Vec<Version>> {
        versions(&self.pool, template).await
    }

    /// A captured version whose disks are all copied is there for everybody; or why it will not be. True: that was news.
    pub(crate) async fn capture_stands(&self, image: Uuid, failed: Option<&str>) -> Result<bool> {
        let mut tx = self.begin().await?;
        let version = sqlx::query!(
            r#"select v.id, v.template_id, t.catalog_id,
                      not exists (select from images o where o.version_id = v.id and not exists
                          (select from hub_images h where h.image_id = o.id and h.ready_at is not null)) as "whole!"
               from images i join item_versions v on v.id = i.version_id join templates t on t.id = v.template_id
               where i.id = $1 and v.ready_at is null for update of v"#,
            image
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        let Some(v) = version else { return Ok(false) };
        let template = TemplateId(v.template_id);
        match failed {
            Some(why) => end_capture(&mut tx, template, "error", why).await?,
            None if v.whole => {
                sqlx::query!("update item_versions set ready_at = now() where id = $1", v.id)
                    .execute(&mut *tx)
                    .await
                    .map_err(mapped)?;
                newest(&mut tx, template, CatalogId(v.catalog_id)).await?;
                end_capture(&mut tx, template, "success", "").await?;
            }
            None => {}
        }
        tx.commit().await.map_err(mapped)?;
        Ok(failed.is_some() || v.whole)
    }

    /// A captured version without any disk.
    pub async fn capture_whole(&self, template: TemplateId) -> Result<()> {
        let mut tx = self.begin().await?;
        let catalog = sqlx::query_scalar!(
            "update item_versions v set ready_at = now() from templates t where t.id = v.template_id and t.id = $1 returning t.catalog_id",
            template.0
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        if let Some(catalog) = catalog {
            newest(&mut tx, template, CatalogId(catalog)).await?;
        }
        end_capture(&mut tx, template, "success", "").await?;
        tx.commit().await.map_err(mapped)
    }

    /// What was uploaded is good: it becomes the newest version of its item. False: the work is not this worker's any more.
    pub async fn version_made(&self, c: &Claim, upload: &Upload, new: &NewVersion) -> Result<bool> {
        let mut tx = self.begin().await?;
        let template =
            sqlx::query!("select catalog_id, deleted_at from templates where id = $1 for update", upload.template.0)
                .fetch_one(&mut *tx)
                .await
                .map_err(mapped)?;
        let ended = sqlx::query!(
            "update uploads set state = case when $2 then 'cancelled' else 'done' end where id = $1 and state = 'checking'",
            upload.id.0,
            template.deleted_at.is_some()
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        if ended.rows_affected() == 0 || !Store::holds(&mut tx, c).await? {
            return Ok(false);
        }
        // its item was deleted meanwhile: the files go with the rest
        if template.deleted_at.is_some() {
            tx.commit().await.map_err(mapped)?;
            return Ok(true);
        }
        let id = Uuid::now_v7();
        let size: i64 = new.images.iter().map(|i| i.size).sum();
        sqlx::query!(
            "insert into item_versions (id, template_id, number, note, os, vms, size, created_by)
             select $1, $2, coalesce(max(number), 0) + 1, $3, $4, $5, $6, $7 from item_versions where template_id = $2",
            id,
            upload.template.0,
            new.note,
            new.os,
            Json(&new.vms) as _,
            size,
            new.created_by
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        for i in &new.images {
            sqlx::query!(
                "insert into images (id, version_id, file_id, name, position, size, virtual_size, format, sha256)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                i.id,
                id,
                i.file,
                i.name,
                i.position,
                i.size,
                i.virtual_size,
                i.format,
                i.sha256
            )
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
        }
        newest(&mut tx, upload.template, CatalogId(template.catalog_id)).await?;
        let task = end_task(&mut tx, upload.template, "success", "").await?;
        tx.commit().await.map_err(mapped)?;
        self.tell_upload(upload, task);
        Ok(true)
    }
}

async fn end_capture(tx: &mut sqlx::PgConnection, template: TemplateId, status: &str, message: &str) -> Result<()> {
    sqlx::query!(
        "update tasks set status = $2, message = $3, ended_at = clock_timestamp(), progress = case when $2 = 'success' then 100 else progress end
         where object_id = $1 and operation = 'vapp.capture' and status in ('queued', 'running')",
        template.0,
        status,
        message
    )
    .execute(tx)
    .await
    .map_err(mapped)?;
    Ok(())
}

/// The item shows its newest version, and its catalog counts the change.
pub(crate) async fn newest(tx: &mut sqlx::PgConnection, template: TemplateId, catalog: CatalogId) -> Result<()> {
    sqlx::query!(
        "update templates t set vms = coalesce(v.vms, '[]'), os = coalesce(v.os, ''), version = t.version + 1, updated_at = now()
         from (select 1) one left join lateral
              (select vms, os from item_versions where template_id = $1 and deleted_at is null and ready_at is not null order by number desc limit 1) v on true
         where t.id = $1",
        template.0
    )
    .execute(&mut *tx)
    .await
    .map_err(mapped)?;
    sqlx::query!("update catalogs set contents = contents + 1 where id = $1", catalog.0)
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
    Ok(())
}

impl Write<'_> {
    /// An item without any version yet.
    pub async fn item_insert(&mut self, id: TemplateId, catalog: CatalogId, org: OrgId, s: &UploadSpec) -> Result<()> {
        sqlx::query!(
            "insert into templates (id, catalog_id, org_id, kind, uploaded_by, name, description, vms) values ($1, $2, $3, $4, $5, $6, $7, '[]')",
            id.0,
            catalog.0,
            org.0,
            s.kind.key(),
            self.actor.name,
            s.name,
            s.description
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!("update catalogs set contents = contents + 1 where id = $1", catalog.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        // discs are small, and have none
        if s.kind == ItemKind::Template { self.lease_of_new_template(id, org).await } else { Ok(()) }
    }

    /// Whether guests of VMs made from it are told what they are.
    pub async fn item_customize(&mut self, id: TemplateId, customize: bool) -> Result<()> {
        sqlx::query!("update templates set customize = $2 where id = $1", id.0, customize)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// What people call it.
    pub async fn item_update(&mut self, item: &Authorized<Template>, name: &str, description: &str) -> Result<()> {
        sqlx::query!(
            "update templates set name = $2, description = $3, version = version + 1, updated_at = now() where id = $1",
            item.id.0,
            name,
            description
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!("update catalogs set contents = contents + 1 where id = $1", item.catalog.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// A version whose images are copies of disks on a hub. Workers make them.
    pub async fn item_capture(
        &mut self,
        id: TemplateId,
        org: OrgId,
        hub: &HubId,
        vms: &[TemplateVm],
        disks: &[Captured],
    ) -> Result<()> {
        let version = Uuid::now_v7();
        let size: i64 = disks.iter().map(|d| d.size_mb << 20).sum();
        sqlx::query!(
            "insert into item_versions (id, template_id, number, os, vms, size, created_by, ready_at)
             select $1, $2, coalesce(max(number), 0) + 1, $3, $4, $5, $6, null from item_versions where template_id = $2",
            version,
            id.0,
            vms.first().map(|v| v.os.clone()).unwrap_or_default(),
            Json(vms) as _,
            size,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        for d in disks {
            sqlx::query!(
                "insert into images (id, version_id, name, position, size, virtual_size, format, sha256, hub_id, taken_from, vm_id)
                 values ($1, $2, $3, 0, $4, $4, 'raw', '', $5, $6, $7)",
                d.id,
                version,
                d.name,
                d.size_mb << 20,
                hub.0,
                format!("{}/{}", d.from.0, d.from.1),
                d.vm.0
            )
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
            sqlx::query!(
                "with made as (insert into hub_images (id, image_id, hub_id) values (gen_random_uuid(), $1, $2) returning id)
                 insert into work (kind, id, org_id, hub_id, request_id) select 'image', id, $3, $2, $4 from made",
                d.id,
                hub.0,
                org.0,
                self.actor.origin.request_id
            )
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        }
        Ok(())
    }

    /// Nobody sees it from now on. What hubs have of it goes when nothing there needs it any more.
    pub async fn item_delete(&mut self, item: &Authorized<Template>) -> Result<()> {
        sqlx::query!(
            "update templates set deleted_at = now(), version = version + 1, updated_at = now() where id = $1 and deleted_at is null",
            item.id.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "update item_versions set deleted_at = now() where template_id = $1 and deleted_at is null",
            item.id.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!("update uploads set state = 'cancelled' where template_id = $1 and state = 'open'", item.id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        self.lease_over(item.id.0).await?;
        end_task(&mut self.tx, item.id, "aborted", "It was deleted.").await?;
        end_capture(&mut self.tx, item.id, "aborted", "It was deleted.").await?;
        sqlx::query!("update catalogs set contents = contents + 1 where id = $1", item.catalog.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        self.unwanted(item.id).await
    }

    /// The same within the change.
    pub async fn versions_of(&mut self, template: TemplateId) -> Result<Vec<Version>> {
        versions(&mut *self.tx, template).await
    }

    /// The image of a disc's newest version, and how much room it takes. None: it has none yet.
    pub async fn disc_image(&mut self, disc: TemplateId) -> Result<Option<(Uuid, i64)>> {
        let r = sqlx::query!(
            "select i.id, i.virtual_size from images i join item_versions v on v.id = i.version_id
             where v.template_id = $1 and v.deleted_at is null and v.ready_at is not null order by v.number desc limit 1",
            disc.0
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(r.map(|r| (r.id, (r.virtual_size + (1 << 20) - 1) >> 20)))
    }

    pub async fn version_delete(&mut self, item: &Authorized<Template>, number: i32) -> Result<()> {
        let there = sqlx::query!("select id from templates where id = $1 for update", item.id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let done = sqlx::query!(
            "update item_versions set deleted_at = now() where template_id = $1 and number = $2 and deleted_at is null",
            item.id.0,
            number
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        if there.is_none() || done.rows_affected() == 0 {
            return Err(Error::NotNow(format!("Not now: there is no version {number} of it any more.")));
        }
        newest(&mut self.tx, item.id, item.catalog).await?;
        self.unwanted(item.id).await
    }

    /// Copies on hubs of versions that are gone: workers remove them.
    async fn unwanted(&mut self, template: TemplateId) -> Result<()> {
        sqlx::query!(
            "with gone as (
                 update hub_images h set unwanted_at = now() from images i join item_versions v on v.id = i.version_id
                 where h.image_id = i.id and v.template_id = $1 and v.deleted_at is not null and h.unwanted_at is null
                 returning h.id, h.hub_id)
             insert into work (kind, id, org_id, hub_id) select 'image', g.id, t.org_id, g.hub_id from gone g, templates t where t.id = $1
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            template.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
