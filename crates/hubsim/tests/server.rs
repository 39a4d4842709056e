//! A hub as its clients see it, through the network and from inside.

#![allow(clippy::unwrap_used, reason = "what a test cannot do without is a failure of the test")]

use futures::{AsyncBufReadExt, TryStreamExt};
use hubsim::{Cause, Denial, Fault, Flavour, Hub, Operation, Options, Review, Webhook};
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, PersistentVolumeClaim, ResourceQuota};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use std::time::Duration;

async fn hub() -> (Hub, Client) {
    start(Options::default()).await
}

async fn start(options: Options) -> (Hub, Client) {
    let hub = Hub::start(options).await.unwrap();
    let client = Client::try_from(hub.client_config().await.unwrap()).unwrap();
    (hub, client)
}

fn machine() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("kubevirt.io", "v1", "VirtualMachine"))
}

fn vms(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &machine())
}

fn vm(name: &str) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}}}}},
    }))
    .unwrap()
}

async fn namespace(client: &Client, name: &str) {
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
}

fn code(error: kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("no answer of the server: {other}"),
    }
}

#[tokio::test]
async fn objects_live_from_create_to_delete_through_the_network() {
    let (_hub, client) = hub().await;
    namespace(&client, "a").await;
    let api = vms(&client, "a");
    let created = api.create(&PostParams::default(), &vm("vm-1")).await.unwrap();
    let uid = created.metadata.uid.clone().unwrap();
    assert_eq!(created.metadata.generation, Some(1));
    assert_eq!(code(api.create(&PostParams::default(), &vm("vm-1")).await.unwrap_err()), 409);

    let on = json!({"metadata": {"uid": uid}, "spec": {"runStrategy": "Always"}});
    let changed = api.patch("vm-1", &PatchParams::default(), &Patch::Merge(&on)).await.unwrap();
    assert_eq!((changed.data["spec"]["runStrategy"].as_str(), changed.metadata.generation), (Some("Always"), Some(2)));

    let status = json!({"status": {"ready": true}});
    let changed = api.patch_status("vm-1", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    assert_eq!((&changed.data["status"]["ready"], changed.metadata.generation), (&json!(true), Some(2)));

    let stale = created.clone();
    assert_eq!(code(api.replace("vm-1", &PostParams::default(), &stale).await.unwrap_err()), 409);
    assert_eq!(api.list(&ListParams::default().labels("app=web")).await.unwrap().items.len(), 1);
    let other = DeleteParams {
        preconditions: Some(kube::api::Preconditions { uid: Some("x".into()), resource_version: None }),
        ..DeleteParams::default()
    };
    assert_eq!(code(api.delete("vm-1", &other).await.unwrap_err()), 409);
    api.delete("vm-1", &DeleteParams::default()).await.unwrap();
    assert_eq!(code(api.get("vm-1").await.unwrap_err()), 404);
}

#[tokio::test]
async fn actors_inside_see_the_same_objects_without_a_network() {
    let (hub, client) = hub().await;
    namespace(&hub.inside(), "a").await;
    vms(&client, "a").create(&PostParams::default(), &vm("vm-1")).await.unwrap();
    let inside = vms(&hub.inside(), "a");
    assert_eq!(inside.get("vm-1").await.unwrap().metadata.name.as_deref(), Some("vm-1"));
    hub.faults().set(Fault::ServerError, true);
    assert_eq!(code(vms(&client, "a").get("vm-1").await.unwrap_err()), 500);
    assert!(inside.get("vm-1").await.is_ok());
}

#[tokio::test]
async fn a_watch_tells_of_everything_from_a_version_on() {
    let (hub, client) = hub().await;
    namespace(&client, "a").await;
    let api = vms(&client, "a");
    let from = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    api.create(&PostParams::default(), &vm("vm-1")).await.unwrap();
    for client in [client.clone(), hub.inside()] {
        let events =
            vms(&client, "a").watch(&WatchParams::default().timeout(1).disable_bookmarks(), &from).await.unwrap();
        let events: Vec<_> = events.try_collect().await.unwrap();
        assert!(matches!(&events[..], [WatchEvent::Added(vm)] if vm.metadata.name.as_deref() == Some("vm-1")));
    }
}

#[tokio::test]
async fn a_cluster_without_kubevirt_answers_404() {
    let (_hub, client) = start(Options { flavour: Flavour::bare(), ..Options::default() }).await;
    assert_eq!(code(vms(&client, "default").list(&ListParams::default()).await.unwrap_err()), 404);
    let groups = client.list_api_groups().await.unwrap();
    assert!(groups.groups.iter().all(|group| group.name != "kubevirt.io"));
}

#[tokio::test]
async fn a_restart_continues_with_the_same_objects_certificate_and_token() {
    let folder = std::env::temp_dir().join(format!("hubsim-restart-{}", std::process::id()));
    let options = Options { data_dir: Some(folder.clone()), ..Options::default() };
    let (hub, client) = start(options.clone()).await;
    namespace(&client, "a").await;
    let before = vms(&client, "a").create(&PostParams::default(), &vm("vm-1")).await.unwrap();
    let (token, ca, address) = (hub.token().to_owned(), hub.ca().to_owned(), hub.address());
    // not stopped in order: dropped as a killed process would leave it
    drop(hub);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (hub, client) = start(Options { address, ..options }).await;
    assert_eq!((hub.token(), hub.ca()), (token.as_str(), ca.as_str()));
    let after = vms(&client, "a").get("vm-1").await.unwrap();
    assert_eq!(after.metadata, before.metadata);
    let list = vms(&client, "a").list(&ListParams::default()).await.unwrap();
    let version: u64 = list.metadata.resource_version.unwrap().parse().unwrap();
    assert!(version >= before.metadata.resource_version.unwrap().parse().unwrap());
    let mut old = vms(&client, "a")
        .watch(&WatchParams::default().timeout(1).disable_bookmarks(), "2")
        .await
        .unwrap()
        .try_collect::<Vec<_>>()
        .await
        .unwrap();
    assert!(matches!(old.pop(), Some(WatchEvent::Error(status)) if status.code == 410));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_bad_token_is_refused() {
    let (hub, _) = hub().await;
    let mut config = hub.client_config().await.unwrap();
    config.auth_info.token = Some("wrong".to_owned().into());
    let client = Client::try_from(config).unwrap();
    assert_eq!(code(client.list_api_groups().await.unwrap_err()), 401);
}

#[tokio::test]
async fn the_owner_takes_its_dependents_along() {
    let (hub, client) = hub().await;
    namespace(&client, "a").await;
    let owner = vms(&client, "a").create(&PostParams::default(), &vm("vm-1")).await.unwrap();
    let owned: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "c", "ownerReferences": [{
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "vm-1", "uid": owner.metadata.uid}]}}))
    .unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "a");
    maps.create(&PostParams::default(), &owned).await.unwrap();
    vms(&client, "a").delete("vm-1", &DeleteParams::default()).await.unwrap();
    eventually(|| hub.object("", "configmaps", "a", "c").is_none()).await;
}

