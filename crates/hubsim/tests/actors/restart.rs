use crate::harness::{NAMESPACE, World, condition, vm, vm_path, vmi_path, vms};
use hubsim::{Hub, actors};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn actors_that_stop_in_the_middle_go_on_where_they_were() {
    let mut world = World::with(|o| o.delay = Duration::from_millis(40)).await;
    world.make(vm("web", "Always")).await;
    // stopped again and again, at another point each time
    for pause in [30, 70, 110, 150, 190, 230] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        world.actors.take().unwrap().stop().await;
        world.actors = Some(actors::run(world.hub.inside(), &world.options));
    }
    let running =
        world.until(&vm_path("web"), "connected", |vm| condition(vm, "AgentConnected")["status"] == "True").await;
    assert_eq!(running["status"]["printableStatus"], "Running");
    let vmi = world.get(&vmi_path("web")).await.json();
    let phases = vmi["status"]["phaseTransitionTimestamps"].as_array().unwrap().len();
    assert_eq!(phases, 4, "every phase once: {:#}", vmi["status"]["phaseTransitionTimestamps"]);
}

#[tokio::test]
async fn a_hub_that_is_stopped_in_the_middle_goes_on_at_its_next_start() {
    let folder = std::env::temp_dir().join(format!("hubsim-actors-{}", std::process::id()));
    let options = actors::Options { delay: Duration::from_millis(40), ..Default::default() };
    let start = || Hub::start(hubsim::Options { data_dir: Some(folder.clone()), ..Default::default() });
    let hub = start().await.unwrap();
    actors::furnish(hub.inside(), hub.flavour()).await.unwrap();
    let running = actors::attach(&hub, &options);
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    for (at, object) in [("/api/v1/namespaces".to_owned(), namespace), (vms(), vm("web", "Always"))] {
        let request = http::Request::post(at).header("content-type", "application/json");
        hub.inside().request_text(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    running.stop().await;
    hub.stop().await;

    let hub = start().await.unwrap();
    let _running = actors::attach(&hub, &options);
    let begin = std::time::Instant::now();
    loop {
        let vm = hub.object("kubevirt.io", "virtualmachines", NAMESPACE, "web").unwrap();
        if vm["status"]["printableStatus"] == "Running" {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{:#}", vm["status"]);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    hub.stop().await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn what_happened_while_the_actors_were_away_is_caught_up_with() {
    let mut world = World::start().await;
    world.make(vm("old", "Always")).await;
    world.until_shown("old", "Running").await;
    world.actors.take().unwrap().stop().await;
    world.make(vm("new", "Always")).await;
    world.delete(&vm_path("old")).await;
    assert_eq!(world.get(&vm_path("old")).await.code, 200, "its finalizer holds it");
    world.actors = Some(actors::run(world.hub.inside(), &world.options));
    world.until_gone(&vm_path("old")).await;
    world.until_shown("new", "Running").await;
}

#[tokio::test]
async fn a_forgotten_history_does_not_stop_the_actors() {
    let world = World::start().await;
    world.make(vm("a", "Always")).await;
    world.until_shown("a", "Running").await;
    world.hub.forget_history();
    world.make(vm("b", "Always")).await;
    world.until_shown("b", "Running").await;
}

#[tokio::test]
async fn a_hub_without_kubevirt_leaves_the_actors_in_peace() {
    let hub =
        hubsim::Hub::start(hubsim::Options { flavour: hubsim::Flavour::bare(), ..Default::default() }).await.unwrap();
    actors::furnish(hub.inside(), hub.flavour()).await.unwrap();
    actors::furnish(hub.inside(), hub.flavour()).await.unwrap();
    let running = actors::attach(&hub, &actors::Options::default());
    assert!(hub.object("", "nodes", "", "worker-0").is_some());
    running.stop().await;
}

#[tokio::test]
async fn furnishing_twice_changes_nothing() {
    let world = World::start().await;
    let list = "/apis/template.openshift.io/v1/namespaces/openshift/templates";
    let before = world.get(list).await.json()["items"].clone();
    actors::furnish(world.hub.inside(), world.hub.flavour()).await.unwrap();
    assert_eq!(world.get(list).await.json()["items"], before);
    let kv = world.get("/apis/kubevirt.io/v1/kubevirts").await.json();
    assert_eq!(kv["items"][0]["status"]["phase"], "Deployed");
    let ready = world.get("/apis/apps/v1/namespaces/openshift-cnv/deployments/virt-api").await.json();
    assert_eq!(ready["status"]["readyReplicas"], 2);
    assert_eq!(world.get(&vms()).await.json()["items"], serde_json::json!([]), "no machines in {NAMESPACE}");
}
