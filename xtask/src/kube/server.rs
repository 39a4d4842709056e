//! etcd and real API servers on it, each with a controller manager, the definitions of a hub's kinds and SSVirt's account.
use super::{process::Process, program};
use crate::demo::free_address;
use anyhow::{Context, Result, ensure};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::{
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Those that the tests look at, and those that real servers have and that cost nothing.
const CONTROLLERS: &str = "namespace-controller,garbage-collector-controller,resourcequota-controller,\
    persistentvolumeclaim-protection-controller,serviceaccount-controller,serviceaccount-token-controller,\
    root-ca-certificate-publisher-controller,clusterrole-aggregation-controller";
const GOLDEN: &str = "golden";
const ADMINISTRATOR: &str = "admin-token";
pub(super) const ACCOUNT: &str = "system:serviceaccount:ssvirt:ssvirt";
const ROLE: &str = "deploy/hub-role.yaml";
/// Kept are the requests of SSVirt's account, each once.
const AUDIT: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
    {"level": "Metadata", "users": ["system:serviceaccount:ssvirt:ssvirt"]}, {"level": "None"}]}"#;

pub(crate) struct Servers {
    kube: PathBuf,
    folder: PathBuf,
    etcd: Process,
    etcd_url: String,
    pub(super) hubs: Vec<Server>,
}

/// One API server and its manager. Its folder holds the kubeconfigs, and the logs.
pub(crate) struct Server {
    pub(crate) folder: PathBuf,
    kube: PathBuf,
    url: String,
    api: Process,
    manager: Option<Process>,
}

