//! Affinity rules of VDCs, and what of them concerns one VM.
use crate::{Authorized, Store, Write, constraint::mapped};
use model::{
    Action, Actor, AffinityId, HubId, OrgId, Result, VappId, VdcId, VmId,
    affinity::{AffinityRule, AffinitySpec, RuleCandidate, RuleVm},
    decide::Resource,
};
use sqlx::{PgExecutor, types::Json};
use uuid::Uuid;

/// What one rule asks of one VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffinityTerm {
    pub together: bool,
    pub mandatory: bool,
    /// All VMs of the rule, itself among them.
    pub vms: Vec<Uuid>,
}

enum Which {
    Id(AffinityId),
    Vdc(VdcId),
}

async fn rules(db: impl PgExecutor<'_>, which: Which) -> Result<Vec<AffinityRule>> {
    let (id, vdc) = match which {
        Which::Id(id) => (Some(id.0), None),
        Which::Vdc(id) => (None, Some(id.0)),
    };
    let rows = sqlx::query!(
        r#"select r.id, r.org_id, r.vdc_id, d.name as vdc_name, r.name, r.together, r.mandatory, r.enabled, r.version, r.created_at, r.updated_at, r.updated_by,
                  coalesce((select jsonb_agg(jsonb_build_object('id', v.id, 'name', v.name, 'waits',
                              r.enabled and v.obs_state in ('running', 'migrating') and v.obs_since < r.changed_at) order by lower(v.name), v.id)
                            from affinity_vms x join vms v on v.id = x.vm_id where x.rule_id = r.id and v.deleted_at is null), '[]') as "vms!: Json<Vec<RuleVm>>"
           from affinity_rules r join vdcs d on d.id = r.vdc_id
           where r.deleted_at is null and ($1::uuid is null or r.id = $1) and ($2::uuid is null or r.vdc_id = $2)
           order by lower(r.name), r.id"#,
        id,
        vdc
    )
    .fetch_all(db)
    .await
    .map_err(mapped)?;
    let all = rows.into_iter().map(|r| AffinityRule {
        id: AffinityId(r.id),
        org: OrgId(r.org_id),
        vdc: VdcId(r.vdc_id),
        vdc_name: r.vdc_name,
        name: r.name,
        together: r.together,
        mandatory: r.mandatory,
        enabled: r.enabled,
        vms: r.vms.0,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    });
    Ok(all.collect())
}

fn resource(rule: &AffinityRule) -> Resource {
    Resource::Of(rule.org)
}

impl Store {
    pub async fn affinity(&self, actor: &Actor, action: Action, id: AffinityId) -> Result<Authorized<AffinityRule>> {
        Authorized::check(actor, action, rules(&self.pool, Which::Id(id)).await?.pop(), resource)
    }

    /// Of a VDC that was looked up before.
    pub async fn affinities(&self, vdc: VdcId) -> Result<Vec<AffinityRule>> {
        rules(&self.pool, Which::Vdc(vdc)).await
    }

    /// The VMs of a VDC that a rule can be about.
    pub async fn rule_candidates(&self, vdc: VdcId) -> Result<Vec<RuleCandidate>> {
        candidates(&self.pool, vdc, None).await
    }

    /// What enabled rules ask of a VM. One that has lost all others asks for nothing.
    pub(crate) async fn affinity_terms(&self, vm: VmId) -> Result<Vec<AffinityTerm>> {
        let rows = sqlx::query!(
            r#"select r.together, r.mandatory, array_agg(v.id order by v.id) as "vms!"
               from affinity_vms mine join affinity_rules r on r.id = mine.rule_id and r.deleted_at is null and r.enabled
               join affinity_vms x on x.rule_id = r.id join vms v on v.id = x.vm_id and v.deleted_at is null
               where mine.vm_id = $1 group by r.id having count(*) > 1 order by r.id"#,
            vm.0
        );
        let rows = rows.fetch_all(&self.pool).await.map_err(mapped)?;
        let terms = rows.into_iter().map(|r| AffinityTerm { together: r.together, mandatory: r.mandatory, vms: r.vms });
        Ok(terms.collect())
    }
}

