//! How fast a VM is accepted, with all hubs well and with all of them down.
use crate::{print, stage::Stage};
use anyhow::{Result, ensure};
use hubsim::Fault;
use std::time::{Duration, Instant};
use uuid::Uuid;

const ROUNDS: usize = 300;

pub(crate) async fn run(stage: &Stage) -> Result<()> {
    let well = accepted(stage, "well").await?;
    for hub in &stage.hubs {
        hub.faults().set(Fault::Refuse, true);
    }
    loop {
        let reached: i64 =
            sqlx::query_scalar("select count(*) from hubs where state <> 'unreachable'").fetch_one(&stage.pool).await?;
        if reached == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let down = accepted(stage, "down").await?;
    print("a VM is accepted, all hubs well", well);
    print("a VM is accepted, all hubs down", down);
    Ok(())
}

async fn accepted(stage: &Stage, word: &str) -> Result<Vec<Duration>> {
    // each in a vApp of ten: nobody has hundreds in one
    let vapps: Vec<Uuid> =
        sqlx::query_scalar("select id from vapps where attempted_at is not null order by id desc limit $1")
            .bind(ROUNDS as i64)
            .fetch_all(&stage.pool)
            .await?;
    let mut times = Vec::new();
    for (n, vapp) in vapps.into_iter().enumerate() {
        let form = format!("name={word}-{n}&description=&cpus=1&memory=1&disk=1&power=on");
        let began = Instant::now();
        let answer = stage.fetch(stage.post(&format!("/tenant/acme/vapps/{vapp}/add"), form)?).await?;
        ensure!(answer.status().is_redirection(), "it was answered with {}", answer.status());
        times.push(began.elapsed());
    }
    Ok(times)
}