#[tokio::test]
async fn a_namespace_takes_all_along_and_then_goes() {
    let (hub, client) = hub().await;
    namespace(&client, "a").await;
    vms(&client, "a").create(&PostParams::default(), &vm("vm-1")).await.unwrap();
    Api::<Namespace>::all(client.clone()).delete("a", &DeleteParams::default()).await.unwrap();
    eventually(|| hub.object("", "namespaces", "", "a").is_none()).await;
    assert!(hub.object("kubevirt.io", "virtualmachines", "a", "vm-1").is_none());
}

#[tokio::test]
async fn a_lost_reply_is_a_change_that_happened() {
    let (hub, client) = hub().await;
    namespace(&client, "a").await;
    hub.faults().lose_replies(1);
    let lost = vms(&client, "a").create(&PostParams::default(), &vm("vm-1")).await.unwrap_err();
    assert!(!matches!(lost, kube::Error::Api(_)), "{lost}");
    assert!(hub.object("kubevirt.io", "virtualmachines", "a", "vm-1").is_some());
    assert_eq!(code(vms(&client, "a").create(&PostParams::default(), &vm("vm-1")).await.unwrap_err()), 409);
}

#[tokio::test]
async fn faults_show_as_what_they_are_called() {
    let (hub, client) = hub().await;
    let faults = hub.faults();
    for (fault, wanted) in
        [(Fault::Unauthorized, 401), (Fault::Forbidden, 403), (Fault::TooManyRequests, 429), (Fault::ServerError, 500)]
    {
        faults.set(fault, true);
        assert_eq!(code(client.list_core_api_versions().await.unwrap_err()), wanted);
        faults.set(fault, false);
    }
    assert!(client.list_core_api_versions().await.is_ok());
    faults.set(Fault::BlackHole, true);
    let waiting = tokio::time::timeout(Duration::from_millis(300), client.list_core_api_versions()).await;
    assert!(waiting.is_err());
    faults.set(Fault::BlackHole, false);
    faults.set(Fault::Refuse, true);
    let refused = client.list_core_api_versions().await.unwrap_err();
    assert!(!matches!(refused, kube::Error::Api(_)), "{refused}");
    faults.clear();
    assert!(client.list_core_api_versions().await.is_ok());
}

