use crate::harness::{NAMESPACE, World, condition, vm_path};
use serde_json::{Value, json};

fn instances() -> String {
    format!("/apis/template.openshift.io/v1/namespaces/{NAMESPACE}/templateinstances")
}

async fn template(world: &World, name: &str) -> Value {
    let found = world.get(&format!("/apis/template.openshift.io/v1/namespaces/openshift/templates/{name}")).await;
    assert_eq!(found.code, 200, "{}", found.text);
    found.json()
}

#[tokio::test]
async fn a_template_instance_makes_its_machines_and_takes_them_along_when_it_goes() {
    let world = World::start().await;
    let mut both = template(&world, "web-and-db").await;
    assert_eq!(both["metadata"]["annotations"]["iconClass"], "icon-other-linux");
    both["parameters"][0]["value"] = json!("shop");
    let made = world.post(&instances(), json!({"metadata": {"name": "shop"}, "spec": {"template": both}})).await;
    assert_eq!(made.code, 201, "{}", made.text);
    let path = format!("{}/shop", instances());
    let ready = world.until(&path, "ready", |i| condition(i, "Ready")["status"] == "True").await;
    assert_eq!(condition(&ready, "Ready")["reason"], "Created");
    assert_eq!(ready["status"]["objects"].as_array().unwrap().len(), 2);
    let vm = world.until_shown("shop-web", "Stopped").await;
    assert_eq!(vm["metadata"]["labels"]["template.openshift.io/template-instance-owner"], ready["metadata"]["uid"]);
    assert_eq!(vm["metadata"]["labels"]["app.kubernetes.io/part-of"], "shop");
    assert_eq!(vm["spec"]["runStrategy"], "Halted");
    assert_eq!(world.call("virtualmachines", "shop-db", "start", "").await.code, 202);
    world.until_shown("shop-db", "Running").await;

    assert_eq!(world.delete(&path).await.code, 200);
    for gone in [vm_path("shop-web"), vm_path("shop-db"), path] {
        world.until_gone(&gone).await;
    }
}

#[tokio::test]
async fn a_template_instance_that_cannot_be_made_says_why() {
    let world = World::start().await;
    let mut one = template(&world, "fedora-43").await;
    one["parameters"][0]["value"] = json!("taken");
    world.make(crate::harness::diskless("taken", "Halted")).await;
    world.post(&instances(), json!({"metadata": {"name": "x"}, "spec": {"template": one}})).await;
    let failed = world
        .until(&format!("{}/x", instances()), "failed", |i| condition(i, "InstantiateFailure")["status"] == "True")
        .await;
    assert_eq!(
        condition(&failed, "InstantiateFailure")["message"],
        "virtualmachines.kubevirt.io \"taken\" already exists"
    );
    assert_eq!(condition(&failed, "Ready")["message"], "See InstantiateFailure condition for error message");
}

#[tokio::test]
async fn values_in_the_secret_come_before_those_of_the_template() {
    let world = World::start().await;
    let one = template(&world, "ubuntu-24.04").await;
    let secret = json!({"metadata": {"name": "values"}, "stringData": {"NAME": "from-secret"}});
    assert_eq!(world.post(&format!("/api/v1/namespaces/{NAMESPACE}/secrets"), secret).await.code, 201);
    let instance = json!({"metadata": {"name": "x"}, "spec": {"template": one, "secret": {"name": "values"}}});
    world.post(&instances(), instance).await;
    world.until_shown("from-secret", "Stopped").await;
}

#[tokio::test]
async fn a_template_is_processed_without_making_anything() {
    let world = World::start().await;
    let mut one = template(&world, "rhel-9").await;
    let path = format!("/apis/template.openshift.io/v1/namespaces/{NAMESPACE}/processedtemplates");
    let done = world.post(&path, one.clone()).await;
    assert_eq!(done.code, 201, "{}", done.text);
    let name = done.json()["objects"][0]["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!((name.starts_with("rhel-"), name.len()), (true, 21), "{name}");
    assert_ne!(
        world.post(&path, one.clone()).await.json()["objects"][0]["metadata"]["name"],
        name,
        "a new name each time"
    );
    assert_eq!(world.get(&vm_path(&name)).await.code, 404);
    one["parameters"][1]["value"] = json!("");
    let refused = world.post(&path, one).await;
    assert_eq!(refused.code, 422);
    assert_eq!(
        refused.json()["details"]["causes"][0]["message"],
        "Required value: parameter DATA_SOURCE_NAME is required and must be specified"
    );
}
