//! Another kubeconfig for a hub: tried before it takes the place of the old one.
use crate::stage::Stage;
use model::vm::VmState;

#[tokio::test]
async fn a_kubeconfig_of_another_cluster_or_without_rights_leaves_the_old_one_and_every_vm_as_it_was() {
    let stage = Stage::on(&["one", "two"]).await;
    let db = &stage.app.db;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let vm = stage.running(id).await.remove(0);
    let here = vm.hub.clone().unwrap().0;
    let other = if here == "one" { "two" } else { "one" };
    stage.until("who they are", async || db.count("hubs where cluster_uid <> ''").await == 2).await;
    let cluster = async |hub: &str| db.text(&format!("select cluster_uid from hubs where id = '{hub}'")).await;
    let (ours, others) = (cluster(&here).await, cluster(other).await);
    assert_ne!(ours, others);

    let provider = stage.app.provider().await;
    let page = format!("/provider/hubs/{here}/kubeconfig");
    let another = stage.hubs.hub(other).account();
    let powerless = stage.hubs.hub(&here).powerless();
    for (text, words) in [(&another, "another cluster"), (&powerless, "VMs could not be run with it")] {
        let back = provider.post(&page, &[("kubeconfig", text)]).await.must(422);
        let said = back.error_of("kubeconfig").unwrap_or_default();
        assert!(said.contains(words) && said.contains("The old one stays."), "{said}");
    }
    let version = format!("select credential_version::text from hubs where id = '{here}'");
    assert_eq!(db.text(&version).await, "1");
    let now = stage.vm(vm.id).await;
    assert_eq!((now.state(), now.outside.as_str()), (VmState::Running, ""));

    // the same cluster by another account
    provider.post(&page, &[("kubeconfig", &stage.hubs.hub(&here).kubeconfig())]).await.must(303);
    assert_eq!((db.text(&version).await.as_str(), cluster(&here).await), ("2", ours));

    provider.post(&page, &[("kubeconfig", &another), ("anyway", "on")]).await.must(303);
    assert_eq!(db.text(&version).await, "3");
    stage.until("who it is now", async || cluster(&here).await == others).await;
}
