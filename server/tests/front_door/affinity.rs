//! Affinity rules of a VDC, from the form to the terms that its VMs carry on their hub.
use crate::stage::Stage;
use domain::{affinity, vm};
use model::{Action, VmId, affinity::AffinitySpec, vm::Vm};
use serde_json::Value;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn rule(name: &str, together: bool, mandatory: bool, vms: &[VmId]) -> AffinitySpec {
    AffinitySpec { name: name.into(), together, mandatory, enabled: true, vms: vms.to_vec() }
}

impl Stage {
    fn affinity(&self, vm: &Vm) -> Value {
        self.object(vm).unwrap()["spec"]["template"]["spec"]["affinity"].clone()
    }
}

#[tokio::test]
async fn a_rule_is_carried_by_its_vms_and_goes_with_it() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    let ids: Vec<VmId> = vms.iter().map(|v| v.id).collect();
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let vdc = stage.acme.vdc("prod");
    let (at, form) = (format!("/tenant/acme/vdcs/{vdc}"), format!("/tenant/acme/vdcs/{vdc}/affinity"));
    let back = page.fill(&form, &[("name", "alone"), ("vms", &ids[0].to_string())]).await.must(422);
    assert!(back.error_of("vms").unwrap().starts_with("At least two VMs"));
    assert_eq!(back.field("name").as_deref(), Some("alone"));
    let both = [("name", "spread"), ("polarity", "apart"), ("mandatory", "on"), ("enabled", "on")];
    let typed: Vec<(&str, String)> =
        both.iter().map(|(k, v)| (*k, (*v).to_owned())).chain(ids.iter().map(|id| ("vms", id.to_string()))).collect();
    let typed: Vec<(&str, &str)> = typed.iter().map(|(k, v)| (*k, v.as_str())).collect();
    page.post(&form, &typed).await.must(303);
    for one in &vms {
        stage.until("its term", async || stage.affinity(one)["podAntiAffinity"][REQUIRED].is_array()).await;
        let terms = stage.affinity(one);
        let named = &terms["podAntiAffinity"][REQUIRED][0]["labelSelector"]["matchExpressions"][0];
        let other = ids.iter().find(|id| **id != one.id).unwrap();
        assert_eq!(named["values"], serde_json::json!([other.to_string()]), "the other one, by its label");
    }
    page.get(&at).await.must(200).says("spread").says("Apart, always").says("at the next start of");
    assert!(stage.vm(vms[0].id).await.outside.is_empty(), "nobody changed it by hand");

    let made = affinity::of_vdc(d, admin, vdc).await.unwrap().remove(0);
    affinity::edit(d, admin, made.id, made.version, AffinitySpec { mandatory: false, ..made.spec() }).await.unwrap();
    stage.until("a wish", async || stage.affinity(&vms[0])["podAntiAffinity"][PREFERRED].is_array()).await;
    affinity::delete(d, admin, made.id).await.unwrap();
    for one in &vms {
        stage.until("its end", async || stage.affinity(one)["podAntiAffinity"].is_null()).await;
    }
    page.get(&at).await.must(200).says_not("Apart, ");
}

#[tokio::test]
async fn rules_do_not_contradict_each_other() {
    let stage = Stage::set().await;
    let (d, admin, vdc) = (&stage.app.domain, &stage.admin, stage.acme.vdc("prod"));
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    let ids: Vec<VmId> = vms.iter().map(|v| v.id).collect();
    let first = affinity::create(d, admin, vdc, rule("near", true, true, &ids)).await.unwrap();
    let refused = affinity::create(d, admin, vdc, rule("far", false, false, &ids)).await.unwrap_err();
    assert!(refused.fields()[0].message.contains("The rule near keeps"), "{refused}");
    let taken = affinity::create(d, admin, vdc, rule("NEAR", true, true, &ids)).await.unwrap_err();
    assert_eq!(taken.fields()[0].field, "name");
    // what is off asks for nothing, and can't be switched on against another
    let off = AffinitySpec { enabled: false, ..rule("far", false, false, &ids) };
    let far = affinity::create(d, admin, vdc, off).await.unwrap();
    let now = d.store.affinity(admin, Action::AffinityEdit, far).await.unwrap().into_inner();
    let on = AffinitySpec { enabled: true, ..now.spec() };
    assert!(affinity::edit(d, admin, far, now.version, on).await.is_err());
    let stale = affinity::edit(d, admin, far, now.version + 7, now.spec()).await.unwrap_err();
    assert!(matches!(stale, model::Error::Conflict(_)), "{stale}");

    // one that is deleted leaves its rules
    vm::delete(d, admin, ids[0]).await.unwrap();
    let left = d.store.affinity(admin, Action::AffinityEdit, first).await.unwrap().into_inner();
    assert!(left.idle() && left.vms.len() == 1);
    let page = stage.app.sign_in("acme", "acme-admin").await;
    page.get(&format!("/tenant/acme/vdcs/{vdc}")).await.must(200).says("Does nothing");
}

#[tokio::test]
async fn vms_that_are_not_in_one_place_are_not_kept_together() {
    let stage = Stage::set().await;
    let (d, admin, vdc) = (&stage.app.domain, &stage.admin, stage.acme.vdc("prod"));
    let (a, b) = (stage.deploy("ubuntu-24.04", "a").await, stage.deploy("ubuntu-24.04", "b").await);
    let (a, b) = (stage.running(a).await.remove(0), stage.running(b).await.remove(0));
    let (other, hubs) = ("update vms set hub_id = 'two' where id =", [a.id, b.id]);
    stage.app.db.execute(&format!("{other} '{}'", b.id)).await;
    let refused = affinity::create(d, admin, vdc, rule("near", true, true, &hubs)).await.unwrap_err();
    assert!(refused.fields()[0].message.starts_with("a and b are not in one place"), "{refused}");
    affinity::create(d, admin, vdc, rule("wish", true, false, &hubs)).await.unwrap();
    affinity::create(d, admin, stage.app.vdc(stage.acme.id, "other").await, rule("x", true, false, &hubs))
        .await
        .unwrap_err();
}
