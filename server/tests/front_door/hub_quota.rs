//! What may be used in a hub's own namespace, where images are.
use crate::{
    harness::{Hubs, TestApp},
    hub_commands::run,
};
use hub::read::quantity;
use serde_json::{Value, json};
use std::time::Duration;

const EDIT: &str = "/provider/hubs/one/edit";

async fn until(what: &str, reached: impl Fn() -> bool) {
    for _ in 0..600 {
        if reached() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what} did not come");
}

#[tokio::test]
async fn the_quota_of_a_hubs_own_namespace_is_set_by_form_and_by_command_kept_in_step_and_taken_off() {
    let app = TestApp::start().await;
    let hubs = Hubs::start(&app, &["one"]).await;
    hubs.look_every(&app, Duration::from_millis(200));
    let hub = hubs.hub("one");
    let quota = || hub.object("", "resourcequotas", "ssvirt-own", "ssvirt");
    // a hub may write a number in another way than we do
    let bounds = |cpus: Option<&str>, memory_mb: Option<i64>, storage_mb: Option<i64>| {
        let hard = |key: &str| quota().map(|q| q["spec"]["hard"][key].clone()).filter(|v| !v.is_null());
        let mb = |key: &str| hard(key).and_then(|v| quantity::mib(v.as_str()?));
        let seen = (hard("requests.cpu"), mb("requests.memory"), mb("requests.storage"));
        seen == (cpus.map(Value::from), memory_mb, storage_mb)
    };
    until("the namespace", || hub.object("", "namespaces", "", "ssvirt-own").is_some()).await;
    assert!(quota().is_none(), "nobody asked for one");

    let provider = app.provider().await;
    let page = provider.get(EDIT).await.must(200);
    let back = provider.fill_page(&page, EDIT, &[("cpu_limit", "many")]).await.must(422);
    assert!(back.error_of("cpu_limit").unwrap_or_default().contains("A whole number"));
    let typed = [("cpu_limit", "8"), ("memory_limit", "16"), ("storage_limit", "500")];
    let saved = provider.fill_page(&page, EDIT, &typed).await;
    provider.follow(saved).await.says("8 vCPU, 16 GB, 500 GB");
    until("the quota", || bounds(Some("8"), Some(16 * 1024), Some(500 * 1024))).await;

    let set = ["hub", "set", "one", "--quota-cpus", "4", "--quota-storage-gb", "none"];
    assert_eq!(run(&app, &set).await.0, 0);
    let less = || bounds(Some("4"), Some(16 * 1024), None);
    until("the smaller quota", less).await;
    let raise = |quota: &mut Value| quota["spec"]["hard"]["requests.cpu"] = "400".into();
    assert!(hub.edit("", "resourcequotas", "ssvirt-own", "ssvirt", raise).unwrap());
    until("what was changed by hand is put back", less).await;

    let (code, _, wrong) = run(&app, &["hub", "set", "one", "--quota-cpus", "lots"]).await;
    assert!(code == 2 && wrong.contains("a whole number, or none"), "{wrong}");
    assert_eq!(run(&app, &["hub", "set", "one", "--quota-cpus", "none", "--quota-memory-gb", "none"]).await.0, 0);
    until("no bounds", || bounds(None, None, None)).await;
}

#[tokio::test]
async fn a_quota_that_somebody_else_has_in_a_hubs_namespace_is_left_alone_and_said() {
    let app = TestApp::start().await;
    let hubs = Hubs::start(&app, &["one"]).await;
    let theirs = json!({"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": "3"}},
        "metadata": {"name": "ssvirt", "namespace": "ssvirt-own", "labels": {"whose": "theirs"}}});
    until("the namespace", || hubs.hub("one").object("", "namespaces", "", "ssvirt-own").is_some()).await;
    hubs.plant("one", &hub::resource::RESOURCE_QUOTAS, &theirs, "whose").await;
    assert_eq!(run(&app, &["hub", "set", "one", "--quota-storage-gb", "9"]).await.0, 0);
    hubs.look_every(&app, Duration::from_millis(200));
    let said = "hubs where checks::text like '%its quota could not be set%'";
    for _ in 0..600 {
        if app.db.count(said).await == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(app.db.count(said).await, 1);
    let there = hubs.hub("one").object("", "resourcequotas", "ssvirt-own", "ssvirt").unwrap();
    assert_eq!(there["spec"]["hard"], json!({"pods": "3"}));
}
