//! An image on its way: through our door into the transfer area, checked there, and on to a hub; beside a plain copy of the
//! same bytes to the same hub's CDI. The server is a process of its own, so that its memory can be told.
use crate::stage::{SECRET, Stage};
use anyhow::{Context, Result, anyhow, ensure};
use domain::{catalog, upload, vapp};
use hub::{
    Key,
    apply::Owner,
    resource::DATA_VOLUMES,
    shape::{
        image::{Image, data_volume},
        names::{IMAGE_ID, image_name},
    },
};
use model::{
    catalog::CatalogSpec,
    template::ItemKind,
    upload::{UploadSpec, UploadState},
};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use uuid::Uuid;

/// The smallest is for what does not depend on the size; it is subtracted from the others.
const SIZES: [u64; 3] = [1 << 20, 256 << 20, 1 << 30];
const LOOK: Duration = Duration::from_millis(5);
const NAMESPACE: &str = "vmaas-system";

/// How long each part of the way took.
#[derive(Clone, Copy)]
struct Way {
    plain: f64,
    to_file: f64,
    to_us: f64,
    checked: f64,
    to_hub: f64,
    /// In MiB: the most that the server held meanwhile.
    memory: f64,
}

pub(crate) async fn run() -> Result<()> {
    let stage = Stage::with(Duration::ZERO).await?;
    let server = Server::start(&stage).await?;
    let actor = stage.actor().await?;
    let spec = CatalogSpec { name: "bench".into(), ..CatalogSpec::default() };
    let catalog = catalog::create(&stage.domain, &actor, actor.org, spec).await.map_err(|e| anyhow!("{e}"))?.id;
    let mut ways = Vec::new();
    for (n, size) in SIZES.into_iter().enumerate() {
        let plain = plain(&stage, size).await?;
        let to_file = to_file(&server.directory, size).await?;
        server.forget_peak()?;
        let spec = UploadSpec { name: format!("image-{n}"), kind: ItemKind::Template, ..UploadSpec::default() };
        let id = upload::begin(&stage.domain, &actor, catalog, spec).await.map_err(|e| anyhow!("{e}"))?;
        let link = upload::get(&stage.domain, &actor, id).await.map_err(|e| anyhow!("{e}"))?.link;
        let head = format!("PUT /transfer/{link}/disk.raw HTTP/1.1\r\n");
        let began = Instant::now();
        send(server.address, &server.certificate, head, size).await?;
        let to_us = began.elapsed();
        let template = loop {
            let now = upload::get(&stage.domain, &actor, id).await.map_err(|e| anyhow!("{e}"))?;
            match now.state {
                UploadState::Done => break now.template,
                UploadState::Open | UploadState::Checking => tokio::time::sleep(LOOK).await,
                _ => return Err(anyhow!("the upload was refused: {}", now.problem)),
            }
        };
        let checked = began.elapsed() - to_us;
        let ask = vapp::Deploy { name: format!("vapp-{n}"), ..vapp::Deploy::default() };
        vapp::deploy(&stage.domain, &actor, stage.vdc, template, ask).await.map_err(|e| anyhow!("{e}"))?;
        let to_hub = brought(&stage, size).await?;
        ways.push(Way {
            plain: plain.as_secs_f64(),
            to_file: to_file.as_secs_f64(),
            to_us: to_us.as_secs_f64(),
            checked: checked.as_secs_f64(),
            to_hub: to_hub.as_secs_f64(),
            memory: server.peak()?,
        });
    }
    tell(&ways);
    Ok(())
}

fn tell(ways: &[Way]) {
    println!(
        "\nseconds for an image of         plain copy   to a file   client to us   checked   us to hub   peak of memory"
    );
    for (size, w) in SIZES.iter().zip(ways) {
        println!(
            "{:>22} MiB {:>15.2} {:>11.2} {:>14.2} {:>9.2} {:>11.2} {:>12.1} MiB",
            size >> 20,
            w.plain,
            w.to_file,
            w.to_us,
            w.checked,
            w.to_hub,
            w.memory
        );
    }
    let (Some(least), Some(most)) = (ways.first(), ways.last()) else { return };
    let mib = (SIZES[SIZES.len() - 1] - SIZES[0]) as f64 / f64::from(1 << 20);
    let rate = |of: fn(&Way) -> f64| mib / (of(most) - of(least)).max(0.001);
    let plain = rate(|w| w.plain);
    println!("{:<52} {plain:>9.0} MiB/s", "a plain copy to the hub");
    println!("{:<52} {:>9.0} MiB/s", "the same bytes to a file, safe on the disk", rate(|w| w.to_file));
    for (name, of) in [
        ("from a client to us, safe on the disk", (|w: &Way| w.to_us) as fn(&Way) -> f64),
        ("from us to the hub", |w| w.to_hub),
        ("all of the way, one part after the other", |w| w.to_us + w.checked + w.to_hub),
    ] {
        let ours = rate(of);
        println!("{name:<52} {ours:>9.0} MiB/s   {:.2} of the plain copy", ours / plain);
    }
}

/// What the disk of the transfer area can do: no network, no TLS, and safe there as often as ours is.
async fn to_file(directory: &Path, size: u64) -> Result<Duration> {
    use std::io::Write;
    let path = directory.join("plain");
    let took = tokio::task::spawn_blocking(move || {
        let (part, began) = (part(), Instant::now());
        let mut file = std::fs::File::create(&path)?;
        for n in 1..=size / part.len() as u64 {
            file.write_all(&part)?;
            if n % 128 == 0 {
                file.sync_data()?;
            }
        }
        file.sync_all()?;
        let took = began.elapsed();
        std::fs::remove_file(path)?;
        anyhow::Ok(took)
    });
    took.await?
}

