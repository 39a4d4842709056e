use crate::harness::{World, vm, vms};
use serde_json::Value;
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

/// Starts so many machines; how long it took until all of them ran.
async fn start(world: &World, count: usize) -> Duration {
    let begin = Instant::now();
    for i in 0..count {
        world.make(vm(&format!("vm-{i}"), "Always")).await;
    }
    loop {
        let list = world.get(&vms()).await.json();
        let running = |vm: &&Value| vm["status"]["printableStatus"] == "Running";
        if list["items"].as_array().unwrap().iter().filter(running).count() == count {
            return begin.elapsed();
        }
        assert!(begin.elapsed() < Duration::from_secs(600), "not all of {count} machines run");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn addresses(world: &World) -> HashSet<String> {
    let list = world.get("/apis/kubevirt.io/v1/virtualmachineinstances").await.json();
    let address = |vmi: &Value| vmi["status"]["interfaces"][0]["ipAddress"].as_str().map(str::to_owned);
    list["items"].as_array().unwrap().iter().filter_map(address).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_machines_run_each_with_its_own_address() {
    let world = World::start().await;
    start(&world, 100).await;
    assert_eq!(addresses(&world).await.len(), 100);
}

#[tokio::test]
async fn a_hub_where_nothing_happens_is_left_alone() {
    let world = World::start().await;
    start(&world, 5).await;
    // agents connect, and the last machine hears of it
    tokio::time::sleep(Duration::from_millis(500)).await;
    let version = async || world.get("/api/v1/namespaces").await.json()["metadata"]["resourceVersion"].clone();
    let before = version().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(version().await, before, "somebody wrote something");
}

/// For measuring: `cargo test --release -p hubsim --test actors -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn ten_thousand_machines_are_bearable() {
    let world = World::with(|o| o.events = false).await;
    let took = start(&world, 10_000).await;
    println!("10,000 machines running after {took:?}");
    assert_eq!(addresses(&world).await.len(), 10_000);
}
