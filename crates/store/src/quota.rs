//! Quota: an amount is taken from the organization, the VDC and the user in one transaction, or not at all.
use crate::{Write, constraint::mapped};
use model::{
    Error, Kind, OrgId, Result, UserId, VdcId,
    quota::{Amount, Limits},
};
use sqlx::PgConnection;

/// How much of the limit that is nearest to its end is used, of a row `t`; null where nothing is limited.
pub(crate) const FULLNESS: &str = "greatest(t.vms_used::float8 / nullif(t.vm_limit, 0), t.cpus_used::float8 / nullif(t.cpu_limit, 0), \
     t.memory_used_mb::float8 / nullif(t.memory_limit_mb, 0), t.storage_used_mb::float8 / nullif(t.storage_limit_mb, 0))";

impl Write<'_> {
    /// Takes `ask` (or with negative numbers gives it back). Rows are locked from the organization down, always in this
    /// order, and after the VM or disk that is counted. Their keys stay free: whoever only records something in an
    /// organization (events, audit) does not wait, and so never waits in a circle. What only gives back is never refused, even where a limit was lowered meanwhile.
    pub async fn quota_reserve(&mut self, vdc: VdcId, user: Option<UserId>, ask: &Amount) -> Result<()> {
        let found = sqlx::query!(
            "select o.id, o.name, o.vm_limit, o.cpu_limit, o.memory_limit_mb, o.storage_limit_mb,
                    o.vms_used, o.cpus_used, o.memory_used_mb, o.storage_used_mb
             from organizations o join vdcs v on v.org_id = o.id
             where v.id = $1 and v.deleted_at is null for no key update of o",
            vdc.0
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(mapped)?
        .ok_or(Error::NotFound(Kind::Vdc))?;
        let limits = Limits {
            vms: found.vm_limit,
            cpus: found.cpu_limit,
            memory_mb: found.memory_limit_mb,
            storage_mb: found.storage_limit_mb,
        };
        let used = Amount {
            vms: found.vms_used,
            cpus: found.cpus_used,
            memory_mb: found.memory_used_mb,
            storage_mb: found.storage_used_mb,
        };
        limits.admit(&used, ask, &format!("organization {}", found.name))?;

        let v = sqlx::query!(
            "select name, vm_limit, cpu_limit, memory_limit_mb, storage_limit_mb, vms_used, cpus_used, memory_used_mb, storage_used_mb
             from vdcs where id = $1 and deleted_at is null for no key update",
            vdc.0
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(mapped)?
        .ok_or(Error::NotFound(Kind::Vdc))?;
        let limits =
            Limits { vms: v.vm_limit, cpus: v.cpu_limit, memory_mb: v.memory_limit_mb, storage_mb: v.storage_limit_mb };
        let used =
            Amount { vms: v.vms_used, cpus: v.cpus_used, memory_mb: v.memory_used_mb, storage_mb: v.storage_used_mb };
        limits.admit(&used, ask, &format!("VDC {}", v.name))?;

        if let Some(user) = user {
            let u = sqlx::query!(
                "select name, vm_limit, cpu_limit, memory_limit_mb, storage_limit_mb, vms_used, cpus_used, memory_used_mb, storage_used_mb,
                        deleted_at is null as \"there!\"
                 from users where id = $1 for no key update",
                user.0
            )
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?
            .ok_or(Error::NotFound(Kind::User))?;
            let limits = Limits {
                vms: u.vm_limit,
                cpus: u.cpu_limit,
                memory_mb: u.memory_limit_mb,
                storage_mb: u.storage_limit_mb,
            };
            let used = Amount {
                vms: u.vms_used,
                cpus: u.cpus_used,
                memory_mb: u.memory_used_mb,
                storage_mb: u.storage_used_mb,
            };
            // what a removed user left goes on until somebody gets it, and nobody could raise these limits
            if u.there {
                limits.admit(&used, ask, &format!("user {}", u.name))?;
            }
        }
        count(&mut self.tx, OrgId(found.id), vdc, user, ask).await
    }
}

/// Adds `amount`, which may be negative, to what is used. The organization's row is locked by the caller, so that all take
/// the rows in one order.
pub(crate) async fn count(
    db: &mut PgConnection,
    org: OrgId,
    vdc: VdcId,
    user: Option<UserId>,
    amount: &Amount,
) -> Result<()> {
    let Amount { vms, cpus, memory_mb, storage_mb } = *amount;
    sqlx::query!(
        "with u as (
           update users set vms_used = vms_used + $4, cpus_used = cpus_used + $5, memory_used_mb = memory_used_mb + $6,
                  storage_used_mb = storage_used_mb + $7 where id = $3
         ), v as (
           update vdcs set vms_used = vms_used + $4, cpus_used = cpus_used + $5, memory_used_mb = memory_used_mb + $6,
                  storage_used_mb = storage_used_mb + $7 where id = $2
         )
         update organizations set vms_used = vms_used + $4, cpus_used = cpus_used + $5, memory_used_mb = memory_used_mb + $6,
                storage_used_mb = storage_used_mb + $7 where id = $1",
        org.0,
        vdc.0,
        user.map(|u| u.0),
        vms,
        cpus,
        memory_mb,
        storage_mb
    )
    .execute(db)
    .await
    .map_err(mapped)?;
    Ok(())
}
