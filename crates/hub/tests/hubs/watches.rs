//! Following what happens on a hub.
use crate::world::{OnHub, any_world, place, vm_key, world};
use hub::{
    Error, Key,
    read::{self, VmPart},
    resource::VIRTUAL_MACHINES,
    shape::{
        names::ours,
        patch::{self, RunStrategy},
    },
    watch::{Event, Follow, Watcher},
};
use hubsim::Fault;
use serde_json::{Value, json};
use std::time::Duration;

type Vms = Watcher<VmPart, fn(&Value) -> Option<VmPart>>;

fn follow(w: &impl OnHub) -> Vms {
    with(w, |_| {})
}

fn with(w: &impl OnHub, change: impl FnOnce(&mut Follow)) -> Vms {
    let mut follow = Follow::new(VIRTUAL_MACHINES, ours());
    change(&mut follow);
    w.client().watch(follow, read::vm as fn(&Value) -> Option<VmPart>)
}

/// The next event that says something.
async fn next(watcher: &mut Vms) -> Event<VmPart> {
    loop {
        let event = tokio::time::timeout(Duration::from_secs(15), watcher.next()).await.expect("something happens");
        if !matches!(event, Event::Alive(_)) {
            return event;
        }
    }
}

/// The next that is no trouble.
async fn next_good(watcher: &mut Vms) -> Event<VmPart> {
    loop {
        match next(watcher).await {
            Event::Trouble(_) => {}
            event => return event,
        }
    }
}

fn keys(event: &Event<VmPart>) -> Vec<Key> {
    match event {
        Event::Snapshot(all) => all.iter().map(|v| v.meta.key.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

fn changed(event: Event<VmPart>) -> VmPart {
    match event {
        Event::Changed(part) => part,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_vms_life_is_seen_from_beginning_to_end() {
    let w = any_world().await;
    w.home().await;
    w.make_vm(10).await.expect("made");
    let mut watcher = follow(&w);
    assert_eq!(keys(&next(&mut watcher).await), [vm_key(10)]);
    let made = w.make_vm(11).await.expect("made");
    assert_eq!(changed(next(&mut watcher).await).meta.uid, made.uid);
    let on = patch::power(&made.uid, RunStrategy::Always);
    w.client.patch_fenced(&VIRTUAL_MACHINES, &vm_key(11), &made.uid, on).await.expect("patched");
    assert_eq!(changed(next(&mut watcher).await).run_strategy, "Always");
    let how = hub::apply::Propagation::Background;
    w.client.delete_fenced(&VIRTUAL_MACHINES, &vm_key(11), &made.uid, how).await.expect("deleted");
    assert_eq!(next(&mut watcher).await, Event::Gone { key: vm_key(11), uid: made.uid });
}

#[tokio::test]
async fn a_vm_that_lost_its_label_is_not_gone() {
    let w = world().await;
    w.home().await;
    let made = w.make_vm(10).await.expect("made");
    let mut watcher = follow(&w);
    next(&mut watcher).await;
    let key = vm_key(10);
    w.sim
        .edit("kubevirt.io", "virtualmachines", &key.namespace, &key.name, |o| {
            o["metadata"]["labels"] = json!({"x": "y"})
        })
        .expect("an edit");
    let part = changed(next(&mut watcher).await);
    assert_eq!((part.meta.uid, part.meta.ids.ours), (made.uid, false));
}

#[tokio::test]
async fn a_cut_watch_goes_on_where_it_was() {
    let w = world().await;
    w.home().await;
    let mut watcher = follow(&w);
    assert!(keys(&next(&mut watcher).await).is_empty());
    w.sim.faults().set(Fault::WatchCut, true);
    w.make_vm(10).await.expect("made");
    w.make_vm(11).await.expect("made");
    w.sim.faults().clear();
    assert_eq!(changed(next_good(&mut watcher).await).meta.key, vm_key(10));
    assert_eq!(changed(next_good(&mut watcher).await).meta.key, vm_key(11));
}

#[tokio::test]
async fn a_watch_whose_connection_breaks_is_opened_again_without_a_word() {
    let w = world().await;
    w.home().await;
    let mut watcher = follow(&w);
    assert!(keys(&next(&mut watcher).await).is_empty());
    for n in 10..13 {
        w.sim.faults().break_connections();
        // our own call may come on one that has just broken
        while w.make_vm(n).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(changed(next(&mut watcher).await).meta.key, vm_key(n));
    }
}

#[tokio::test]
async fn forgotten_history_is_answered_with_a_new_list() {
    let w = world().await;
    w.home().await;
    let mut watcher = follow(&w);
    assert!(keys(&next(&mut watcher).await).is_empty());
    w.sim.faults().set(Fault::Refuse, true);
    let event = next(&mut watcher).await;
    assert!(matches!(event, Event::Trouble(Error::Unreachable { .. })), "{event:?}");
    w.sim.faults().clear();
    // our own client is refused for a moment still: the circuit may be open
    while w.make_vm(10).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    w.sim.forget_history();
    assert_eq!(keys(&next_good(&mut watcher).await), [vm_key(10)]);
}

#[tokio::test]
async fn everything_is_listed_again_now_and_then() {
    let w = any_world().await;
    w.home().await;
    let mut watcher = with(&w, |f| f.relist = Duration::from_millis(300));
    assert!(keys(&next(&mut watcher).await).is_empty());
    assert!(keys(&next(&mut watcher).await).is_empty());
    w.make_vm(10).await.expect("made");
    let mut seen = false;
    for _ in 0..3 {
        seen |= matches!(next(&mut watcher).await, Event::Snapshot(all) if all.len() == 1);
    }
    assert!(seen);
}

#[tokio::test]
async fn a_silent_watch_is_opened_anew() {
    let w = any_world().await;
    w.home().await;
    let mut watcher = with(&w, |f| f.silence = Duration::from_millis(200));
    next(&mut watcher).await;
    let event = next(&mut watcher).await;
    assert!(matches!(&event, Event::Trouble(e) if e.to_string().contains("silent")), "{event:?}");
    w.make_vm(10).await.expect("made");
    assert_eq!(changed(next_good(&mut watcher).await).meta.key, vm_key(10));
}

#[tokio::test]
async fn waiting_for_the_next_event_can_be_broken_off_without_losing_one() {
    let w = any_world().await;
    w.home().await;
    let mut watcher = follow(&w);
    next(&mut watcher).await;
    for n in 10..30 {
        w.make_vm(n).await.expect("made");
    }
    let mut seen = Vec::new();
    while seen.len() < 20 {
        // impatient on purpose; connecting takes longer than the rest
        let patience = Duration::from_millis(if seen.is_empty() { 50 } else { 1 });
        if let Ok(Event::Changed(part)) = tokio::time::timeout(patience, watcher.next()).await {
            seen.push(part.meta.key);
        }
        tokio::task::yield_now().await;
    }
    let expected: Vec<Key> = (10..30).map(vm_key).collect();
    assert_eq!(seen, expected);
    assert_eq!(*place().namespace, *seen[0].namespace);
}
