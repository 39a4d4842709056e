//! Durable reconciles a second, beside a loop that only claims, patches and marks as done.
use crate::stage::Stage;
use anyhow::Result;
use futures::{StreamExt, stream};
use hub::{Client, Key, resource::VIRTUAL_MACHINES};
use serde_json::json;
use std::time::{Duration, Instant};
use uuid::Uuid;

const COUNT: i64 = 4_000;

pub(crate) async fn run(stage: &Stage) -> Result<()> {
    let bare = bare(stage).await?;
    // what the controller heard of it is no part of ours
    stage.until_nothing_is_heard().await?;
    let ours = ours(stage).await?;
    println!("{:<52} {bare:>9.0} /s", "claim, patch and done, 64 at once, nothing else");
    println!("{:<52} {ours:>9.0} /s   {:.2} of that", "durable reconciles: a rename of each", ours / bare);
    Ok(())
}

/// Every machine gets a new name, all at once.
async fn ours(stage: &Stage) -> Result<f64> {
    let began = Instant::now();
    sqlx::query(
        "with changed as (
           update vms set name = name || '-again', generation = generation + 1
           where id in (select id from vms order by id limit $1) returning id, org_id, hub_id)
         insert into work (kind, id, org_id, hub_id) select 'vm', id, org_id, hub_id from changed",
    )
    .bind(COUNT)
    .execute(&stage.pool)
    .await?;
    loop {
        let left: i64 =
            sqlx::query_scalar("select count(*) from work where kind = 'vm'").fetch_one(&stage.pool).await?;
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let rate = COUNT as f64 / began.elapsed().as_secs_f64();
    let behind: i64 =
        sqlx::query_scalar("select count(*) from vms where applied <> generation").fetch_one(&stage.pool).await?;
    anyhow::ensure!(behind == 0, "{behind} machines were not brought to what was asked for");
    Ok(rate)
}

async fn bare(stage: &Stage) -> Result<f64> {
    sqlx::query("create table bare (id uuid primary key, hub integer, name text, uid text, lease timestamptz default '-infinity')")
        .execute(&stage.pool)
        .await?;
    sqlx::query("insert into bare select id, substr(hub_id, 5)::integer, hub_name, uid from vms order by id limit $1")
        .bind(COUNT)
        .execute(&stage.pool)
        .await?;
    sqlx::query("create index on bare (lease)").execute(&stage.pool).await?;
    sqlx::query("analyze bare").execute(&stage.pool).await?;
    let clients = (0..stage.hubs.len()).map(|n| stage.client(n)).collect::<Result<Vec<Client>>>()?;
    let began = Instant::now();
    stream::iter(0..64).for_each_concurrent(64, |_| worker(stage, &clients)).await;
    Ok(COUNT as f64 / began.elapsed().as_secs_f64())
}

async fn worker(stage: &Stage, clients: &[Client]) {
    loop {
        let claimed: Vec<(Uuid, i32, String, String)> = sqlx::query_as(
            "update bare set lease = now() + interval '8 seconds' where id =
               (select id from bare where lease < now() limit 1 for update skip locked)
             returning id, hub, name, uid",
        )
        .fetch_all(&stage.pool)
        .await
        .unwrap_or_default();
        if claimed.is_empty() {
            return;
        }
        for (id, hub, name, uid) in claimed {
            let key = Key::new(format!("vdc-bench-{hub}"), name);
            let patch = json!({"metadata": {"annotations": {"bench": id.to_string()}}});
            let patched = clients[hub as usize].patch_fenced(&VIRTUAL_MACHINES, &key, &uid, patch).await;
            if let Err(e) = patched {
                eprintln!("the bare loop failed: {e}");
                return;
            }
            let _ = sqlx::query("delete from bare where id = $1").bind(id).execute(&stage.pool).await;
        }
    }
}
