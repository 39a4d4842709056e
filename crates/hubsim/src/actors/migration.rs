//! VirtualMachineInstanceMigrations: a running guest moves to another node.
use super::{
    actor::{Actor, Again},
    api::Result,
    json::{Look, put, stamp},
    kind::{INSTANCE, Kind, MIGRATION, NODE},
    machine::strategy,
    mirror::Key,
    world::World,
};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) struct Migrations;

/// A migration's way, one step each.
const PHASES: [&str; 6] = ["Pending", "Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running"];

impl Actor for Migrations {
    const KIND: Kind = MIGRATION;
    const HEARS: &'static [Kind] = &[MIGRATION];

    fn concerns(_: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        new.or(old).map(Key::of).into_iter().collect()
    }

    async fn look(world: &World, migration: Arc<Value>) -> Result<Again> {
        let phase = migration.text("/status/phase").unwrap_or_default();
        if migration.dying() || matches!(phase, "Succeeded" | "Failed") {
            return Ok(Again::No);
        }
        if let Some(wait) = world.wait_for(MIGRATION, &migration, phase, 1) {
            return Ok(Again::In(wait));
        }
        let vmi = world.find(INSTANCE, migration.namespace(), migration.text("/spec/vmiName").unwrap_or_default());
        let Some(vmi) = vmi.filter(|i| strategy::phase(i) == "Running" && !i.dying()) else {
            return enter(world, &migration, "Failed").await;
        };
        match PHASES.iter().position(|p| *p == phase) {
            None => enter(world, &migration, PHASES[0]).await,
            // the guest moves as the last step is entered
            Some(i) if i + 1 == PHASES.len() => {
                arrive(world, &migration, &vmi).await?;
                enter(world, &migration, "Succeeded").await
            }
            Some(i) => {
                if i == 1 {
                    leave(world, &migration, &vmi).await?;
                }
                enter(world, &migration, PHASES[i + 1]).await
            }
        }
    }

    fn gone(_: &World, _: &Key) {}
}

async fn enter(world: &World, migration: &Value, phase: &str) -> Result<Again> {
    let mut status = migration.get("status").filter(|s| s.is_object()).cloned().unwrap_or_else(|| json!({}));
    let mut times = status.list("/phaseTransitionTimestamps").to_vec();
    times.push(json!({"phase": phase, "phaseTransitionTimestamp": stamp(world.now())}));
    status["phase"] = json!(phase);
    status["phaseTransitionTimestamps"] = json!(times);
    world.write_status(MIGRATION, migration, status).await?;
    Ok(Again::No)
}

fn is_this(migration: &Value, vmi: &Value) -> bool {
    vmi.text("/status/migrationState/migrationUid") == Some(migration.uid())
}

async fn leave(world: &World, migration: &Value, vmi: &Value) -> Result<()> {
    if is_this(migration, vmi) {
        return Ok(());
    }
    let here = vmi.text("/status/nodeName").unwrap_or_default().to_owned();
    let mut nodes: Vec<String> = world.all(NODE).iter().map(|n| n.name().to_owned()).filter(|n| *n != here).collect();
    nodes.sort();
    let there =
        nodes.get(world.chance.stream(&["migrate", migration.uid()]).below(nodes.len())).unwrap_or(&here).clone();
    let mut status = vmi["status"].clone();
    status["migrationState"] = json!({
        "migrationUid": migration.uid(), "sourceNode": here, "targetNode": there, "mode": "PreCopy",
        "startTimestamp": stamp(world.now()),
        "targetPod": format!("virt-launcher-{}-{}", vmi.name(), world.chance.suffix(&["pod", migration.uid()], 5)),
    });
    world.write_status(INSTANCE, vmi, status).await?;
    Ok(())
}

async fn arrive(world: &World, migration: &Value, vmi: &Value) -> Result<()> {
    if !is_this(migration, vmi) || vmi.flag("/status/migrationState/completed") {
        return Ok(());
    }
    let mut new = vmi.clone();
    let node = vmi["status"]["migrationState"]["targetNode"].clone();
    put(&mut new, "/status/migrationState/completed", json!(true));
    put(&mut new, "/status/migrationState/endTimestamp", json!(stamp(world.now())));
    put(&mut new, "/status/nodeName", node.clone());
    put(&mut new, "/metadata/labels/kubevirt.io~1nodeName", node);
    world.write(INSTANCE, &new).await?;
    Ok(())
}