#[tokio::test]
async fn a_cut_ends_open_watches() {
    let (hub, client) = hub().await;
    let request = http::Request::get("/api/v1/namespaces?watch=1").body(Vec::new()).unwrap();
    let mut lines = client.request_stream(request).await.unwrap().lines();
    assert!(lines.try_next().await.unwrap().is_some());
    hub.faults().set(Fault::WatchCut, true);
    let ended =
        tokio::time::timeout(Duration::from_secs(5), async { while let Ok(Some(_)) = lines.try_next().await {} });
    ended.await.unwrap();
}

#[tokio::test]
async fn a_hub_that_says_nothing_says_nothing_on_open_watches_either() {
    let (hub, client) = hub().await;
    for fault in [Fault::BlackHole, Fault::WatchStalled] {
        let request = http::Request::get("/api/v1/namespaces?watch=1").body(Vec::new()).unwrap();
        let mut lines = client.request_stream(request).await.unwrap().lines();
        while tokio::time::timeout(Duration::from_millis(200), lines.try_next()).await.is_ok() {}
        hub.faults().set(fault, true);
        let name = fault.name();
        hub.plant("", "namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
            .unwrap();
        let silent = tokio::time::timeout(Duration::from_millis(300), lines.try_next()).await;
        assert!(silent.is_err(), "{silent:?}");
        hub.faults().set(fault, false);
        let told = tokio::time::timeout(Duration::from_secs(5), lines.try_next()).await.unwrap().unwrap().unwrap();
        assert!(told.contains(name), "{told}");
    }
}

#[tokio::test]
async fn a_stuck_finalizer_keeps_what_is_deleted_until_it_is_released() {
    let (hub, client) = hub().await;
    namespace(&client, "a").await;
    vms(&client, "a").create(&PostParams::default(), &vm("vm-1")).await.unwrap();
    hub.faults().set(Fault::StuckFinalizer, true);
    vms(&client, "a").delete("vm-1", &DeleteParams::default()).await.unwrap();
    assert!(vms(&client, "a").get("vm-1").await.unwrap().metadata.deletion_timestamp.is_some());
    assert_eq!(hub.release_stuck().unwrap(), 1);
    assert_eq!(code(vms(&client, "a").get("vm-1").await.unwrap_err()), 404);
}

#[tokio::test]
async fn edits_behind_the_back_are_seen_by_watchers() {
    let (hub, client) = hub().await;
    namespace(&client, "a").await;
    let created = vms(&client, "a").create(&PostParams::default(), &vm("vm-1")).await.unwrap();
    let from = created.metadata.resource_version.unwrap();
    let edited =
        hub.edit("kubevirt.io", "virtualmachines", "a", "vm-1", |vm| vm["spec"]["runStrategy"] = "Manual".into());
    assert!(edited.unwrap());
    assert!(hub.remove("kubevirt.io", "virtualmachines", "a", "vm-1").unwrap());
    let events = vms(&client, "a").watch(&WatchParams::default().timeout(1).disable_bookmarks(), &from).await.unwrap();
    let events: Vec<WatchEvent<DynamicObject>> = events.try_collect().await.unwrap();
    assert!(matches!(&events[..], [WatchEvent::Modified(_), WatchEvent::Deleted(_)]), "{events:?}");
}

#[tokio::test]
async fn forgotten_history_is_410_for_watches_and_pages_from_outside() {
    let (hub, client) = hub().await;
    namespace(&client, "a").await;
    let api = vms(&client, "a");
    for name in ["vm-1", "vm-2"] {
        api.create(&PostParams::default(), &vm(name)).await.unwrap();
    }
    let page = api.list(&ListParams::default().limit(1)).await.unwrap();
    let (from, token) = (page.metadata.resource_version.unwrap(), page.metadata.continue_.unwrap());
    api.create(&PostParams::default(), &vm("vm-3")).await.unwrap();
    hub.faults().set(Fault::Expired, true);
    let next = ListParams::default().limit(1).continue_token(&token);
    assert_eq!(code(api.list(&next).await.unwrap_err()), 410);
    let events = api.watch(&WatchParams::default().timeout(1), &from).await.unwrap();
    let events: Vec<WatchEvent<DynamicObject>> = events.try_collect().await.unwrap();
    assert!(matches!(&events[..], [WatchEvent::Error(status)] if status.code == 410), "{events:?}");
    hub.faults().clear();
    assert_eq!(api.list(&next).await.unwrap().items[0].metadata.name.as_deref(), Some("vm-2"));
}

struct Gate;

impl Webhook for Gate {
    fn mutate(&self, review: &Review<'_>) -> Result<Option<Value>, Denial> {
        let mut object = review.new.clone();
        if review.resource == "virtualmachines" && review.operation == Operation::Create {
            object["metadata"]["annotations"] = json!({"seen-by": "gate"});
        }
        Ok(Some(object))
    }

    fn validate(&self, review: &Review<'_>) -> Result<Vec<String>, Denial> {
        let full = review.objects.list("kubevirt.io", "virtualmachines", Some(review.namespace)).len() >= 2;
        if review.resource == "virtualmachines" && review.operation == Operation::Create && full {
            let message = "spec: two are enough".to_owned();
            let cause = Cause { reason: "FieldValueInvalid", message, field: "spec".to_owned() };
            return Err(Denial::invalid("gate.example.io", vec![cause]));
        }
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn webhooks_change_and_refuse_what_is_created() {
    let (hub, client) = hub().await;
    hub.add_webhook(std::sync::Arc::new(Gate));
    namespace(&client, "a").await;
    let api = vms(&client, "a");
    let created = api.create(&PostParams::default(), &vm("vm-1")).await.unwrap();
    assert_eq!(created.metadata.annotations.unwrap()["seen-by"], "gate");
    api.create(&PostParams::default(), &vm("vm-2")).await.unwrap();
    let kube::Error::Api(status) = api.create(&PostParams::default(), &vm("vm-3")).await.unwrap_err() else { panic!() };
    assert_eq!(status.message, "admission webhook \"gate.example.io\" denied the request: spec: two are enough");
    // the schema speaks before the webhook's refusal
    let mut bad = vm("vm-3");
    bad.data["spec"]["runStrategy"] = json!(5);
    let kube::Error::Api(status) = api.create(&PostParams::default(), &bad).await.unwrap_err() else { panic!() };
    assert!(status.message.contains("must be of type string"), "{}", status.message);
}

#[tokio::test]
async fn a_service_account_may_do_what_its_role_says_and_no_more() {
    let (hub, client) = hub().await;
    namespace(&client, "a").await;
    eventually(|| hub.object("", "serviceaccounts", "a", "default").is_some()).await;
    let apply = |path: &str, body: Value| {
        let request = http::Request::post(path).body(serde_json::to_vec(&body).unwrap()).unwrap();
        client.request::<Value>(request)
    };
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/a";
    let rules = json!([{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["list"]}]);
    apply(&format!("{rbac}/roles"), json!({"metadata": {"name": "r"}, "rules": rules})).await.unwrap();
    let binding = json!({"metadata": {"name": "r"}, "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "a"}]});
    apply(&format!("{rbac}/rolebindings"), binding).await.unwrap();
    let token = hub.account_token("a", "default").unwrap();
    let mut config = hub.client_config().await.unwrap();
    config.auth_info.token = Some(token.into());
    let limited = Client::try_from(config).unwrap();
    assert!(vms(&limited, "a").list(&ListParams::default()).await.is_ok());
    assert_eq!(code(vms(&limited, "a").get("vm-1").await.unwrap_err()), 403);
    assert_eq!(code(vms(&limited, "default").list(&ListParams::default()).await.unwrap_err()), 403);
}

fn storage_class(hub: &Hub, name: &str, grows: bool) {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": "x", "allowVolumeExpansion": grows});
    hub.plant("storage.k8s.io", "storageclasses", class).unwrap();
}

/// As the volume controller does it, of a claim in the namespace `a`.
fn bind(hub: &Hub, name: &str) {
    assert!(hub.edit("", "persistentvolumeclaims", "a", name, |c| c["status"]["phase"] = "Bound".into()).unwrap());
}

#[tokio::test]
async fn sizes_of_claims_are_kept_in_their_shortest_form() {
    let (hub, client) = hub().await;
    namespace(&client, "a").await;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), "a");
    let size = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
    let mut claim = size("4096Mi");
    claim["metadata"] = json!({"name": "disk"});
    claim["spec"]["storageClassName"] = "elastic".into();
    storage_class(&hub, "elastic", true);
    claims.create(&PostParams::default(), &serde_json::from_value(claim).unwrap()).await.unwrap();
    bind(&hub, "disk");
    let kept = || hub.object("", "persistentvolumeclaims", "a", "disk").unwrap()["spec"]["resources"].clone();
    assert_eq!(kept()["requests"]["storage"], "4Gi");
    claims.patch("disk", &PatchParams::default(), &Patch::Merge(size("8192Mi"))).await.unwrap();
    assert_eq!(kept()["requests"]["storage"], "8Gi");
}

#[tokio::test]
async fn manifests_make_an_account_with_the_rights_in_them() {
    let (hub, _) = hub().await;
    let role = include_str!("../../../deploy/hub-role.yaml");
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&hub.account(role).unwrap()).unwrap();
    assert!(hub.account(role).is_ok(), "a second time finds it there");
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    let account = Client::try_from(config).unwrap();
    let machines = Api::<DynamicObject>::all_with(account.clone(), &machine());
    assert!(machines.list(&ListParams::default()).await.is_ok());
    let secrets = Api::<k8s_openapi::api::core::v1::Secret>::all(account);
    assert_eq!(code(secrets.list(&ListParams::default()).await.unwrap_err()), 403);
}

#[tokio::test]
async fn a_claim_that_grows_must_be_bound_of_a_class_that_can_and_fit_the_quota() {
    let (hub, client) = hub().await;
    namespace(&client, "a").await;
    let quota: ResourceQuota =
        serde_json::from_value(json!({"metadata": {"name": "vdc"}, "spec": {"hard": {"requests.storage": "10Gi"}}}))
            .unwrap();
    Api::namespaced(client.clone(), "a").create(&PostParams::default(), &quota).await.unwrap();
    eventually(|| {
        hub.object("", "resourcequotas", "a", "vdc").is_some_and(|quota| quota["status"]["used"].is_object())
    })
    .await;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), "a");
    let size = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
    storage_class(&hub, "fixed", false);
    storage_class(&hub, "elastic", true);
    for (name, class) in [("disk", "elastic"), ("other", "fixed")] {
        let mut claim = size(if name == "disk" { "6Gi" } else { "0" });
        claim["metadata"] = json!({"name": name});
        claim["spec"]["storageClassName"] = class.into();
        claims.create(&PostParams::default(), &serde_json::from_value(claim).unwrap()).await.unwrap();
    }
    let refused = async |name: &str| {
        let grown = claims.patch(name, &PatchParams::default(), &Patch::Merge(size("7Gi"))).await.unwrap_err();
        let kube::Error::Api(status) = grown else { panic!() };
        assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
        status.message
    };
    let unbound = "persistentvolumeclaims \"disk\" is forbidden: Only bound persistent volume claims can be expanded";
    assert_eq!(refused("disk").await, unbound);
    bind(&hub, "disk");
    bind(&hub, "other");
    assert_eq!(
        refused("other").await,
        "persistentvolumeclaims \"other\" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
    );
    let grown = claims.patch("disk", &PatchParams::default(), &Patch::Merge(size("12Gi"))).await.unwrap_err();
    let kube::Error::Api(status) = grown else { panic!() };
    assert_eq!(
        status.message,
        "persistentvolumeclaims \"disk\" is forbidden: exceeded quota: vdc, requested: requests.storage=6Gi, used: requests.storage=6Gi, limited: requests.storage=10Gi"
    );
    claims.patch("disk", &PatchParams::default(), &Patch::Merge(size("9Gi"))).await.unwrap();
    let used = hub.object("", "resourcequotas", "a", "vdc").unwrap()["status"]["used"]["requests.storage"].clone();
    assert_eq!(used, "9Gi");
}

