//! Certificates and keys inside a kubeconfig: base64 of PEM, checked down to the last block.
use base64::{Engine, prelude::BASE64_STANDARD};
use rustls::{
    RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};
use time::OffsetDateTime;
use x509_cert::{Certificate, der::Decode};

/// Base64 to PEM text.
pub(super) fn text(base64: &str) -> Result<String, String> {
    let squeezed: String = base64.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    if squeezed.is_empty() {
        return Err("It is empty.".into());
    }
    let bytes = BASE64_STANDARD
        .decode(squeezed)
        .map_err(|_| "It is not base64. kubectl config view --raw --flatten writes it in the right form.")?;
    String::from_utf8(bytes).map_err(|_| "It is not the base64 of a PEM text (-----BEGIN …).".into())
}

/// Every block of the text is a certificate, and there is one at least.
fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let blocks = pem.matches("-----BEGIN ").count();
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| "The PEM text in it is damaged.")?;
    if found.is_empty() {
        return Err("There is no certificate in it (-----BEGIN CERTIFICATE-----).".into());
    }
    if found.len() != blocks {
        return Err("Something else than certificates is in it. Leave only the certificates.".into());
    }
    Ok(found)
}

pub(super) fn check_authorities(pem: &str) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    for der in certificates(pem)? {
        Certificate::from_der(&der).map_err(|_| "A certificate in it can't be read.")?;
        roots.add(der).map_err(|_| "A certificate in it can't be read.")?;
    }
    Ok(())
}

/// The chain can be read; says when its first certificate ends.
pub(super) fn check_client_certificate(pem: &str) -> Result<OffsetDateTime, String> {
    let chain = certificates(pem)?;
    let first = chain.first().ok_or("There is no certificate in it.")?;
    not_after(first).ok_or_else(|| "The certificate in it can't be read.".into())
}

pub(super) fn check_key(certificate_pem: &str, key_pem: &str) -> Result<(), String> {
    if key_pem.contains("ENCRYPTED") {
        return Err("The key is encrypted, and nobody is here to type its passphrase. Give it decrypted.".into());
    }
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes())
        .map_err(|_| "There is no private key in it (-----BEGIN PRIVATE KEY-----).")?;
    let chain = certificates(certificate_pem)?;
    CertifiedKey::from_der(chain, key, &ring::default_provider()).map(|_| ()).map_err(|e| match e {
        rustls::Error::InconsistentKeys(_) => {
            "The key does not belong to client-certificate-data. Give the pair that was made together.".to_owned()
        }
        _ => "The key is of a kind we can't use. RSA, ECDSA P-256/P-384 and Ed25519 are fine.".to_owned(),
    })
}

fn not_after(der: &[u8]) -> Option<OffsetDateTime> {
    let certificate = Certificate::from_der(der).ok()?;
    let end = certificate.tbs_certificate.validity.not_after.to_unix_duration();
    OffsetDateTime::from_unix_timestamp(i64::try_from(end.as_secs()).ok()?).ok()
}

/// Who a certificate is of, by whom, and until when: for messages about certificates that were refused.
pub(crate) struct About {
    pub(crate) issuer: String,
    pub(crate) expires: Option<OffsetDateTime>,
}

pub(crate) fn about(der: &[u8]) -> Option<About> {
    let certificate = Certificate::from_der(der).ok()?;
    let issuer = certificate.tbs_certificate.issuer.to_string();
    let issuer = issuer.chars().filter(|c| !c.is_control()).take(200).collect();
    Some(About { issuer, expires: not_after(der) })
}
