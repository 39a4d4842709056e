//! Screens of VMs: opened on a connection of their own, for one viewer at a time, and pictures of them.
use crate::world::{OnHub, World, vm, vm_key, vm_owner, world};
use hub::{
    Error, Key,
    client::Viewing,
    error::Reach,
    resource::VIRTUAL_MACHINES,
    shape::{
        patch::{self, RunStrategy},
        vm::virtual_machine,
    },
};
use hubsim::{
    Fault,
    actors::{self, Actors},
};
use std::time::Duration;

struct Stage {
    w: World,
    key: Key,
    uid: String,
    _actors: Actors,
}

impl Stage {
    async fn power(&self, strategy: RunStrategy) {
        let patch = patch::power(&self.uid, strategy);
        self.w.client.patch_fenced(&VIRTUAL_MACHINES, &self.key, &self.uid, patch).await.expect("patched");
    }

    /// A VM that runs.
    async fn set() -> Stage {
        let w = world().await;
        let options = actors::Options { delay: Duration::ZERO, clock: w.sim.clock(), ..actors::Options::default() };
        actors::furnish(w.sim.inside(), w.sim.flavour()).await.expect("furnished");
        let actors = actors::attach(&w.sim, &options);
        w.home().await;
        let made = w.client.create_or_adopt(&VIRTUAL_MACHINES, &virtual_machine(&vm(7)), &vm_owner(7), None).await;
        let stage = Stage { key: vm_key(7), uid: made.expect("a VM").uid, w, _actors: actors };
        stage.power(RunStrategy::Always).await;
        stage.until(|phase| phase == "Running").await;
        stage
    }

    async fn until(&self, reached: impl Fn(&str) -> bool) {
        for _ in 0..400 {
            let vmi = self.w.sim.object("kubevirt.io", "virtualmachineinstances", &self.key.namespace, &self.key.name);
            let phase = vmi.as_ref().and_then(|o| o["status"]["phase"].as_str()).unwrap_or_default();
            if reached(phase) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("the VM did not come to it");
    }
}

#[tokio::test]
async fn a_screen_speaks_first_and_ends_when_its_machine_stops() {
    let stage = Stage::set().await;
    let c = &stage.w.client;
    let (mut from, mut to) = c.vnc(&stage.key, &stage.uid, Viewing::TakeOver).await.expect("a screen").split();
    assert_eq!(from.next().await.expect("bytes").as_deref(), Some(b"RFB 003.008\n".as_slice()));
    to.ping().await.expect("pinged");
    to.send(b"RFB 003.008\n".to_vec().into()).await.expect("sent");
    assert_eq!(from.next().await.expect("bytes").as_deref(), Some([1, 1].as_slice()));
    stage.power(RunStrategy::Halted).await;
    stage.until(str::is_empty).await;
    assert!(!matches!(from.next().await, Ok(Some(_))), "it goes with the machine");
    let refused = c.vnc(&stage.key, &stage.uid, Viewing::TakeOver).await.err();
    assert!(matches!(refused, Some(Error::NotFound(_) | Error::NotNow(_))), "{refused:?}");
}

#[tokio::test]
async fn there_is_one_viewer_and_a_picture_disturbs_nobody() {
    let stage = Stage::set().await;
    let c = &stage.w.client;
    let png = c.picture(&stage.key, &stage.uid).await.expect("a picture");
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(png[16..24], [0, 0, 2, 128, 0, 0, 1, 144], "640 by 400");
    // the viewer that the picture was goes a moment later
    let mut first = None;
    for _ in 0..100 {
        first = c.vnc(&stage.key, &stage.uid, Viewing::Gently).await.ok();
        if first.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (mut first, _to) = first.expect("a screen").split();
    first.next().await.expect("bytes");
    let refused = c.picture(&stage.key, &stage.uid).await.expect_err("somebody looks");
    assert_eq!(refused, Error::NotNow("somebody else looks at its screen".into()));
    assert!(c.health().last_error.is_none(), "that is no fault of the hub's");
    let (mut second, _to) = c.vnc(&stage.key, &stage.uid, Viewing::TakeOver).await.expect("a screen").split();
    second.next().await.expect("bytes");
    assert!(!matches!(first.next().await, Ok(Some(_))), "the first one was put out");
}

#[tokio::test]
async fn strangers_and_dead_hubs_open_nothing_and_nothing_waits_for_ever() {
    let stage = Stage::set().await;
    let c = &stage.w.client;
    let other = c.vnc(&stage.key, "another-uid", Viewing::TakeOver).await.err();
    assert!(matches!(other, Some(Error::NotOurs(_))), "{other:?}");
    let missing = c.vnc(&Key::new(&stage.key.namespace, "none"), &stage.uid, Viewing::TakeOver).await.err();
    assert!(matches!(missing, Some(Error::NotFound(_))), "{missing:?}");
    stage.w.sim.faults().set(Fault::Forbidden, true);
    let forbidden = c.vnc(&stage.key, &stage.uid, Viewing::TakeOver).await.err();
    assert!(matches!(forbidden, Some(Error::Forbidden(_))), "{forbidden:?}");
    stage.w.sim.faults().clear();
    stage.w.sim.faults().set(Fault::BlackHole, true);
    let silent = c.vnc(&stage.key, &stage.uid, Viewing::TakeOver).await.err();
    assert!(matches!(silent, Some(Error::Unreachable { why: Reach::Timeout, .. })), "{silent:?}");
}
