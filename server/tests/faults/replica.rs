//! A replica of the controller: in this process, or as a process of its own that can be killed and frozen.
use crate::harness::TestApp;
use domain::{Gate, Store, Vault, system_clock};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;
use work::{Config, Controller, Times};

pub(crate) enum Replica {
    Inside { controller: Option<Controller>, follower: JoinHandle<()>, store: Store },
    Process(Owned),
}

/// A process that does not outlive the test.
pub(crate) struct Owned(Child);

impl Replica {
    /// With connections of its own, as a process of its own would have them.
    pub(crate) fn inside(app: &TestApp, clock_off: time::Duration) -> Replica {
        let store = Store::open(&app.db.url, 6).unwrap();
        let follower = tokio::spawn({
            let store = store.clone();
            async move { store.follow_changes().await }
        });
        let now = system_clock();
        let config = Config {
            vault: Vault::new(store.clone(), TestApp::SECRET),
            store: store.clone(),
            gate: Gate::open(),
            clock: Arc::new(move || now() + clock_off),
            times: Times::quick(),
            template_namespaces: vec!["openshift".into()],
            image_namespaces: vec!["openshift-virtualization-os-images".into()],
        };
        Replica::Inside { controller: Some(Controller::start_with(config, app.domain.area.clone())), follower, store }
    }

    /// `ssvirt start controller`; `drill` is what it is to do to itself.
    pub(crate) fn process(app: &TestApp, drill: &str) -> Replica {
        let orders = if drill.is_empty() { "quick".to_owned() } else { format!("quick,{drill}") };
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssvirt"));
        command
            .args(["start", "controller"])
            .env_clear()
            .env("DATABASE_URL", &app.db.url)
            .env("JWT_SECRET_KEY", TestApp::SECRET)
            .env("SSVIRT_IMAGES_DIRECTORY", TestApp::area(&app.db))
            .env("SSVIRT_DRILL", orders)
            .env("LOG_LEVEL", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Replica::Process(Owned(command.spawn().unwrap()))
    }

    /// Its connections to the database, where they can be reached from here.
    pub(crate) fn store(&self) -> Option<Store> {
        match self {
            Replica::Inside { store, .. } => Some(store.clone()),
            Replica::Process(_) => None,
        }
    }

    /// Nothing is given back, and nothing ends in order.
    pub(crate) async fn kill(self) {
        match self {
            Replica::Inside { controller, follower, store } => {
                drop(controller);
                follower.abort();
                // the connections of a dead process end too
                let _ = tokio::time::timeout(Duration::from_millis(200), store.close()).await;
            }
            Replica::Process(child) => drop(child),
        }
    }

    /// Waits until it killed itself. False: it lives.
    pub(crate) async fn dies(&mut self, within: Duration) -> bool {
        let Replica::Process(Owned(child)) = self else { return false };
        let end = Instant::now() + within;
        while Instant::now() < end {
            if let Some(status) = child.try_wait().unwrap() {
                assert_eq!(status.signal(), Some(9), "a replica ended by itself: {status}");
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    /// Waits until it froze itself. False: it still moves.
    pub(crate) async fn freezes(&mut self, within: Duration) -> bool {
        let Replica::Process(Owned(child)) = self else { return false };
        let end = Instant::now() + within;
        let file = format!("/proc/{}/stat", child.id());
        while Instant::now() < end {
            // the state comes after the command's name in brackets
            let stat = std::fs::read_to_string(&file).unwrap_or_default();
            if stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if let Replica::Process(Owned(child)) = self {
            kill_process(Pid::from_child(child), signal).unwrap();
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