/// Nothing that could be left out: no byte is like the next.
fn part() -> Vec<u8> {
    (0..256 << 10).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// All of an image to CDI's proxy, as `virtctl image-upload` does.
async fn plain(stage: &Stage, size: u64) -> Result<Duration> {
    let (client, sim) = (stage.client(0)?, &stage.hubs[0]);
    let image = Image {
        id: Uuid::now_v7(),
        hub: "hub-0".into(),
        namespace: NAMESPACE.into(),
        title: "a plain copy".into(),
        size_mb: size >> 20,
        copy_of: None,
    };
    let (owner, key) = (Owner::new(IMAGE_ID, image.id), Key::new(NAMESPACE, image_name(image.id)));
    client.create_or_adopt(&DATA_VOLUMES, &data_volume(&image), &owner, None).await?;
    while client.get(&DATA_VOLUMES, &key).await?["status"]["phase"] != "UploadReady" {
        tokio::time::sleep(LOOK).await;
    }
    let token = client.upload_token(&key).await?;
    let head = format!("POST /v1beta1/upload HTTP/1.1\r\nauthorization: Bearer {}\r\n", token.expose());
    let began = Instant::now();
    send(sim.address(), sim.ca(), head, size).await?;
    Ok(began.elapsed())
}

/// How long after it was made on the hub the image of that size had come there.
async fn brought(stage: &Stage, size: u64) -> Result<Duration> {
    let (began, mut made) = (Instant::now(), None);
    let note = format!("{size} ");
    loop {
        let all = stage.hubs.iter().flat_map(|h| h.objects(DATA_VOLUMES.group, DATA_VOLUMES.plural));
        let storage = format!("{}Mi", size >> 20);
        let ours = all.filter(|v| {
            v["spec"]["storage"]["resources"]["requests"]["storage"] == storage.as_str()
                && !v["metadata"]["labels"][IMAGE_ID].is_null()
                && v["metadata"]["annotations"]["ssvirt.io/description"] != "a plain copy"
        });
        for volume in ours {
            let made = *made.get_or_insert_with(Instant::now);
            let came = volume["metadata"]["annotations"]["hubsim.ssvirt.io/uploaded"].as_str();
            if came.is_some_and(|came| came.starts_with(&note)) {
                return Ok(made.elapsed());
            }
        }
        ensure!(began.elapsed() < Duration::from_secs(300), "the image did not come to a hub within five minutes");
        tokio::time::sleep(LOOK).await;
    }
}

/// One request over TLS with so many bytes; both servers get it from the same few lines.
async fn send(to: SocketAddr, trusted: &str, head: String, size: u64) -> Result<()> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(trusted.as_bytes()) {
        roots.add(certificate?)?;
    }
    let config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let tcp = TcpStream::connect(to).await?;
    tcp.set_nodelay(true)?;
    let mut tls = TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost")?, tcp).await?;
    let head = format!("{head}host: localhost\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n");
    tls.write_all(head.as_bytes()).await?;
    let part = part();
    let mut left = size;
    while left > 0 {
        let next = part.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        tls.write_all(&part[..next]).await?;
        left -= next as u64;
    }
    tls.flush().await?;
    let mut answer = vec![0; 4096];
    let n = tls.read(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer[..n]);
    ensure!(answer.starts_with("HTTP/1.1 200"), "it was answered: {answer}");
    Ok(())
}

/// `ssvirt serve` with a transfer area of its own.
struct Server {
    process: Child,
    address: SocketAddr,
    certificate: String,
    directory: PathBuf,
}

impl Server {
    async fn start(stage: &Stage) -> Result<Server> {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{}", Uuid::now_v7().simple()));
        std::fs::create_dir_all(&directory)?;
        let tls = server::tls::self_signed(&directory, (stage.domain.clock)())?;
        let certificate = std::fs::read_to_string(&tls.cert)?;
        // free a moment ago
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let process = Command::new(env!("CARGO_BIN_EXE_ssvirt"))
            .arg("serve")
            .env("DATABASE_URL", &stage.url)
            .env("SSVIRT_AUTH_SECRET", SECRET)
            .env("SSVIRT_API_HTTP", "off")
            .env("SSVIRT_API_HTTPS", address.to_string())
            .env("SSVIRT_API_TLS_CERT_FILE", &tls.cert)
            .env("SSVIRT_API_TLS_KEY_FILE", &tls.key)
            .env("SSVIRT_IMAGES_DIRECTORY", directory.join("area"))
            .env("LOG_LEVEL", "error")
            .stdout(Stdio::null())
            .spawn()?;
        let server = Server { process, address, certificate, directory };
        for _ in 0..600 {
            if TcpStream::connect(address).await.is_ok() {
                return Ok(server);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(anyhow!("the server does not listen"))
    }

    /// From now on the most memory is counted anew.
    fn forget_peak(&self) -> Result<()> {
        Ok(std::fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5")?)
    }

    fn peak(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).context("no VmHWM")?;
        let kb: f64 = line.split_whitespace().next().context("no number")?.parse()?;
        Ok(kb / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
