//! The binary `ssvirt`.
use anyhow::{Context, Result};
use axum::{Router, response::Html, routing::get};

use server::site;

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip_while(|arg| arg != "--http").skip(1);
    let address = args.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let page = Html(format!("<!doctype html><html lang=en><title>SSVirt</title><!-- assets: {} -->", site::root()));
    let router = Router::new().route("/", get(|| async move { page })).merge(site::router());
    let listener =
        tokio::net::TcpListener::bind(&address).await.with_context(|| format!("cannot listen on {address}"))?;
    println!("http://{address}");
    axum::serve(listener, router).with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}
