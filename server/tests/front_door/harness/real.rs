//! Real API servers as hubs: `xtask kube` starts them and names their folder in `SSVIRT_KUBE`. A test has one for itself, and the
//! next one gets it as it was at first.
use super::hub::quick;
use hubsim::actors::Real;
use std::{
    ops::Deref,
    path::PathBuf,
    sync::{LazyLock, Mutex, PoisonError},
};
use tokio::{runtime::Runtime, sync::Semaphore};

/// Actors live longer than a test, and answer while a test waits for its hub.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());
static POOL: LazyLock<Pool> = LazyLock::new(Pool::find);

struct Pool {
    free: Mutex<Vec<Slot>>,
    count: Semaphore,
}

enum Slot {
    Fresh(PathBuf),
    Used(Real),
    /// Why nobody can use it.
    Broken(String),
}

pub(super) fn wanted() -> bool {
    folder().is_some()
}

#[expect(clippy::disallowed_methods, reason = "tests have no settings of their own")]
fn folder() -> Option<PathBuf> {
    std::env::var_os("SSVIRT_KUBE").map(PathBuf::from)
}

impl Pool {
    fn find() -> Pool {
        let all = std::fs::read_dir(folder().expect("SSVIRT_KUBE is set by `xtask kube`"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let all: Vec<Slot> = all.filter(|path| path.join("hub.kubeconfig").exists()).map(Slot::Fresh).collect();
        assert!(!all.is_empty(), "there is no hub in the folder that SSVIRT_KUBE names");
        let count = Semaphore::new(all.len());
        Pool { free: Mutex::new(all), count }
    }

    fn give_back(&self, slot: Slot) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
        self.count.add_permits(1);
    }
}

/// A hub that is given back when it is dropped.
pub(crate) struct Lent(Option<Real>);

impl Deref for Lent {
    type Target = Real;

    fn deref(&self) -> &Real {
        self.0.as_ref().unwrap()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(real) = self.0.take() {
            POOL.give_back(Slot::Used(real));
        }
    }
}

/// Waits for one that no other test has.
pub(super) async fn take() -> Lent {
    let _ = rustls::crypto::ring::default_provider().install_default();
    POOL.count.acquire().await.unwrap().forget();
    let slot = POOL.free.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap();
    let ready = RUNTIME.spawn(async move {
        match slot {
            Slot::Fresh(folder) => Real::start(&folder, &quick()).await.map_err(|e| format!("{e:#}")),
            Slot::Used(real) => real.clean().await.map(|()| real).map_err(|e| format!("{e:#}")),
            Slot::Broken(why) => Err(why),
        }
    });
    match ready.await.unwrap() {
        Ok(real) => Lent(Some(real)),
        Err(why) => {
            POOL.give_back(Slot::Broken(why.clone()));
            panic!("a real hub cannot be used: {why}");
        }
    }
}

/// The answer to a question that a test asks in the middle of a line.
pub(super) fn now<T: Send>(asked: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|threads| threads.spawn(|| RUNTIME.block_on(asked)).join().unwrap())
}
