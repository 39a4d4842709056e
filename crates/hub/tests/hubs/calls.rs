//! Creating, changing and deleting as the reliability protocol has it.
use crate::world::{OnHub, any_world, place, vdc_owner, vm, vm_key, vm_owner, world};
use hub::{
    Error, Key, Verdict,
    apply::{Deleted, Home, Owner, Propagation},
    read,
    resource::{NAMESPACES, NETWORK_POLICIES, RESOURCE_QUOTAS, SECRETS, VIRTUAL_MACHINES},
    shape::{
        cloud_init::CloudInit,
        guest::{Told, secret},
        names::VM_ID,
        namespace::{self, Egress},
        patch::{self, RunStrategy},
        vm::{Size, virtual_machine},
    },
};
use model::quota::Limits;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn all_of_a_vdc_and_a_vm_is_made_once_and_found_again() {
    let w = any_world().await;
    assert_eq!(w.client.ping().await.as_deref(), Ok("v1.35.8"));
    let home = w.home().await;
    let limits = Limits { vms: Some(5), cpus: Some(8), memory_mb: Some(8192), storage_mb: Some(102_400) };
    let init = CloudInit { hostname: "web".into(), ..CloudInit::default() };
    let told = Told { cloud_init: Some(init), ..Told::default() };
    let mut all = vec![
        (&NAMESPACES, namespace::namespace(&place(), true, false), vdc_owner()),
        (&RESOURCE_QUOTAS, namespace::resource_quota(&place(), &limits, &[]), vdc_owner()),
        (&SECRETS, secret(&vm(10).identity, &told).expect("good"), vm_owner(10)),
        (&VIRTUAL_MACHINES, virtual_machine(&vm(10)), vm_owner(10)),
    ];
    all.extend(network_policies());
    for (i, (resource, manifest, owner)) in all.iter().enumerate() {
        let in_home = resource.namespaced.then_some(&home);
        let first = w.client.create_or_adopt(resource, manifest, owner, in_home).await.expect(resource.kind);
        let second = w.client.create_or_adopt(resource, manifest, owner, in_home).await.expect(resource.kind);
        assert_eq!(first.adopted, i == 0, "{} (the namespace is home's)", resource.kind);
        assert!(second.adopted && second.uid == first.uid, "{}", resource.kind);
    }
    assert_eq!(w.vm_on_hub(10).await.expect("it is there")["spec"]["runStrategy"], "Halted");
    assert_eq!(w.vms().await, 1);
}

fn network_policies() -> Vec<(&'static hub::Resource, serde_json::Value, Owner)> {
    let all = namespace::network_policies(&place(), Egress::Inside);
    all.into_iter().map(|p| (&NETWORK_POLICIES, p, vdc_owner())).collect()
}

#[tokio::test]
async fn a_lost_answer_makes_no_second_vm() {
    let w = world().await;
    w.home().await;
    w.sim.faults().lose_replies(1);
    let made = w.make_vm(10).await.expect("found after all");
    assert!(made.adopted);
    assert_eq!(w.vms().await, 1);
    let again = w.make_vm(10).await.expect("still there");
    assert_eq!(again.uid, made.uid);
}

#[tokio::test]
async fn two_workers_at_once_make_one_vm() {
    let w = any_world().await;
    w.home().await;
    let all = futures::future::join_all((0..8).map(|_| w.make_vm(10))).await;
    let uids: std::collections::BTreeSet<String> =
        all.iter().map(|m| m.clone().expect("made or adopted").uid).collect();
    assert_eq!(uids.len(), 1);
    assert_eq!(all.iter().filter(|m| m.as_ref().is_ok_and(|m| !m.adopted)).count(), 1);
}

#[tokio::test]
async fn a_full_quota_does_not_hide_that_the_vm_is_there() {
    let w = any_world().await;
    w.home().await;
    let made = w.make_vm(10).await.expect("made");
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "tight", "namespace": place().namespace,
        "labels": place().labels()}, "spec": {"hard": {"count/virtualmachines.kubevirt.io": "1"}}});
    w.client.create_or_adopt(&RESOURCE_QUOTAS, &quota, &vdc_owner(), None).await.expect("a quota");
    let key = Key::new(place().namespace, "tight");
    for _ in 0..100 {
        let quota = w.client.get(&RESOURCE_QUOTAS, &key).await.expect("there");
        if quota["status"]["used"].is_object() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(w.make_vm(10).await.map(|m| (m.uid, m.adopted)), Ok((made.uid, true)));
    let refused = w.make_vm(11).await.expect_err("full");
    assert!(matches!(&refused, Error::OverQuota(m) if m.contains("exceeded quota: tight")), "{refused:?}");
    assert!(matches!(refused.retry(), Verdict::Retry { .. }));
}

