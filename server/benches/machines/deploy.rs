//! A vApp of ten VMs, from the press of the button until all of them run, beside the same objects made by bare calls to
//! the same hub, all at once.
use crate::{print, stage::Stage};
use anyhow::{Context, Result, anyhow, ensure};
use domain::vapp::{Guest, compose};
use futures::future::try_join_all;
use hub::{
    Client, Resource,
    apply::Owner,
    resource::{SECRETS, VIRTUAL_MACHINES},
};
use hubsim::Hub;
use model::{
    VappId,
    vapp::VappSpec,
    vm::{Disk, Power, VmSpec},
};
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const VMS: usize = 10;
const ROUNDS: usize = 10;
const LOOK: Duration = Duration::from_millis(2);

/// With hubs of which each step takes no time, and with such that take as long as the demo's.
pub(crate) async fn run() -> Result<()> {
    for (what, step) in
        [("that take no time", Duration::ZERO), ("on which a boot takes 2 s", Duration::from_millis(500))]
    {
        let stage = Stage::with(step).await?;
        let controller = stage.controller();
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        // the first one makes the VDC's namespace, and shows what its objects are
        let first = deployed(&stage, "first").await?.1;
        let (sim, objects) = made(&stage, first)?;
        let client = stage.client(sim)?;
        for round in 0..ROUNDS {
            ours.push(deployed(&stage, &format!("shop-{round}")).await?.0);
            bare.push(by_hand(&stage.hubs[sim], &client, &objects, round).await?);
        }
        println!("\na vApp of {VMS} VMs until all of them run, on hubs {what}");
        let (bare, _) = print("its objects by bare calls, all at once", bare);
        let (ours, _) = print("by SSVirt, as its pages show it", ours);
        println!("{:<52} {:>9.2} times the bare one", "", ours / bare);
        controller.stop().await;
    }
    Ok(())
}

async fn deployed(stage: &Stage, name: &str) -> Result<(Duration, VappId)> {
    let vm = |n| VmSpec {
        name: format!("vm-{n}"),
        cpus: 1,
        memory_mb: 1024,
        power: Power::On,
        disks: vec![Disk { name: "root".into(), size_mb: 1024, ..Disk::default() }],
        ..VmSpec::default()
    };
    let spec = VappSpec { name: name.into(), vms: (0..VMS).map(vm).collect(), ..VappSpec::default() };
    let guest = Guest { user_data: "#cloud-config\npackages: [nginx]\n".into(), ..Guest::default() };
    let actor = stage.actor().await?;
    let began = Instant::now();
    let vapp = compose(&stage.domain, &actor, stage.vdc, spec, guest).await.map_err(|e| anyhow!("{e}"))?.vapp;
    let running = "select count(*) from vms where vapp_id = $1 and obs_state = 'running'";
    loop {
        let run: i64 = sqlx::query_scalar(running).bind(vapp.0).fetch_one(&stage.pool).await?;
        if run == VMS as i64 {
            return Ok((began.elapsed(), vapp));
        }
        ensure!(began.elapsed() < Duration::from_secs(120), "{run} of {VMS} VMs run after two minutes");
        tokio::time::sleep(LOOK).await;
    }
}

/// What was made on which hub, secrets first: with other names it can be made again.
fn made(stage: &Stage, vapp: VappId) -> Result<(usize, Vec<Value>)> {
    let mark = vapp.0.to_string();
    let ours = |o: &Arc<Value>| o["metadata"]["labels"]["ssvirt.io/vapp-id"] == mark.as_str();
    for (n, hub) in stage.hubs.iter().enumerate() {
        let of = |r: &Resource| hub.objects(r.group, r.plural).into_iter().filter(ours).collect::<Vec<_>>();
        let (secrets, vms) = (of(&SECRETS), of(&VIRTUAL_MACHINES));
        if vms.len() == VMS {
            ensure!(secrets.len() == VMS, "{} secrets of {VMS} VMs", secrets.len());
            return Ok((n, secrets.iter().chain(&vms).map(|o| bare_object(o)).collect()));
        }
    }
    Err(anyhow!("no hub has all VMs of the first vApp"))
}

/// As somebody would write it down: without what the hub added, and switched on.
fn bare_object(o: &Value) -> Value {
    let mut o = o.clone();
    if let Some(meta) = o["metadata"].as_object_mut() {
        meta.retain(|key, _| ["name", "namespace", "labels", "annotations"].contains(&key.as_str()));
    }
    if let Some(all) = o.as_object_mut() {
        all.remove("status");
    }
    if o["kind"] == VIRTUAL_MACHINES.kind {
        o["spec"]["runStrategy"] = "RerunOnFailure".into();
    }
    o
}

/// The same under names of its own, and with labels that nobody follows.
fn again(o: &Value, names: &[String], round: usize) -> Result<Value> {
    let mut text = o.to_string().replace("ssvirt.io/", "bench.example/");
    for name in names {
        text = text.replace(name.as_str(), &format!("{name}-{round}"));
    }
    Ok(serde_json::from_str(&text)?)
}

async fn by_hand(sim: &Hub, client: &Client, objects: &[Value], round: usize) -> Result<Duration> {
    let name = |o: &Value| o["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let vms = || objects.iter().filter(|o| o["kind"] == VIRTUAL_MACHINES.kind);
    let names: Vec<String> = vms().map(name).collect();
    let all = objects.iter().map(|o| again(o, &names, round)).collect::<Result<Vec<_>>>()?;
    let namespace = objects[0]["metadata"]["namespace"].as_str().context("it has no namespace")?.to_owned();
    let vapp = all[0]["metadata"]["labels"]["bench.example/vapp-id"].as_str().context("it has no label")?.to_owned();
    let owner = Owner::new("bench.example/vapp-id", vapp);
    let began = Instant::now();
    for resource in [&SECRETS, &VIRTUAL_MACHINES] {
        let of_kind = all.iter().filter(|o| o["kind"] == resource.kind);
        try_join_all(of_kind.map(|o| client.create_or_adopt(resource, o, &owner, None))).await?;
    }
    loop {
        let runs = |name: &String| {
            let found = sim.object("kubevirt.io", "virtualmachineinstances", &namespace, &format!("{name}-{round}"));
            found.is_some_and(|i| i["status"]["phase"] == "Running")
        };
        if names.iter().all(runs) {
            return Ok(began.elapsed());
        }
        ensure!(began.elapsed() < Duration::from_secs(120), "what was made by hand does not run after two minutes");
        tokio::time::sleep(LOOK).await;
    }
}
