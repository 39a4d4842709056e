//! Metadata of things, and the security tags of VMs.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, owned},
};
use model::{
    Error, OrgId, Result, VmId,
    decide::Scope,
    metadata::{Audience, Entry, Kept, MetaType, TagUse, Thing},
    vm::Vm,
};
use sqlx::FromRow;
use time::OffsetDateTime;

struct Row {
    key: String,
    r#type: String,
    value: String,
    visibility: String,
    updated_at: OffsetDateTime,
    updated_by: String,
}

impl Row {
    fn read(self) -> Result<Kept> {
        let odd = |word: &str| Error::Internal(format!("metadata {word:?}"));
        let audience = Audience::of(&self.visibility).ok_or_else(|| odd(&self.visibility))?;
        let kind = MetaType::parse(&self.r#type).ok_or_else(|| odd(&self.r#type))?;
        let entry = Entry { audience, key: self.key, kind, value: self.value };
        Ok(Kept { entry, updated_at: self.updated_at, updated_by: self.updated_by })
    }
}

#[derive(FromRow)]
struct TagRow {
    tag: String,
    vms: i64,
}

/// A list's filter: a key, or a key and its value. What is private is not found by it.
pub(crate) fn filter_metadata(b: &mut Build<'_>, value: &str) {
    let (key, value) = match value.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim())),
        None => (value.trim(), None),
    };
    b.push(" and exists (select from metadata x where x.object_id = t.id and x.visibility <> 'private' and x.key = ");
    b.push_bind(key.to_owned());
    if let Some(value) = value {
        b.push(" and x.value = ").push_bind(value.to_owned());
    }
    b.push(")");
}

/// VMs that have the tag.
pub(crate) fn filter_tag(b: &mut Build<'_>, tag: &str) {
    b.push(" and exists (select from vm_tags g where g.vm_id = t.id and g.tag = lower(");
    b.push_bind(tag.to_owned()).push("))");
}

/// vApps with a VM that has it.
pub(crate) fn filter_tag_inside(b: &mut Build<'_>, tag: &str) {
    b.push(" and exists (select from vm_tags g join vms w on w.id = g.vm_id where w.vapp_id = t.id and w.deleted_at is null and g.tag = lower(");
    b.push_bind(tag.to_owned()).push("))");
}

impl Store {
    /// By key; `private`: with what only the provider sees.
    pub async fn metadata_of(&self, thing: &Thing, private: bool) -> Result<Vec<Kept>> {
        let rows = sqlx::query_as!(
            Row,
            "select key, type, value, visibility, updated_at, updated_by from metadata
             where object_id = $1 and ($2 or visibility <> 'private') order by lower(key), domain",
            thing.id,
            private
        );
        rows.fetch_all(&self.pool).await.map_err(mapped)?.into_iter().map(Row::read).collect()
    }

    pub async fn tags_of(&self, vm: &Authorized<Vm>) -> Result<Vec<String>> {
        let tags = sqlx::query_scalar!("select tag from vm_tags where vm_id = $1 order by tag", vm.id.0);
        tags.fetch_all(&self.pool).await.map_err(mapped)
    }

    /// The tags of all VMs that somebody sees.
    pub async fn tags(&self, scope: Scope) -> Result<Vec<TagUse>> {
        let mut b = Build::new(
            "select g.tag, count(*) as vms from vm_tags g join vms t on t.id = g.vm_id where t.deleted_at is null",
        );
        match scope {
            Scope::All => {}
            Scope::Org(org) => {
                b.push(" and t.org_id = ").push_bind(org.0);
            }
            Scope::Own(org, user, role) => {
                b.push(" and t.org_id = ").push_bind(org.0);
                owned(&mut b, crate::vm::SQL.owner, (org, user, role));
            }
        }
        b.push(" group by g.tag order by g.tag limit 1000");
        let rows: Vec<TagRow> = b.build_query_as().fetch_all(&self.pool).await.map_err(mapped)?;
        Ok(rows.into_iter().map(|r| TagUse { tag: r.tag, vms: r.vms }).collect())
    }
}

impl Write<'_> {
    /// Of those who change one thing's metadata one is at it at a time. How many entries it has.
    pub async fn metadata_hold(&mut self, thing: &Thing) -> Result<i64> {
        sqlx::query!("select pg_advisory_xact_lock(hashtextextended('metadata' || $1::text, 0))", thing.id.to_string())
            .fetch_one(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let count = sqlx::query_scalar!(r#"select count(*) as "n!" from metadata where object_id = $1"#, thing.id);
        count.fetch_one(&mut *self.tx).await.map_err(mapped)
    }

    pub async fn metadata_entry(&mut self, thing: &Thing, domain: &str, key: &str) -> Result<Option<Entry>> {
        let row = sqlx::query_as!(
            Row,
            "select key, type, value, visibility, updated_at, updated_by from metadata where object_id = $1 and domain = $2 and key = $3",
            thing.id,
            domain,
            key
        );
        let row = row.fetch_optional(&mut *self.tx).await.map_err(mapped)?;
        row.map(|r| r.read().map(|kept| kept.entry)).transpose()
    }

    pub async fn metadata_put(&mut self, thing: &Thing, e: &Entry) -> Result<()> {
        sqlx::query!(
            "insert into metadata (object_id, domain, key, object_kind, org_id, type, value, visibility, updated_by)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             on conflict (object_id, domain, key) do update
             set type = $6, value = $7, visibility = $8, updated_at = now(), updated_by = $9",
            thing.id,
            e.audience.domain(),
            e.key,
            thing.kind.key(),
            thing.org.0,
            e.kind.key(),
            e.value,
            e.audience.visibility(),
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn metadata_remove(&mut self, thing: &Thing, e: &Entry) -> Result<()> {
        sqlx::query!(
            "delete from metadata where object_id = $1 and domain = $2 and key = $3",
            thing.id,
            e.audience.domain(),
            e.key
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn tags_of(&mut self, vm: VmId) -> Result<Vec<String>> {
        let tags = sqlx::query_scalar!("select tag from vm_tags where vm_id = $1 order by tag", vm.0);
        tags.fetch_all(&mut *self.tx).await.map_err(mapped)
    }

    /// These and no others.
    pub async fn tags_set(&mut self, vm: VmId, org: OrgId, tags: &[String]) -> Result<()> {
        sqlx::query!("delete from vm_tags where vm_id = $1 and tag <> all($2)", vm.0, tags)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!(
            "insert into vm_tags (vm_id, org_id, tag) select $1, $2, t from unnest($3::text[]) t on conflict do nothing",
            vm.0,
            org.0,
            tags
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
