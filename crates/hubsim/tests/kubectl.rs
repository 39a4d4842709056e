//! kubectl, as it comes, against a hub. Without a kubectl on the machine there is nothing to try.

#![allow(clippy::unwrap_used, reason = "what a test cannot do without is a failure of the test")]

use hubsim::{Hub, Options};
use std::{path::PathBuf, process::Command};

struct Kubectl {
    config: PathBuf,
}

impl Kubectl {
    /// None, with a word about it: there is no kubectl.
    fn of(hub: &Hub) -> Option<Kubectl> {
        if Command::new("kubectl").args(["version", "--client"]).output().is_err() {
            println!("skipped: there is no kubectl on this machine");
            return None;
        }
        let config =
            std::env::temp_dir().join(format!("hubsim-kubectl-{}-{}", std::process::id(), hub.address().port()));
        std::fs::write(&config, hub.kubeconfig()).unwrap();
        Some(Kubectl { config })
    }

    /// What it said, or what it complained about.
    async fn run(&self, line: &str) -> Result<String, String> {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(&self.config).arg("--cache-dir").arg(self.config.with_extension("cache"));
        command.args(line.split_whitespace());
        let done = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
    }
}

impl Drop for Kubectl {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.config);
        let _ = std::fs::remove_dir_all(self.config.with_extension("cache"));
    }
}

#[tokio::test]
async fn kubectl_creates_what_it_sends_as_protobuf() {
    let hub = Hub::start(Options::default()).await.unwrap();
    let Some(kubectl) = Kubectl::of(&hub) else { return };
    for (line, said) in [
        ("create namespace x", "namespace/x created"),
        ("create secret generic s -n x --from-literal=user=root --from-literal=empty=", "secret/s created"),
        ("create configmap c -n x --from-literal=a=b", "configmap/c created"),
        ("create quota q -n x --hard=cpu=2,memory=4Gi,pods=10", "resourcequota/q created"),
        ("create serviceaccount a -n x", "serviceaccount/a created"),
        ("create service clusterip web -n x --tcp=80:http", "service/web created"),
        ("create role r -n x --verb=get,list --resource=secrets", "role.rbac.authorization.k8s.io/r created"),
        ("create rolebinding b -n x --role=r --serviceaccount=x:a", "rolebinding.rbac.authorization.k8s.io/b created"),
        ("create clusterrole r --verb=get --non-resource-url=/logs", "clusterrole.rbac.authorization.k8s.io/r created"),
        (
            "create clusterrolebinding b --clusterrole=r --group=g",
            "clusterrolebinding.rbac.authorization.k8s.io/b created",
        ),
        ("auth can-i create namespaces", "yes"),
        ("auth whoami", "Username"),
    ] {
        let told = kubectl.run(line).await;
        assert!(told.as_ref().is_ok_and(|text| text.contains(said)), "kubectl {line}: {told:?}");
    }
    let object = |group: &str, resource: &str, name: &str| hub.object(group, resource, "x", name).unwrap();
    let namespace = hub.object("", "namespaces", "", "x").unwrap();
    assert_eq!(namespace["status"]["phase"], "Active");
    assert_eq!(namespace["spec"]["finalizers"][0], "kubernetes");
    let secret = object("", "secrets", "s");
    assert_eq!((&secret["data"]["user"], &secret["data"]["empty"]), (&"cm9vdA==".into(), &"".into()));
    assert_eq!(secret["type"], "Opaque");
    assert_eq!(object("", "configmaps", "c")["data"]["a"], "b");
    assert_eq!(object("", "resourcequotas", "q")["spec"]["hard"]["memory"], "4Gi");
    let port = &object("", "services", "web")["spec"]["ports"][0];
    assert_eq!((&port["port"], &port["targetPort"]), (&80.into(), &"http".into()));
    let rules = &object("rbac.authorization.k8s.io", "roles", "r")["rules"][0];
    assert_eq!(
        (&rules["apiGroups"][0], &rules["resources"][0], &rules["verbs"][1]),
        (&"".into(), &"secrets".into(), &"list".into())
    );
    assert_eq!(object("rbac.authorization.k8s.io", "rolebindings", "b")["subjects"][0]["name"], "a");
}

#[tokio::test]
async fn kubectl_is_told_what_is_wrong_and_reads_and_deletes() {
    let hub = Hub::start(Options::default()).await.unwrap();
    let Some(kubectl) = Kubectl::of(&hub) else { return };
    kubectl.run("create namespace x").await.unwrap();
    let twice = kubectl.run("create namespace x").await.unwrap_err();
    assert!(twice.contains("(AlreadyExists): namespaces \"x\" already exists"), "{twice}");
    let wrong = kubectl.run("create namespace Not_A_Name").await.unwrap_err();
    assert!(wrong.contains("is invalid: metadata.name"), "{wrong}");
    assert!(kubectl.run("get namespaces").await.unwrap().contains("Active"));
    assert!(kubectl.run("get namespace x -o yaml").await.unwrap().contains("kubernetes.io/metadata.name: x"));
    let dry = kubectl.run("create configmap c -n x --dry-run=server -o name").await.unwrap();
    assert_eq!(dry.trim(), "configmap/c");
    assert!(hub.object("", "configmaps", "x", "c").is_none());
    kubectl.run("delete namespace x").await.unwrap();
    assert!(hub.object("", "namespaces", "", "x").is_none());
    // a kind with pods in it is refused by name, and not half read
    let refused = kubectl.run("create deployment d --image=x").await.unwrap_err();
    assert!(refused.contains("in an unknown format"), "{refused}");
}
