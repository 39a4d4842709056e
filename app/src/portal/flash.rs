//! One sentence for the next page, in a cookie: any replica can show it, and nothing is stored.
use axum::http::HeaderValue;

pub(super) const COOKIE: &str = "toast";

pub(super) fn write(text: &str, https: bool) -> Option<HeaderValue> {
    let hex: String = text.bytes().take(1000).map(|b| format!("{b:02x}")).collect();
    HeaderValue::from_str(&format!("{COOKIE}={hex}; {}Max-Age=60", attributes(https))).ok()
}

pub(super) fn clear(https: bool) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("{COOKIE}=; {}Max-Age=0", attributes(https))).ok()
}

pub(super) fn attributes(https: bool) -> &'static str {
    if https { "Path=/; HttpOnly; SameSite=Lax; Secure; " } else { "Path=/; HttpOnly; SameSite=Lax; " }
}

pub(super) fn read(hex: &str) -> Option<String> {
    if !hex.is_ascii() || hex.is_empty() || !hex.len().is_multiple_of(2) {
        return None;
    }
    let bytes: Option<Vec<u8>> =
        (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()).collect();
    String::from_utf8(bytes?).ok()
}