#[tokio::test]
async fn what_is_another_s_or_on_its_way_out_is_not_adopted() {
    let w = world().await;
    w.home().await;
    w.make_vm(10).await.expect("made");
    let key = vm_key(10);
    // somebody else's object of that name
    let edit = |change: fn(&mut serde_json::Value)| {
        w.sim.edit("kubevirt.io", "virtualmachines", &key.namespace, &key.name, change).expect("an edit")
    };
    edit(|o| o["metadata"]["labels"][VM_ID] = json!("00000000-0000-0000-0000-0000000000ff"));
    let taken = w.make_vm(10).await.expect_err("another's");
    assert!(matches!(taken, Error::NameTaken(_)), "{taken:?}");
    assert_eq!(taken.retry(), Verdict::Fail);

    w.make_vm(11).await.expect("made");
    let uid = w.vm_on_hub(11).await.expect("there")["metadata"]["uid"].as_str().expect("a uid").to_owned();
    w.sim.faults().set(hubsim::Fault::StuckFinalizer, true);
    let told = w.client.delete_fenced(&VIRTUAL_MACHINES, &vm_key(11), &uid, Propagation::Background).await;
    assert_eq!(told, Ok(Deleted::UnderWay));
    let going = w.make_vm(11).await.expect_err("going");
    assert!(matches!(going, Error::BeingDeleted(_)), "{going:?}");
    let patched = w.client.patch_fenced(&VIRTUAL_MACHINES, &vm_key(11), &uid, json!({})).await;
    assert!(matches!(patched, Err(Error::BeingDeleted(_))), "a patch of what goes is no success: {patched:?}");
    w.sim.faults().clear();
    w.sim.release_stuck().expect("released");
    let again = w.make_vm(11).await.expect("waited out");
    assert!(!again.adopted && again.uid != uid);
}

#[tokio::test]
async fn nothing_is_put_into_a_namespace_that_is_not_the_vdcs_own() {
    let w = any_world().await;
    let home = w.home().await;
    let create = async |home: &Home| {
        w.client.create_or_adopt(&VIRTUAL_MACHINES, &virtual_machine(&vm(10)), &vm_owner(10), Some(home)).await
    };
    let other = Home { uid: "another".into(), ..home.clone() };
    assert!(matches!(create(&other).await, Err(Error::NotOurs(_))), "made again by somebody");
    let other = Home { vdc: uuid::Uuid::from_u128(99), ..home.clone() };
    assert!(matches!(create(&other).await, Err(Error::NotOurs(_))), "another VDC's");
    let other = Home { namespace: "lost".into(), ..home.clone() };
    assert!(matches!(create(&other).await, Err(Error::NotFound(_))));
    assert_eq!(w.vms().await, 0);
    assert!(create(&home).await.is_ok());
}

#[tokio::test]
async fn changes_touch_the_object_with_our_uid_and_no_other() {
    let w = any_world().await;
    w.home().await;
    let made = w.make_vm(10).await.expect("made");
    let (vms, key) = (&VIRTUAL_MACHINES, vm_key(10));
    let on = || patch::power(&made.uid, RunStrategy::RerunOnFailure);
    let after = w.client.patch_fenced(vms, &key, &made.uid, on()).await.expect("patched");
    assert_eq!(read::vm(&after).expect("a VM").run_strategy, "RerunOnFailure");
    let size = Size::Explicit { cpus: 4, cores_per_socket: 2, memory_mb: 4096 };
    let after = w.client.patch_fenced(vms, &key, &made.uid, patch::resize(&made.uid, &size)).await.expect("patched");
    assert_eq!(read::vm(&after).map(|v| (v.size.cpus, v.size.memory_mb)), Some((Some(4), Some(4096))));
    let typed = patch::resize(&made.uid, &Size::InstanceType("u1.small".into()));
    let after = w.client.patch_fenced(vms, &key, &made.uid, typed).await.expect("patched");
    let part = read::vm(&after).expect("a VM");
    assert_eq!((part.size.instance_type.as_deref(), part.size.cpus), (Some("u1.small"), None));

    for wrong in ["other-uid", ""] {
        let told = w.client.patch_fenced(vms, &key, wrong, on()).await;
        assert!(matches!(told, Err(Error::NotOurs(_))), "{wrong:?}: {told:?}");
        let told = w.client.delete_fenced(vms, &key, wrong, Propagation::Background).await;
        assert!(matches!(told, Err(Error::NotOurs(_))), "{wrong:?}: {told:?}");
    }
    assert_eq!(w.client.is_gone(vms, &key, &made.uid).await, Ok(false));
    assert_eq!(w.client.delete_fenced(vms, &key, &made.uid, Propagation::Background).await, Ok(Deleted::Gone));
    assert_eq!(w.client.delete_fenced(vms, &key, &made.uid, Propagation::Foreground).await, Ok(Deleted::Gone));
    assert_eq!(w.client.is_gone(vms, &key, &made.uid).await, Ok(true));
    let zombie = w.client.patch_fenced(vms, &key, &made.uid, on()).await;
    assert!(matches!(zombie, Err(Error::NotOurs(_))), "{zombie:?}");
    assert_eq!(w.vms().await, 0, "nothing came back from the dead");

    // a new one of the same name has another uid
    w.make_vm(10).await.expect("made again");
    let zombie = w.client.patch_fenced(vms, &key, &made.uid, on()).await;
    assert!(matches!(zombie, Err(Error::NotOurs(_))), "{zombie:?}");
    assert_eq!(w.client.is_gone(vms, &key, &made.uid).await, Ok(true));
    assert_eq!(w.vm_on_hub(10).await.expect("there")["spec"]["runStrategy"], "Halted");
}

