//! What hubs have for catalogs where they do not say all, or say it twice.
use crate::stage::Stage;
use domain::vapp;
use hub::resource::{DATA_SOURCES, NAMESPACES, TEMPLATES, VOLUME_CLAIMS};
use serde_json::{Value, json};

impl Stage {
    /// With a namespace of templates beside the usual one, and these in it.
    async fn golden(&self, templates: &[Value]) {
        let labels = json!({"app": "golden"});
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "golden", "labels": labels}});
        self.hubs.plant("one", &NAMESPACES, &space, "app").await;
        for template in templates {
            self.hubs.plant("one", &TEMPLATES, template, "app").await;
        }
        self.hubs.kill_controller();
        self.app.db.execute("update hubs set lease_until = '-infinity'").await;
        self.hubs.start_controller_for(&self.app, &["openshift", "golden"]);
    }
}

fn template(name: &str, domain: Value, disk: Value) -> Value {
    json!({
        "apiVersion": "template.openshift.io/v1", "kind": "Template",
        "metadata": {"name": name, "namespace": "golden", "labels": {"app": "golden"}},
        "objects": [{
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "${NAME}"},
            "spec": {
                "runStrategy": "Halted",
                "dataVolumeTemplates": [{"metadata": {"name": "${NAME}"}, "spec": disk}],
                "template": {"spec": {"domain": domain, "volumes": [{"name": "root", "dataVolume": {"name": "${NAME}"}}]}},
            },
        }],
        "parameters": [{"name": "NAME", "generate": "expression", "from": "x-[a-z]{4}"}],
    })
}

#[tokio::test]
async fn templates_of_one_name_in_two_namespaces_are_both_there() {
    let stage = Stage::set().await;
    let devices =
        json!({"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}, "memory": {"guest": "2Gi"}});
    let disk = json!({"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}});
    stage.golden(&[template("fedora-43", devices, disk)]).await;
    stage.until("the second", async || stage.template("fedora-43 (golden)").await.is_some()).await;
    let (first, second) =
        (stage.template("fedora-43").await.unwrap(), stage.template("fedora-43 (golden)").await.unwrap());
    assert_eq!(first.source, "template/openshift/fedora-43");
    assert_eq!(second.source, "template/golden/fedora-43");
}

#[tokio::test]
async fn what_a_template_does_not_say_is_unknown_and_asked_for() {
    let stage = Stage::set().await;
    // an image that is larger than most
    let (name, space) = ("big-image", "openshift-virtualization-os-images");
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": space, "labels": {"app": "golden"}},
        "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "standard", "volumeName": "pvc-big",
                 "resources": {"requests": {"storage": "100Gi"}}},
        "status": {"phase": "Bound", "capacity": {"storage": "100Gi"}},
    });
    stage.hubs.plant("one", &VOLUME_CLAIMS, &claim, "app").await;
    let source = json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource",
        "metadata": {"name": "big", "namespace": space, "labels": {
            "app": "golden", "instancetype.kubevirt.io/default-instancetype": "u1.medium"}},
        "spec": {"source": {"pvc": {"name": name, "namespace": space}}},
    });
    stage.hubs.plant("one", &DATA_SOURCES, &source, "app").await;
    let devices = json!({"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}});
    let disk = json!({"source": {"registry": {"url": "docker://quay.io/example/silent"}}, "storage": {}});
    stage.golden(&[template("silent", devices, disk)]).await;
    stage.until("the image", async || stage.template("big").await.is_some()).await;
    let big = stage.template("big").await.unwrap();
    stage.until("its size", async || stage.template("big").await.unwrap().vms[0].disks[0].size_mb == 100 * 1024).await;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    page.get(&format!("/tenant/acme/templates/{}", big.id)).await.must(200).says("100 GB");

    stage.until("the silent one", async || stage.template("silent").await.is_some()).await;
    let silent = stage.template("silent").await.unwrap();
    assert_eq!((silent.cpus(), silent.memory_mb(), silent.storage_mb()), (None, None, None));
    page.get(&format!("/tenant/acme/templates/{}", silent.id)).await.must(200).says("unknown").says_not("30 GB");
    let form = format!("/tenant/acme/templates/{}/deploy", silent.id);
    let back = page.fill(&form, &[("name", "quiet"), ("power", "")]).await.must(422);
    assert_eq!((back.field("cpus").as_deref(), back.field("disk").as_deref()), (Some(""), Some("")));
    assert!(back.error_of("cpus").is_some() && back.error_of("memory").is_some() && back.error_of("disk").is_some());
    let ask = vapp::Deploy { name: "quiet".into(), ..vapp::Deploy::default() };
    let vdc = stage.acme.vdc("prod");
    let refused = vapp::deploy(&stage.app.domain, &stage.admin, vdc, silent.id, ask).await.err().unwrap();
    assert!(
        refused.fields().iter().any(|f| f.message.contains("Nobody said how large the disk root is.")),
        "{refused:?}"
    );
    let typed = [("name", "quiet"), ("cpus", "2"), ("memory", "3"), ("disk", "50")];
    let made = page.fill(&form, &typed).await.must(303);
    let id = made.location().rsplit('/').next().unwrap().parse().unwrap();
    stage.until("its VM", async || stage.vms(id).await.iter().all(|v| v.made)).await;
    let vm = stage.vms(id).await.remove(0);
    assert_eq!((vm.cpus, vm.memory_mb, vm.storage_mb()), (2, 3072, 50 * 1024));
}
