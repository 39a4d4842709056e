//! A hub to look into with kubectl: `cargo run -p hubsim --example hub -- <folder> [address]`.
//!
//! Writes `<folder>/kubeconfig` and answers until it is interrupted; the next start continues.

use hubsim::{Hub, Options};
use std::path::PathBuf;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next().map(PathBuf::from) else {
        anyhow::bail!("name a folder for the hub's data");
    };
    let mut options = Options { data_dir: Some(folder.clone()), ..Options::default() };
    if let Some(address) = arguments.next() {
        options.address = address.parse()?;
    }
    let hub = Hub::start(options).await?;
    let path = folder.join("kubeconfig");
    std::fs::write(&path, hub.kubeconfig())?;
    println!("{} answers; kubectl --kubeconfig {}", hub.url(), path.display());
    tokio::signal::ctrl_c().await?;
    hub.stop().await;
    Ok(())
}