#[tokio::test]
async fn a_restart_with_another_flavour_serves_other_kinds() {
    let folder = std::env::temp_dir().join(format!("hubsim-flavour-{}", std::process::id()));
    let options = Options { data_dir: Some(folder.clone()), ..Options::default() };
    let (hub, client) = start(options.clone()).await;
    vms(&client, "default").create(&PostParams::default(), &vm("vm-1")).await.unwrap();
    hub.stop().await;
    let (hub, client) = start(Options { flavour: Flavour::bare(), ..options.clone() }).await;
    assert_eq!(code(vms(&client, "default").list(&ListParams::default()).await.unwrap_err()), 404);
    let definition = "virtualmachines.kubevirt.io";
    assert!(hub.object("apiextensions.k8s.io", "customresourcedefinitions", "", definition).is_none());
    hub.stop().await;
    let (_hub, client) = start(options).await;
    assert!(vms(&client, "default").list(&ListParams::default()).await.is_ok());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test(start_paused = true)]
async fn events_end_after_an_hour() {
    let hub = Hub::start(Options::default()).await.unwrap();
    let event: Event = serde_json::from_value(
        json!({"metadata": {"name": "e"}, "involvedObject": {}, "reason": "Started", "type": "Normal"}),
    )
    .unwrap();
    Api::namespaced(hub.inside(), "default").create(&PostParams::default(), &event).await.unwrap();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(hub.object("", "events", "default", "e").is_some());
    hub.clock().advance(time::Duration::minutes(61));
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(hub.object("", "events", "default", "e").is_none());
}

