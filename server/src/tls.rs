//! Certificates: loaded from files, loaded again when the files change, and made on the spot for the demo.

use crate::{settings::TlsFiles, shutdown::Shutdown};
use anyhow::{Context, bail};
use axum_server::tls_rustls::RustlsConfig;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};
use time::OffsetDateTime;

/// How often the files are looked at. Kubernetes swaps mounted secrets without telling anybody.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// Makes ring the process' cryptography, for listeners and clients alike. Calling it again changes nothing.
pub fn use_ring() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// What the listener needs, or why the files cannot be used.
pub fn load(files: &TlsFiles) -> anyhow::Result<Arc<ServerConfig>> {
    let chain = chain(&files.cert)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| anyhow::anyhow!("{} holds no usable private key: {error}", files.key.display()))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| format!("{} and {} do not go together", files.cert.display(), files.key.display()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn chain(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let pem = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| anyhow::anyhow!("{} is not a PEM file: {error}", path.display()))?;
    if chain.is_empty() {
        bail!("{} holds no certificate", path.display());
    }
    Ok(chain)
}

/// When the first certificate of a file ends.
pub fn expiry(path: &Path) -> anyhow::Result<OffsetDateTime> {
    let chain = chain(path)?;
    validity_end(&chain[0])
        .with_context(|| format!("{} holds a certificate without a readable end date", path.display()))
}

/// Loads the files again when they change or SIGHUP arrives. What cannot be used leaves the old certificate in place.
pub async fn keep_fresh(files: TlsFiles, config: RustlsConfig, shutdown: Shutdown) {
    let Ok(mut hangup) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()) else {
        tracing::error!("SIGHUP cannot be listened for; certificates are not loaded again");
        return;
    };
    let mut loaded = stamp(&files);
    loop {
        let asked = tokio::select! {
            () = shutdown.begun() => return,
            _ = hangup.recv() => true,
            () = tokio::time::sleep(LOOK_EVERY) => false,
        };
        let now = stamp(&files);
        if now == loaded && !asked {
            continue;
        }
        loaded = now;
        match load(&files) {
            Ok(fresh) => {
                config.reload_from_config(fresh);
                let ends = expiry(&files.cert).map(|end| end.to_string()).unwrap_or_default();
                tracing::info!(ends, "certificate loaded again");
            }
            Err(error) => tracing::error!(error = format!("{error:#}"), "new certificate not used, the old one stays"),
        }
    }
}

type Stamp = [Option<(SystemTime, u64)>; 2];

fn stamp(files: &TlsFiles) -> Stamp {
    [&files.cert, &files.key]
        .map(|path| fs::metadata(path).ok().and_then(|meta| Some((meta.modified().ok()?, meta.len()))))
}

/// The demo's certificate, made at the first start and again shortly before it ends. Browsers do not know it and say so.
pub fn self_signed(dir: &Path, now: OffsetDateTime) -> anyhow::Result<TlsFiles> {
    let files = TlsFiles { cert: dir.join("tls.crt"), key: dir.join("tls.key") };
    let good_until = now + Duration::from_secs(7 * 24 * 3600);
    if load(&files).is_ok() && expiry(&files.cert).is_ok_and(|end| end > good_until) {
        return Ok(files);
    }
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if let Ok(host) = fs::read_to_string("/proc/sys/kernel/hostname") {
        let host = host.trim();
        if !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.') {
            names.push(host.to_owned());
        }
    }
    let mut params = rcgen::CertificateParams::new(names)?;
    params.distinguished_name.push(rcgen::DnType::CommonName, "SSVirt demo");
    params.not_before = now - Duration::from_secs(24 * 3600);
    params.not_after = now + Duration::from_secs(364 * 24 * 3600);
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let key = rcgen::KeyPair::generate()?;
    let cert = params.self_signed(&key)?;
    write_private(&files.key, &key.serialize_pem())?;
    fs::write(&files.cert, cert.pem()).with_context(|| format!("{} cannot be written", files.cert.display()))?;
    Ok(files)
}

/// Writes a file that only its owner can read.
pub fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let _ = fs::remove_file(path);
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// Certificate -> tbsCertificate -> validity -> notAfter, in DER. Everything else in between is skipped by its length.
fn validity_end(der: &[u8]) -> Option<OffsetDateTime> {
    let (_, certificate, _) = element(der)?;
    let (_, tbs, _) = element(certificate)?;
    let (tag, _, mut rest) = element(tbs)?;
    const VERSION: u8 = 0xa0;
    if tag == VERSION {
        rest = element(rest)?.2; // the serial number, which comes first otherwise
    }
    let (_, _, rest) = element(rest)?; // signature algorithm
    let (_, _, rest) = element(rest)?; // issuer
    let (_, validity, _) = element(rest)?;
    let (_, _, after_start) = element(validity)?;
    let (tag, end, _) = element(after_start)?;
    let text = std::str::from_utf8(end).ok()?;
    let (year, rest) = match tag {
        0x17 => {
            let short: i32 = text.get(..2)?.parse().ok()?;
            (if short < 50 { 2000 + short } else { 1900 + short }, text.get(2..)?)
        }
        0x18 => (text.get(..4)?.parse().ok()?, text.get(4..)?),
        _ => return None,
    };
    let part = |from: usize| rest.get(from..from + 2)?.parse::<u8>().ok();
    let date = time::Date::from_calendar_date(year, time::Month::try_from(part(0)?).ok()?, part(2)?).ok()?;
    Some(date.with_hms(part(4)?, part(6)?, part(8)?).ok()?.assume_utc())
}

/// The tag and content of the first DER element, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f)).filter(|(d, _)| d.len() <= 4)?;
        (digits.iter().fold(0, |n, d| n << 8 | usize::from(*d)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
