//! A stage for machines: simulated hubs with their templates in a catalog, the queue and the watchers, and an organization.
use crate::harness::{Hubs, TestApp, TestOrg};
use domain::{catalog, vapp, vm};
use model::{
    Action, Actor, VappId, VmId,
    catalog::CatalogSpec,
    list::{ListQuery, TEMPLATES},
    task::TaskStatus,
    template::Template,
    vm::{Vm, VmState},
};
use serde_json::Value;
use std::time::Duration;

pub(crate) const VMS: (&str, &str) = ("kubevirt.io", "virtualmachines");

pub(crate) struct Stage {
    pub(crate) app: TestApp,
    pub(crate) hubs: Hubs,
    pub(crate) acme: TestOrg,
    pub(crate) admin: Actor,
}

impl Stage {
    /// One hub, its templates in a catalog for everybody, and an organization with a VDC.
    pub(crate) async fn set() -> Stage {
        Stage::on(&["one"]).await
    }

    /// The same with several hubs.
    pub(crate) async fn on(hubs: &[&str]) -> Stage {
        let app = TestApp::start().await;
        let hubs = Hubs::start(&app, hubs).await;
        let acme = app.org("acme").vdc("prod").make().await;
        let admin = app.actor(acme.admin()).await;
        let operator = app.operator().await;
        let spec = CatalogSpec { name: "linux".into(), shared_to_all: true, from_hubs: true, ..CatalogSpec::default() };
        catalog::create(&app.domain, &operator, operator.org, spec).await.unwrap();
        let stage = Stage { app, hubs, acme, admin };
        stage.until("templates", async || stage.template("web-and-db").await.is_some()).await;
        // one that was not looked at yet would be passed over for that
        let unknown = "hubs where not 'virtualmachines' = any(offers)";
        stage.until("hubs that were looked at", async || stage.app.db.count(unknown).await == 0).await;
        stage
    }

    pub(crate) async fn until(&self, what: &str, mut reached: impl AsyncFnMut() -> bool) {
        for _ in 0..600 {
            if reached().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let depth = self.app.domain.store.work_items(20).await.unwrap();
        panic!("{what} did not come: {depth:#?}");
    }

    pub(crate) async fn template(&self, name: &str) -> Option<Template> {
        let query = ListQuery { search: name.into(), ..ListQuery::first(&TEMPLATES) };
        let page = catalog::templates(&self.app.domain, &self.admin, None, &query).await.unwrap();
        page.items.into_iter().find(|t| t.name == name)
    }

    pub(crate) async fn deploy(&self, template: &str, name: &str) -> VappId {
        let template = self.template(template).await.unwrap();
        let ask = vapp::Deploy { name: name.into(), power_on: true, ..vapp::Deploy::default() };
        vapp::deploy(&self.app.domain, &self.admin, self.acme.vdc("prod"), template.id, ask).await.unwrap().vapp
    }

    pub(crate) async fn vms(&self, id: VappId) -> Vec<Vm> {
        vapp::with_vms(&self.app.domain, &self.admin, id).await.unwrap().1
    }

    pub(crate) async fn vm(&self, id: VmId) -> Vm {
        vm::get(&self.app.domain, &self.admin, id).await.unwrap()
    }

    pub(crate) async fn running(&self, id: VappId) -> Vec<Vm> {
        self.until("running VMs", async || self.vms(id).await.iter().all(|v| v.state() == VmState::Running)).await;
        self.vms(id).await
    }

    pub(crate) fn object(&self, vm: &Vm) -> Option<Value> {
        self.hubs.hub("one").object(VMS.0, VMS.1, &vm.namespace, &vm.hub_name).map(|o| (*o).clone())
    }

    pub(crate) async fn task_of(&self, object: uuid::Uuid, action: Action) -> (TaskStatus, String) {
        let sql = format!(
            "select status || '|' || message from tasks where object_id = '{object}' and operation = '{}' order by started_at desc limit 1",
            action.key()
        );
        let row = self.app.db.text(&sql).await;
        let (status, message) = row.split_once('|').unwrap();
        (TaskStatus::parse(status).unwrap(), message.to_owned())
    }
}