#[tokio::test]
async fn two_hubs_cannot_share_a_folder() {
    let folder = std::env::temp_dir().join(format!("hubsim-shared-{}", std::process::id()));
    let options = Options { data_dir: Some(folder.clone()), ..Options::default() };
    let first = Hub::start(options.clone()).await.unwrap();
    let told = Hub::start(options.clone()).await.unwrap_err().to_string();
    assert!(told.contains("in use by another hub"), "{told}");
    // whoever keeps a client of a stopped hub can no longer change anything
    let inside = first.inside();
    first.stop().await;
    let second = Hub::start(options).await.unwrap();
    assert_eq!(code(vms(&inside, "default").create(&PostParams::default(), &vm("vm-1")).await.unwrap_err()), 503);
    assert!(second.object("kubevirt.io", "virtualmachines", "default", "vm-1").is_none());
    drop(second);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
#[ignore = "a measurement: cargo test --release -- --ignored ten_thousand"]
async fn ten_thousand_machines_are_made_listed_changed_and_watched() {
    let folder = std::env::temp_dir().join(format!("hubsim-many-{}", std::process::id()));
    let (hub, client) = start(Options { data_dir: Some(folder.clone()), ..Options::default() }).await;
    namespace(&client, "a").await;
    let api = vms(&client, "a");
    let mut clock = std::time::Instant::now();
    let mut lap = |what: &str| {
        println!("{what}: {:?}", clock.elapsed());
        clock = std::time::Instant::now();
    };
    let from = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let inside = vms(&hub.inside(), "a");
    for number in 0..10_000 {
        inside.create(&PostParams::default(), &vm(&format!("vm-{number}"))).await.unwrap();
    }
    lap("10,000 created from inside");
    for number in 0..1000 {
        api.create(&PostParams::default(), &vm(&format!("net-{number}"))).await.unwrap();
    }
    lap("1,000 created through the network");
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 11_000);
    lap("all listed");
    for number in 0..1000 {
        let on = json!({"spec": {"runStrategy": "Always"}});
        api.patch(&format!("vm-{number}"), &PatchParams::default(), &Patch::Merge(&on)).await.unwrap();
    }
    lap("1,000 patched");
    let old = api.watch(&WatchParams::default().timeout(1), &from).await.unwrap();
    let old: Vec<WatchEvent<DynamicObject>> = old.try_collect().await.unwrap();
    assert!(matches!(old.last(), Some(WatchEvent::Error(status)) if status.code == 410), "the history is bounded");
    lap("a watch from too far back");
    drop(hub);
    let (_hub, client) = start(Options { data_dir: Some(folder.clone()), ..Options::default() }).await;
    lap("restarted");
    assert_eq!(vms(&client, "a").list(&ListParams::default()).await.unwrap().items.len(), 11_000);
    std::fs::remove_dir_all(&folder).unwrap();
}

async fn eventually(done: impl Fn() -> bool) {
    for _ in 0..100 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it never happened");
}
