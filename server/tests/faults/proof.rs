//! The oracle is held to its word: every promise is broken by hand, and it must say so.
use crate::{
    oracle,
    stage::{KUBEVIRT, Stage},
    witness::uid,
};
use serde_json::{Value, json};

async fn says(stage: &Stage, invariant: &str, broken: &str) {
    let found = oracle::check(stage, false).await;
    let named: Vec<&str> = found.iter().map(|f| f.invariant).collect();
    assert!(named.contains(&invariant), "{broken}: {invariant} is not among {found:#?}");
}

async fn is_well(stage: &Stage, after: &str) {
    let found = oracle::check(stage, false).await;
    assert!(found.is_empty(), "after {after}: {found:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_oracle_finds_every_broken_promise() {
    let stage = Stage::set().await;
    // the agent inside the guest comes when it comes, and is asked then
    let unasked = format!("vms where id = '{}' and guest_at is null", stage.steady);
    stage.until("what the guest tells", async || stage.app.db.count(&unasked).await == 0).await;
    crate::run::rest(&stage, false, std::time::Duration::from_secs(20)).await;
    stage.upload("proof", false).await.unwrap();
    // nobody is there to mend what is broken
    stage.have(0).await;
    is_well(&stage, "nothing").await;
    let (db, steady) = (&stage.app.db, stage.steady);
    let (namespace, name) = stage.place_of(steady).await;

    for (invariant, breaks, mends) in [
        (
            "I1",
            format!("update vms set applied = 0 where id = '{steady}'"),
            format!("update vms set applied = generation where id = '{steady}'"),
        ),
        (
            "I1",
            format!("insert into work (kind, id, org_id) select 'vm', id, org_id from vms where id = '{steady}'"),
            "delete from work".into(),
        ),
        (
            "I1",
            format!("update vms set memory_mb = 2048 where id = '{steady}'"),
            format!("update vms set memory_mb = 1024 where id = '{steady}'"),
        ),
        ("I1", "update tasks set status = 'error'".into(), "update tasks set status = 'success'".into()),
        ("I1", "update vdcs set enabled = false".into(), "update vdcs set enabled = true".into()),
        (
            "I1",
            format!("update vms set problem = 'x' where id = '{steady}'"),
            format!("update vms set problem = '' where id = '{steady}'"),
        ),
        (
            "I3",
            format!("update vms set uid = 'x' where id = '{steady}'"),
            format!("update vms set uid = '{}' where id = '{steady}'", uid(&stage.object_of(steady).await.unwrap())),
        ),
        (
            "I3",
            format!("update vms set gone_at = now() where id = '{steady}'"),
            format!("update vms set gone_at = null where id = '{steady}'"),
        ),
        (
            "I3",
            "with v as (update item_versions set deleted_at = now())
             insert into hub_images (id, image_id, hub_id) select gen_random_uuid(), id, 'one' from images"
                .into(),
            "with h as (delete from hub_images) update item_versions set deleted_at = null".into(),
        ),
        ("I4", "update vdcs set cpus_used = cpus_used + 1".into(), "update vdcs set cpus_used = cpus_used - 1".into()),
        ("I4", "update users set vms_used = vms_used + 1".into(), "update users set vms_used = vms_used - 1".into()),
        ("I5", "update tasks set status = 'running'".into(), "update tasks set status = 'success'".into()),
        (
            "I8",
            format!("update vms set power = 'off' where id = '{steady}'"),
            format!("update vms set power = 'on' where id = '{steady}'"),
        ),
    ] {
        db.execute(&breaks).await;
        says(&stage, invariant, &breaks).await;
        db.execute(&mends).await;
        is_well(&stage, &breaks).await;
    }

    *stage.counts.lock().unwrap().accepted.entry("vm.power_on").or_default() += 1;
    says(&stage, "I6", "an accepted change without a row in the audit").await;
    stage.counts.lock().unwrap().accepted.remove("vm.power_on");
    db.execute("insert into events (id, org_id, kind, object_kind, object_id, object_name, user_name, message) select '00000000-0000-4000-8000-000000000001', org_id, kind, object_kind, object_id, object_name, user_name, message from events where user_name <> 'hub' limit 1").await;
    says(&stage, "I6", "two events of one change").await;
    db.execute("delete from events where id = '00000000-0000-4000-8000-000000000001'").await;
    is_well(&stage, "the audit").await;

    let (one, two) = (stage.hub("one"), stage.hub("two"));
    let label = |key: &'static str, value: Value| move |o: &mut Value| o["metadata"]["labels"][key] = value;
    let org = stage.object_of(steady).await.unwrap()["metadata"]["labels"]["ssvirt.io/organization-id"].clone();
    one.edit(KUBEVIRT, "virtualmachines", &namespace, &name, label("ssvirt.io/organization-id", json!("x"))).unwrap();
    says(&stage, "I7", "another organization's label").await;
    one.edit(KUBEVIRT, "virtualmachines", &namespace, &name, label("ssvirt.io/organization-id", org)).unwrap();
    is_well(&stage, "the label").await;

    let mut copy = stage.object_of(steady).await.unwrap();
    copy["spec"]["runStrategy"] = "Halted".into();
    copy["metadata"]["finalizers"] = Value::Null;
    let planted = two.plant(KUBEVIRT, "virtualmachines", copy.clone()).unwrap();
    says(&stage, "I2", "the same machine on two hubs").await;
    stage.witness.by_hand(&uid(&planted));
    two.remove(KUBEVIRT, "virtualmachines", &namespace, &name).unwrap();
    is_well(&stage, "the copy").await;

    copy["metadata"]["name"] = "lost".into();
    copy["metadata"]["labels"]["ssvirt.io/vm-id"] = json!(uuid::Uuid::now_v7());
    let planted = two.plant(KUBEVIRT, "virtualmachines", copy).unwrap();
    says(&stage, "I3", "an object that nobody knows").await;
    stage.witness.by_hand(&uid(&planted));
    two.remove(KUBEVIRT, "virtualmachines", &namespace, "lost").unwrap();
    is_well(&stage, "the lost object").await;

    // from here on what is broken stays broken
    db.execute(&format!("update vms set obs_state = 'stopped' where id = '{steady}'")).await;
    db.execute(&format!("update vms set obs_state = 'running' where id = '{steady}'")).await;
    says(&stage, "silence", "a machine that looked stopped for a moment").await;
    for hub in [one, two] {
        let instance = json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": "twin", "namespace": "default", "labels": {"ssvirt.io/vm-id": "twin"}}, "status": {"phase": "Running"},
        });
        hub.plant(KUBEVIRT, "virtualmachineinstances", instance).unwrap();
    }
    says(&stage, "I2", "a machine that runs on two hubs").await;
    one.remove(KUBEVIRT, "virtualmachines", &namespace, "somebody-elses").unwrap();
    let found = oracle::check(&stage, false).await;
    assert!(found.iter().any(|f| f.what.contains("somebody-elses")), "{found:#?}");
    one.remove(KUBEVIRT, "virtualmachines", &namespace, &name).unwrap();
    let found = oracle::check(&stage, false).await;
    assert!(found.iter().any(|f| f.invariant == "I9" && f.what.contains(&steady.to_string())), "{found:#?}");
}
