//! How long a new template of a hub takes to stand in a catalog, beside a bare call that lists the hub's templates.
use crate::{print, stage::Stage};
use anyhow::{Context, Result, anyhow, ensure};
use domain::catalog;
use hub::resource::TEMPLATES;
use model::catalog::CatalogSpec;
use serde_json::Value;
use std::time::{Duration, Instant};

const ROUNDS: usize = 50;
const LOOK: Duration = Duration::from_millis(1);
const NAMESPACE: &str = "openshift";

pub(crate) async fn run() -> Result<()> {
    let stage = Stage::set().await?;
    let operator = domain::bootstrap::operator(&stage.domain).await.map_err(|e| anyhow!("{e}"))?;
    let spec = CatalogSpec { name: "hubs".into(), shared_to_all: true, from_hubs: true, ..CatalogSpec::default() };
    catalog::create(&stage.domain, &operator, operator.org, spec).await.map_err(|e| anyhow!("{e}"))?;
    let controller = stage.controller();
    let hub = &stage.hubs[0];
    let like = hub.objects(TEMPLATES.group, TEMPLATES.plural).into_iter().next().context("the hub has no template")?;
    // the ones that were there before
    let name = like["metadata"]["name"].as_str().context("a template without a name")?.to_owned();
    found(&stage, &name, Instant::now()).await?;
    let client = stage.client(0)?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let began = Instant::now();
        let named = |o: &Value| o["metadata"]["name"].as_str().map(str::to_owned);
        let (all, _) = client.list(&TEMPLATES, Some(NAMESPACE), "", named).await?;
        ensure!(!all.is_empty(), "the hub lists no template");
        bare.push(began.elapsed());
        let name = format!("found-{round}");
        let mut one = (*like).clone();
        one["metadata"]["name"] = name.as_str().into();
        let began = Instant::now();
        hub.plant(TEMPLATES.group, TEMPLATES.plural, one)?;
        ours.push(found(&stage, &name, began).await?);
    }
    println!("\na new template of a hub");
    let (bare, _) = print("a bare call that lists the hub's templates", bare);
    let (ours, _) = print("by SSVirt, until it stands in a catalog", ours);
    println!("{:<52} {:>9.2} times the bare one", "", ours / bare);
    controller.stop().await;
    Ok(())
}

async fn found(stage: &Stage, name: &str, began: Instant) -> Result<Duration> {
    let there = "select count(*) from templates where source = $1 and deleted_at is null";
    loop {
        let source = format!("template/{NAMESPACE}/{name}");
        let n: i64 = sqlx::query_scalar(there).bind(source).fetch_one(&stage.pool).await?;
        if n > 0 {
            return Ok(began.elapsed());
        }
        ensure!(began.elapsed() < Duration::from_secs(60), "the template {name} was not found within a minute");
        tokio::time::sleep(LOOK).await;
    }
}
