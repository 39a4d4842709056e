//! Signing in, beside the bare check of the password; and powering on until it is accepted, beside one bare commit.
use crate::{print, stage::Stage};
use anyhow::{Result, ensure};
use model::user::Password;
use server::demo;
use std::time::Instant;
use uuid::Uuid;

pub(crate) async fn log_in(stage: &Stage, rounds: usize) -> Result<()> {
    let (mut bare, mut ours) = (vec![], vec![]);
    for _ in 0..rounds {
        let began = Instant::now();
        let hash: String =
            sqlx::query_scalar("select password_hash from users where org_id = $1 and name = 'acme-admin'")
                .bind(stage.org)
                .fetch_one(&stage.pool)
                .await?;
        let fits = stage.domain.hasher.verify(&Password::new(demo::PASSWORD), Some(&hash)).await;
        ensure!(matches!(fits, Ok(true)), "the password does not fit");
        bare.push(began.elapsed());

        let began = Instant::now();
        stage.log_in().await?;
        ours.push(began.elapsed());
    }
    let (bare, _) = print("  the bare row and check of a password", &bare);
    let (ours, _) = print("signing in, with session, audit and token", &ours);
    println!("{:<60} {:>9.2} times the bare one\n", "", ours / bare);
    Ok(())
}

/// Of machines that are stopped; nothing of them is on a hub, and none is asked.
pub(crate) async fn power_on(stage: &Stage, rounds: usize) -> Result<()> {
    let sql = "select id from vms where obs_state = 'stopped' and description = 'of the bench' limit $1";
    let stopped: Vec<Uuid> = sqlx::query_scalar(sql).bind(rounds as i64).fetch_all(&stage.pool).await?;
    let (mut bare, mut ours) = (vec![], vec![]);
    for id in stopped {
        let began = Instant::now();
        let sql = "update vms set computer_name = computer_name where id = $1";
        sqlx::query(sql).bind(id).execute(&stage.pool).await?;
        bare.push(began.elapsed());

        let began = Instant::now();
        let (status, text) = stage.call("POST", &format!("/api/vApp/vm-{id}/power/action/powerOn")).await?;
        ours.push(began.elapsed());
        ensure!(status.as_u16() == 202, "powering on was answered with {status}: {text}");
    }
    println!();
    let (bare, _) = print("  one bare commit to one row", &bare);
    let (ours, p99) = print("powering a VM on, until it is accepted", &ours);
    println!("{:<60} {:>9.2} times the bare one; p99 {p99:.2} ms of the 20 ms that are allowed", "", ours / bare);
    Ok(())
}
