//! What is known of guests: seen on their hubs, and told by their agents.
use crate::{Authorized, Store, constraint::mapped};
use model::{
    Kind, OrgId, Result, UserId, VmId,
    agent::{Guest, System, Told},
    event::Change,
    vm::Vm,
};
use sqlx::types::Json;

impl Store {
    pub async fn guest(&self, vm: &Authorized<Vm>) -> Result<Guest> {
        let r = sqlx::query!(
            r#"select obs_agent, obs_guest as "system: Json<System>", guest as "told: Json<Told>", guest_at from vms where id = $1"#,
            vm.id.0
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(Guest { agent: r.obs_agent, system: r.system.0, told: r.told.0, told_at: r.guest_at })
    }

    /// Somebody looks at the guest: it is asked again, if its agent and its hub answer and what it told is older than that. Who looks
    /// waits for nobody: a machine that is being changed is asked another time.
    pub async fn guest_wanted(&self, vm: &Authorized<Vm>, older_than: std::time::Duration) -> Result<()> {
        let due = sqlx::query_scalar!(
            "with due as (
                 select v.id, h.id as hub from vms v join hubs h on h.id = v.hub_id where v.id = $1 and h.state <> 'unreachable' and v.obs_agent
                 and v.obs_state in ('running', 'migrating')
                 and greatest(v.guest_at, v.guest_asked_at, '-infinity') < now() - make_interval(secs => $2) for update of v skip locked)
             update vms v set guest_asked_at = now() from due where v.id = due.id returning due.hub",
            vm.id.0,
            older_than.as_secs_f64()
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        match due {
            Some(hub) => self.enqueue(Kind::Guest, vm.id, vm.org, &hub).await,
            None => Ok(()),
        }
    }

    /// What the agent said just now, if the guest is still the one that was asked.
    pub async fn guest_told(&self, vm: VmId, uid: &str, told: &Told) -> Result<()> {
        let r = sqlx::query!(
            "update vms set guest = $2, guest_at = now() where id = $1 and uid = $3 and obs_agent and gone_at is null returning org_id, owner_id",
            vm.0,
            Json(told) as _,
            uid
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        if let Some(r) = r {
            let (org, owner) = (OrgId(r.org_id), r.owner_id.map(UserId));
            self.tell(Change { org, user: None, owner, kind: Kind::Vm, id: Some(vm.0), shares: Vec::new() });
        }
        Ok(())
    }
}
