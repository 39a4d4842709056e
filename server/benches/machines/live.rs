//! From a change on a hub to the line in a browser's stream, beside the way of a request that does almost nothing.
use crate::{print, stage::Stage};
use anyhow::{Context, Result, ensure};
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{TcpListener, TcpStream},
    time::timeout,
};

const ROUNDS: i64 = 300;

fn more_memory(stage: &Stage, n: usize, key: &hub::Key, guest: &str) -> Result<()> {
    stage.hubs[n].edit("kubevirt.io", "virtualmachines", &key.namespace, &key.name, |vm| {
        vm["spec"]["template"]["spec"]["domain"]["memory"]["guest"] = guest.into();
        vm["metadata"]["generation"] = (vm["metadata"]["generation"].as_i64().unwrap_or(1) + 1).into();
    })?;
    Ok(())
}

async fn until_changed(lines: &mut Lines<BufReader<TcpStream>>) -> Result<()> {
    while !lines.next_line().await?.context("the stream ended")?.contains("changed") {}
    Ok(())
}

pub(crate) async fn run(stage: &Stage) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = stage.app.clone();
    use axum::serve::ListenerExt;
    let listener = listener.tap_io(|tcp| drop(tcp.set_nodelay(true)));
    let served = tokio::spawn(async move { axum::serve(listener, app).await });

    // what hubs report reaches streams by way of the database, as with several replicas
    let store = stage.domain.store.clone();
    let followed = tokio::spawn(async move { store.follow_changes().await });

    let mut stream = TcpStream::connect(address).await?;
    let ask =
        format!("GET /events HTTP/1.1\r\nhost: bench\r\ncookie: {}\r\naccept: text/event-stream\r\n\r\n", stage.cookie);
    stream.write_all(ask.as_bytes()).await?;
    let mut lines = BufReader::new(stream).lines();
    loop {
        let line = lines.next_line().await?.context("the stream ended before it began")?;
        ensure!(!line.starts_with("HTTP/1.1") || line.contains(" 200"), "the stream was refused: {line}");
        if line.contains("hello") {
            break;
        }
    }

    // what was done before is written down in turn: a first change comes after all of it
    for (_, n, key) in stage.some(1).await? {
        let began = Instant::now();
        more_memory(stage, n, &key, "192Mi")?;
        timeout(Duration::from_secs(600), until_changed(&mut lines))
            .await
            .context("the hubs are not kept up with")??;
        println!("{:<52} {:>9.1} s", "until all that happened before was heard", began.elapsed().as_secs_f64());
    }
    while timeout(Duration::from_secs(2), lines.next_line()).await.is_ok() {}
    let mut times = Vec::new();
    // the first was changed above: the same said twice is no news
    for (_, n, key) in stage.some(ROUNDS + 1).await?.into_iter().skip(1) {
        // what an earlier change caused is over
        while timeout(Duration::from_millis(30), lines.next_line()).await.is_ok() {}
        let began = Instant::now();
        // by hand: more memory than was asked for
        more_memory(stage, n, &key, "256Mi")?;
        timeout(Duration::from_secs(5), until_changed(&mut lines)).await.context("no line came within 5 s")??;
        times.push(began.elapsed());
    }
    let mut bare = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        stage.fetch(stage.get("/healthz")?).await?;
        bare.push(began.elapsed());
    }
    print("the way of a request that does nothing", bare);
    print("a change on a hub, until its line in the stream", times);
    served.abort();
    followed.abort();
    Ok(())
}
