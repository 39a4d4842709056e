//! 100 of 20,000 VMs in both forms, with a filter, and a vApp with its ten VMs.
use crate::{bare, print, stage::Stage};
use anyhow::Result;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Every round does each of them once, so that whatever else the machine does hits all alike.
pub(crate) async fn run(stage: &Stage, rounds: usize) -> Result<()> {
    let vapp: Uuid = sqlx::query_scalar("select id from vapps where description = 'of the bench' limit 1")
        .fetch_one(&stage.pool)
        .await?;
    let whole = format!("/api/vApp/vapp-{vapp}");
    // what it says is known: the bare one reads the same rows and writes the same document
    let root = xml::parse(&stage.get(&whole).await?, &LIMITS)?;
    let filter = "filter=name==vm-vapp-1*;status==POWERED_ON;isVAppTemplate==false";
    let condition = "and t.name like 'vm-vapp-1%' and t.obs_state in ('running', 'migrating', 'stopping')";
    let of_vapp = format!("and t.vapp_id = '{vapp}'");
    let (pool, org) = (&stage.pool, stage.org);
    let mut times: [Vec<Duration>; 9] = Default::default();
    for round in 0..rounds + 5 {
        let mut took = Vec::with_capacity(9);
        let mut began = Instant::now();
        let mut lap = |length: usize| {
            took.push(began.elapsed());
            assert!(length > 100, "an answer is short");
            began = Instant::now();
        };
        lap(stage.get("/api/session").await?.len());
        lap(bare::json(pool, org, "").await?.len());
        lap(stage.get("/cloudapi/1.0.0/vms?pageSize=100").await?.len());
        lap(bare::xml(pool, org, "").await?.len());
        lap(stage.get("/api/query?type=vm&format=records&pageSize=100").await?.len());
        lap(bare::xml(pool, org, condition).await?.len());
        lap(stage.get(&format!("/api/query?type=vm&format=records&pageSize=100&{filter}")).await?.len());
        let (rows, _) = bare::rows(pool, org, &of_vapp).await?;
        lap(xml::again(&root, &[]).len() + rows.len());
        lap(stage.get(&whole).await?.len());
        // the first ones fill caches
        if round >= 5 {
            times.iter_mut().zip(took).for_each(|(all, one)| all.push(one));
        }
    }
    let [session, bare_json, json, bare_xml, xml, bare_some, some, bare_vapp, vapp] = &times;
    let (who, _) = print("who asks: the edge, token, session, rights, a small answer", session);
    for (name, bare, ours) in [
        ("100 of all VMs as JSON, /cloudapi/1.0.0/vms", bare_json, json),
        ("100 of all VMs as XML, /api/query?type=vm", bare_xml, xml),
        ("100 VMs by name and status, filter=name==…;status==…", bare_some, some),
        ("a vApp of 10 VMs, /api/vApp/vapp-…", bare_vapp, vapp),
    ] {
        println!();
        let (bare, _) = print("  bare SQL of the same rows, the number of all, the same form", bare);
        let (ours, _) = print(name, ours);
        println!("{:<60} {:>9.2} times the bare one, {:.2} without who asks", "", ours / bare, (ours - who) / bare);
    }
    Ok(())
}

const LIMITS: xml::Limits = xml::Limits {
    what: "document",
    bytes: 64 << 20,
    depth: 64,
    elements: 100_000,
    attributes: 128,
    name_bytes: 255,
    lenient: true,
};