impl Servers {
    pub(crate) fn start(kube: &Path, hubs: usize) -> Result<Servers> {
        let folder = kube.join(format!("run-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let (client, peer) = (free_address()?, format!("http://{}", free_address()?));
        let etcd_url = format!("http://{client}");
        let args = [
            format!("--data-dir={}", folder.join("etcd").display()),
            "--unsafe-no-fsync".into(),
            "--log-level=warn".into(),
            format!("--listen-client-urls={etcd_url}"),
            format!("--advertise-client-urls={etcd_url}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
        ];
        let mut etcd = Process::start(&program(kube, "etcd"), &args, &folder)?;
        etcd.until(|| TcpStream::connect(&client).is_ok())?;
        let mut all = Servers { kube: kube.to_owned(), folder, etcd, etcd_url, hubs: Vec::new() };
        match all.start_hubs(hubs) {
            Ok(()) => Ok(all),
            Err(error) => {
                all.stop(true);
                Err(error)
            }
        }
    }

    fn start_hubs(&mut self, hubs: usize) -> Result<()> {
        for number in 1..=hubs {
            let hub = Server::start(self, &format!("hub-{number}"))?;
            self.hubs.push(hub);
        }
        for hub in &mut self.hubs {
            hub.define(&["own"])?;
            hub.start_manager()?;
            hub.give_account()?;
        }
        println!("{hubs} API servers are ready in {}", self.folder.display());
        Ok(())
    }

    /// One for recorded answers, with what the recorded one had: no templates, and nobody's account.
    pub(crate) fn golden(&self) -> Result<Server> {
        let mut golden = Server::start(self, GOLDEN)?;
        golden.define(&["own/userdefinednetworks.yaml", "own/clusteruserdefinednetworks.yaml"])?;
        golden.start_manager()?;
        Ok(golden)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Managers first, then API servers, then etcd: the other way round each waits for what is gone already.
    pub(crate) fn stop(self, keep: bool) {
        self.hubs.into_iter().for_each(Server::stop);
        self.etcd.stop();
        if keep {
            println!("The servers' logs are in {}", self.folder.display());
        } else if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("{} cannot be removed: {error}", self.folder.display());
        }
    }
}

impl Server {
    fn start(all: &Servers, name: &str) -> Result<Server> {
        let folder = all.folder.join(name);
        let certs = folder.join("certs");
        fs::create_dir_all(&certs)?;
        let file = |name: &str, text: &str| -> Result<String> {
            let path = folder.join(name);
            fs::write(&path, text)?;
            Ok(path.display().to_string())
        };
        let pair = rcgen::KeyPair::generate()?;
        let (key, public) = (file("sa.key", &pair.serialize_pem())?, file("sa.pub", &pair.public_key_pem())?);
        let tokens = file("tokens.csv", &format!("{ADMINISTRATOR},admin,admin-uid,system:masters\n"))?;
        let policy = file("audit-policy.json", AUDIT)?;
        let address = free_address()?;
        let port = address.rsplit(':').next().context("an address without a port")?;
        let args = [
            format!("--etcd-servers={}", all.etcd_url),
            // answers name it; recorded ones have the usual one
            format!("--etcd-prefix=/{}", if name == GOLDEN { "registry" } else { name }),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={port}"),
            "--advertise-address=127.0.0.1".into(),
            // else it complains of a loopback address every ten seconds
            "--endpoint-reconciler-type=none".into(),
            format!("--cert-dir={}", certs.display()),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            format!("--service-account-signing-key-file={key}"),
            format!("--service-account-key-file={public}"),
            "--service-cluster-ip-range=10.0.0.0/24".into(),
            "--authorization-mode=RBAC".into(),
            format!("--token-auth-file={tokens}"),
            format!("--audit-policy-file={policy}"),
            format!("--audit-log-path={}", folder.join("audit.log").display()),
        ];
        let api = Process::start(&program(&all.kube, "kube-apiserver"), &args, &folder)?;
        Ok(Server { folder, kube: all.kube.clone(), url: format!("https://{address}"), api, manager: None })
    }

    /// Waits until it answers and installs the definitions, those of modules and these of ours.
    fn define(&mut self, own: &[&str]) -> Result<()> {
        let certificate = self.folder.join("certs/apiserver.crt");
        let address = self.url.trim_start_matches("https://").to_owned();
        self.api.until(|| certificate.exists() && TcpStream::connect(&address).is_ok())?;
        self.write_kubeconfig("admin", ADMINISTRATOR)?;
        let ready = || self.try_kubectl(&["get", "--raw=/readyz"]).is_ok_and(|said| said == "ok");
        let mut waited = 0;
        while !ready() {
            waited += 1;
            ensure!(waited < 600, "the API server at {} is not ready", self.url);
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        let modules = self.kube.join("crds").display().to_string();
        let own: Vec<String> = own.iter().map(|file| format!("end2end/kube/{file}")).collect();
        let mut args = vec!["create", "--validate=false", "-f", &modules];
        args.extend(own.iter().flat_map(|file| ["-f", file.as_str()]));
        self.kubectl(&args)?;
        self.kubectl(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=180s"]).map(drop)
    }

    /// After the definitions: kinds that come later are collected and counted only minutes later.
    fn start_manager(&mut self) -> Result<()> {
        let args = [
            format!("--kubeconfig={}", self.kubeconfig("admin").display()),
            "--leader-elect=false".into(),
            "--secure-port=0".into(),
            format!("--service-account-private-key-file={}", self.folder.join("sa.key").display()),
            format!("--root-ca-file={}", self.folder.join("certs/apiserver.crt").display()),
            format!("--controllers={CONTROLLERS}"),
            // a count that it missed when it was busy is put right soon: tests do not wait for its five minutes
            "--resource-quota-sync-period=5s".to_owned(),
        ];
        let manager = Process::start(&program(&self.kube, "kube-controller-manager"), &args, &self.folder)?;
        self.manager = Some(manager);
        Ok(())
    }

    /// As docs/OPERATIONS.md has a hub's owner do it.
    fn give_account(&self) -> Result<()> {
        self.kubectl(&["apply", "-f", ROLE])?;
        let token = self.kubectl(&["create", "token", "ssvirt", "--namespace=ssvirt", "--duration=24h"])?;
        self.write_kubeconfig("hub", &token)
    }

    fn kubeconfig(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.kubeconfig"))
    }

    fn write_kubeconfig(&self, name: &str, token: &str) -> Result<()> {
        let certificate = fs::read_to_string(self.folder.join("certs/apiserver.crt"))?;
        let authority = STANDARD.encode(certificate);
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "hub",
            "clusters": [{"name": "hub", "cluster": {"server": self.url, "certificate-authority-data": authority}}],
            "users": [{"name": "hub", "user": {"token": token}}],
            "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "hub"}}],
        });
        fs::write(self.kubeconfig(name), config.to_string())?;
        Ok(())
    }

    /// What kubectl says, as the administrator.
    pub(super) fn kubectl(&self, args: &[&str]) -> Result<String> {
        self.try_kubectl(args).map_err(|said| anyhow::anyhow!("kubectl {}: {said}", args.join(" ")))
    }

    fn try_kubectl(&self, args: &[&str]) -> Result<String, String> {
        let done = Command::new(program(&self.kube, "kubectl"))
            .arg("--kubeconfig")
            .arg(self.kubeconfig("admin"))
            .arg("--cache-dir")
            .arg(self.folder.join("cache"))
            .args(args)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
    }

    pub(crate) fn stop(self) {
        if let Some(manager) = self.manager {
            manager.stop();
        }
        self.api.stop();
    }
}