async fn candidates(db: impl PgExecutor<'_>, vdc: VdcId, ids: Option<&[Uuid]>) -> Result<Vec<RuleCandidate>> {
    let rows = sqlx::query!(
        "select v.id, v.name, v.vapp_id, a.name as vapp_name, v.hub_id from vms v join vapps a on a.id = v.vapp_id
         where v.vdc_id = $1 and v.deleted_at is null and ($2::uuid[] is null or v.id = any($2)) order by lower(v.name), v.id limit 1000",
        vdc.0,
        ids
    )
    .fetch_all(db)
    .await
    .map_err(mapped)?;
    let all = rows.into_iter().map(|r| RuleCandidate {
        id: VmId(r.id),
        name: r.name,
        vapp: VappId(r.vapp_id),
        vapp_name: r.vapp_name,
        hub: r.hub_id.map(HubId),
    });
    Ok(all.collect())
}

impl Write<'_> {
    pub async fn affinity(&mut self, action: Action, id: AffinityId) -> Result<Authorized<AffinityRule>> {
        sqlx::query!("select id from affinity_rules where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = rules(&mut *self.tx, Which::Id(id)).await?.pop();
        Authorized::check(self.actor, action, found, resource)
    }

    /// The rules of a VDC; nobody else changes one of them until the end.
    pub async fn affinities_held(&mut self, vdc: VdcId) -> Result<Vec<AffinityRule>> {
        sqlx::query!("select pg_advisory_xact_lock(hashtextextended('affinity' || $1::text, 0))", vdc.0.to_string())
            .fetch_one(&mut *self.tx)
            .await
            .map_err(mapped)?;
        rules(&mut *self.tx, Which::Vdc(vdc)).await
    }

    /// Those of these VMs that are in the VDC, locked.
    pub async fn rule_vms(&mut self, vdc: VdcId, vms: &[VmId]) -> Result<Vec<RuleCandidate>> {
        let ids: Vec<Uuid> = vms.iter().map(|v| v.0).collect();
        sqlx::query!("select id from vms where id = any($1) order by id for update", &ids)
            .fetch_all(&mut *self.tx)
            .await
            .map_err(mapped)?;
        candidates(&mut *self.tx, vdc, Some(&ids)).await
    }

    pub async fn affinity_insert(&mut self, id: AffinityId, org: OrgId, vdc: VdcId, s: &AffinitySpec) -> Result<()> {
        sqlx::query!(
            "insert into affinity_rules (id, org_id, vdc_id, name, together, mandatory, enabled, updated_by) values ($1, $2, $3, $4, $5, $6, $7, $8)",
            id.0,
            org.0,
            vdc.0,
            s.name,
            s.together,
            s.mandatory,
            s.enabled,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        self.affinity_set_vms(id, &s.vms).await
    }

    /// `changes`: something that VMs are asked for, and not only its name.
    pub async fn affinity_update(
        &mut self,
        rule: &Authorized<AffinityRule>,
        s: &AffinitySpec,
        changes: bool,
    ) -> Result<()> {
        sqlx::query!(
            "update affinity_rules set name = $2, together = $3, mandatory = $4, enabled = $5, version = version + 1, updated_at = now(),
                    updated_by = $6, changed_at = case when $7 then now() else changed_at end where id = $1",
            rule.id.0,
            s.name,
            s.together,
            s.mandatory,
            s.enabled,
            self.actor.name,
            changes
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        self.affinity_set_vms(rule.id, &s.vms).await
    }

    async fn affinity_set_vms(&mut self, id: AffinityId, vms: &[VmId]) -> Result<()> {
        let ids: Vec<Uuid> = vms.iter().map(|v| v.0).collect();
        sqlx::query!("delete from affinity_vms where rule_id = $1", id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("insert into affinity_vms (rule_id, vm_id) select $1, v from unnest($2::uuid[]) v", id.0, &ids)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    pub async fn affinity_delete(&mut self, rule: &Authorized<AffinityRule>) -> Result<()> {
        sqlx::query!(
            "update affinity_rules set deleted_at = now(), version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            rule.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// These VMs are to be brought to what their rules say by now. They are locked.
    pub async fn affinity_again(&mut self, vms: &[VmId]) -> Result<()> {
        let ids: Vec<Uuid> = vms.iter().map(|v| v.0).collect();
        sqlx::query!(
            "with v as (update vms set generation = generation + 1 where id = any($1) and deleted_at is null returning id, org_id, hub_id)
             insert into work (kind, id, org_id, hub_id, request_id) select 'vm', id, org_id, coalesce(hub_id, ''), $2 from v
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), attempt = 0, failing = '', request_id = $2",
            &ids,
            self.actor.origin.request_id
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
