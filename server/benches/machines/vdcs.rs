//! How many VDCs a second come to stand, with namespace, quota and policies on their hub, beside bare calls that make a
//! namespace and a quota each.
use crate::stage::Stage;
use anyhow::{Result, anyhow, ensure};
use domain::vdc;
use futures::{StreamExt, TryStreamExt, stream};
use hub::{
    apply::Owner,
    resource::{NAMESPACES, RESOURCE_QUOTAS},
    shape::{
        names::{Place, VDC_ID},
        namespace,
    },
};
use model::{
    VdcId,
    quota::Limits,
    vdc::{Vdc, VdcSpec},
};
use std::time::{Duration, Instant};
use uuid::Uuid;

const VDCS: usize = 200;
/// As many at once as a hub is asked by a worker.
const AT_ONCE: usize = 16;
const LOOK: Duration = Duration::from_millis(5);

pub(crate) async fn run() -> Result<()> {
    let stage = Stage::set().await?;
    sqlx::query("update organizations set vdc_limit = null").execute(&stage.pool).await?;
    let controller = stage.controller();
    // hubs are looked at first, and get the VDCs that were there before
    made(&stage, 1, "first").await?;
    let bare = bare(&stage).await?;
    let ours = made(&stage, VDCS, "vdc").await?;
    println!("\n{VDCS} VDCs, until namespace and quota of all of them stand");
    let rate = |took: Duration| VDCS as f64 / took.as_secs_f64();
    println!("{:<52} {:>9.1} a second", "by bare calls, a namespace and a quota each", rate(bare));
    println!("{:<52} {:>9.1} a second", "by SSVirt, asked for one after another", rate(ours));
    println!("{:<52} {:>9.2} times the bare one", "", rate(ours) / rate(bare));
    controller.stop().await;
    Ok(())
}

async fn made(stage: &Stage, count: usize, name: &str) -> Result<Duration> {
    let operator = domain::bootstrap::operator(&stage.domain).await.map_err(|e| anyhow!("{e}"))?;
    let limits = Limits { vms: Some(10), ..Limits::default() };
    let began = Instant::now();
    let mut ids: Vec<Uuid> = Vec::with_capacity(count);
    for n in 0..count {
        let spec = VdcSpec { name: format!("{name}-{n}"), limits, ..VdcSpec::default() };
        let made: Vdc = vdc::create(&stage.domain, &operator, stage.org, spec).await.map_err(|e| anyhow!("{e}"))?;
        ids.push(made.id.0);
    }
    let standing = "select count(distinct vdc_id) from places where vdc_id = any($1) and ready_at is not null and quota_uid is not null";
    loop {
        let n: i64 = sqlx::query_scalar(standing).bind(&ids).fetch_one(&stage.pool).await?;
        if n == count as i64 {
            return Ok(began.elapsed());
        }
        ensure!(began.elapsed() < Duration::from_secs(300), "{n} of {count} VDCs stand after five minutes");
        tokio::time::sleep(LOOK).await;
    }
}

async fn bare(stage: &Stage) -> Result<Duration> {
    let client = stage.client(0)?;
    let limits = Limits { vms: Some(10), ..Limits::default() };
    let began = Instant::now();
    stream::iter(0..VDCS)
        .map(|n| {
            let client = client.clone();
            let vdc = VdcId(Uuid::now_v7());
            let place = Place {
                org: stage.org,
                org_name: "acme".into(),
                vdc,
                vdc_name: format!("bare-{n}"),
                namespace: format!("bare-{n}"),
            };
            async move {
                let owner = Owner::new(VDC_ID, vdc);
                client.create_or_adopt(&NAMESPACES, &namespace::namespace(&place, true, false), &owner, None).await?;
                let quota = namespace::resource_quota(&place, &limits, &[]);
                client.create_or_adopt(&RESOURCE_QUOTAS, &quota, &owner, None).await?;
                Ok::<_, anyhow::Error>(())
            }
        })
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(began.elapsed())
}
