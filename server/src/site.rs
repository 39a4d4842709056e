//! The site's files (wasm, script, styles, fonts, pictures): inside the binary in a release, read from target/site in a debug build.
//!
//! Their address begins with a hash over all of them, so browsers may keep them for ever and a new release is a new address.
use axum::{
    Router,
    extract::Path,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rust_embed::Embed;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

#[derive(Embed)]
#[folder = "../target/site"]
struct Site;

const RELEASE: bool = !cfg!(debug_assertions);

/// Precompressed variants beside each file, best first: the coding's name and the file's suffix.
const CODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

static HASH: LazyLock<String> = LazyLock::new(|| {
    if !RELEASE {
        return "dev".to_owned(); // the files change while the server runs
    }
    let mut names: Vec<_> = Site::iter().collect();
    names.sort();
    let mut all = Sha256::new();
    for name in &names {
        all.update(name.as_bytes());
        all.update(Site::get(name).map(|file| file.metadata.sha256_hash()).unwrap_or_default());
    }
    all.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
});

/// What the addresses of all assets begin with, without a slash at the end.
pub fn root() -> String {
    format!("/a/{}", *HASH)
}

pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let router = Router::new().route("/a/{hash}/{*path}", get(asset)).route(
        "/favicon.ico", // what browsers ask for on pages that name no icon
        get(|headers: HeaderMap| async move { file("favicon.svg", &headers, "public, max-age=86400") }),
    );
    if RELEASE {
        return router;
    }
    // `cargo leptos watch` swaps stylesheets under this address.
    router.route(
        "/pkg/{*path}",
        get(|Path(path): Path<String>, headers: HeaderMap| async move {
            file(&format!("pkg/{path}"), &headers, "no-cache")
        }),
    )
}

async fn asset(Path((hash, path)): Path<(String, String)>, headers: HeaderMap) -> Response {
    if hash != *HASH {
        return missing();
    }
    file(&path, &headers, if RELEASE { "public, max-age=31536000, immutable" } else { "no-cache" })
}

fn file(path: &str, request: &HeaderMap, cache: &'static str) -> Response {
    let is_variant = CODINGS.iter().any(|(_, suffix)| path.ends_with(suffix));
    let Some(plain) = Site::get(path).filter(|_| !is_variant) else {
        return missing();
    };
    let accepted = request.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let packed = CODINGS
        .into_iter()
        .filter(|(coding, _)| RELEASE && accepts(accepted, coding))
        .find_map(|(coding, suffix)| Some((coding, Site::get(&format!("{path}{suffix}"))?.data)));
    let (coding, data) = match packed {
        Some((coding, data)) => (Some(coding), data),
        None => (None, plain.data),
    };
    let mut response = data.into_response();
    let headers = response.headers_mut();
    if let Ok(kind) = HeaderValue::from_str(plain.metadata.mimetype()) {
        headers.insert(header::CONTENT_TYPE, kind);
    }
    if let Some(coding) = coding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    response
}

/// Whether an Accept-Encoding header names the coding and does not refuse it by `q=0`.
fn accepts(header: &str, coding: &str) -> bool {
    header.split(',').any(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding))
            && !parts.any(|parameter| {
                parameter.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()).is_some_and(|q| q == 0.0)
            })
    })
}

fn missing() -> Response {
    (StatusCode::NOT_FOUND, [(header::CACHE_CONTROL, "no-store")], "Not found").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_are_taken_by_name_and_refused_by_zero() {
        assert!(accepts("gzip, deflate, br", "br"));
        assert!(accepts("gzip;q=0.5,BR;q=1.0", "br"));
        assert!(!accepts("gzip, br;q=0", "br"));
        assert!(!accepts("gzip, brotli", "br"));
        assert!(!accepts("", "gzip"));
    }

    #[test]
    fn unknown_and_packed_names_are_missing() {
        for path in ["nothing.css", "pkg/ssvirt.css.br", "../Cargo.toml"] {
            assert_eq!(file(path, &HeaderMap::new(), "no-cache").status(), StatusCode::NOT_FOUND, "{path}");
        }
    }
}