#[tokio::test]
async fn an_object_is_found_by_its_label_wherever_it_is() {
    let w = any_world().await;
    w.home().await;
    w.make_vm(10).await.expect("made");
    w.make_vm(11).await.expect("made");
    let found = w.client.exists_anywhere(&VIRTUAL_MACHINES, &vm_owner(10)).await.expect("a list");
    assert_eq!(found.iter().map(|m| m.key.clone()).collect::<Vec<_>>(), [vm_key(10)]);
    assert_eq!(found[0].ids.vm, Some(uuid::Uuid::from_u128(10)));
    assert_eq!(w.client.exists_anywhere(&VIRTUAL_MACHINES, &vm_owner(12)).await, Ok(vec![]));
}

#[tokio::test]
async fn a_manifest_with_a_misspelt_field_or_without_its_label_is_not_made() {
    let w = any_world().await;
    w.home().await;
    let mut manifest = virtual_machine(&vm(10));
    manifest["spec"]["bogus"] = json!(1);
    let told = w.client.create_or_adopt(&VIRTUAL_MACHINES, &manifest, &vm_owner(10), None).await;
    assert!(matches!(&told, Err(Error::Denied { message, .. }) if message.contains("bogus")), "{told:?}");
    let told = w.client.create_or_adopt(&VIRTUAL_MACHINES, &virtual_machine(&vm(10)), &vm_owner(11), None).await;
    assert!(matches!(told, Err(Error::Odd(_))), "{told:?}");
    assert_eq!(w.vms().await, 0);
}

#[tokio::test]
async fn long_lists_come_in_pages_and_whole() {
    let w = world().await;
    w.home().await;
    let secret = |i: u32| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("s-{i}"),
        "namespace": place().namespace, "labels": place().labels()}})
    };
    let all = futures::future::join_all((0..1100).map(|i| async move { i })).await;
    for i in all {
        w.post(&format!("/api/v1/namespaces/{}/secrets", place().namespace), secret(i)).await;
    }
    let (found, version) =
        w.client.list(&SECRETS, Some(&place().namespace), "ssvirt.io/vdc=prod", read::meta).await.expect("a list");
    assert_eq!(found.len(), 1100);
    assert!(!version.is_empty());
}

#[tokio::test]
async fn late_workers_never_start_a_vm_that_was_deleted() {
    let w = any_world().await;
    w.home().await;
    let (vms, key) = (&VIRTUAL_MACHINES, vm_key(10));
    for round in 0..40 {
        let old = w.make_vm(10).await.expect("made");
        let zombie = async {
            for _ in 0..6 {
                let on = patch::power(&old.uid, RunStrategy::Always);
                if let Err(e) = w.client.patch_fenced(vms, &key, &old.uid, on).await {
                    assert!(matches!(e, Error::NotOurs(_) | Error::BeingDeleted(_)), "{e:?}");
                }
            }
        };
        let user = async {
            w.client.delete_fenced(vms, &key, &old.uid, Propagation::Background).await.expect("deleted");
            w.make_vm(10).await.expect("made again")
        };
        let (new, ..) = tokio::join!(user, zombie, async {
            let late = w.client.delete_fenced(vms, &key, &old.uid, Propagation::Background).await;
            assert!(matches!(late, Ok(_) | Err(Error::NotOurs(_))), "{late:?}");
        });
        let there = w.vm_on_hub(10).await.expect("the new one is there");
        assert_eq!(there["metadata"]["uid"], new.uid.as_str(), "round {round}");
        assert_eq!(there["spec"]["runStrategy"], "Halted", "round {round}");
        w.client.delete_fenced(vms, &key, &new.uid, Propagation::Background).await.expect("deleted");
    }
}
