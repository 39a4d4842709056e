//! Requests as commands of curl.
use super::{Site, shell::word, xml::El};
use serde_json::Value;

/// What an address of `/api` takes and gives; `/cloudapi` is JSON.
fn accept(path: &str) -> &'static str {
    if path.starts_with("cloudapi/") { "application/json;version=39.0" } else { "application/*+xml;version=39.0" }
}

/// `more`: what stands between the method and the headers, as `-X POST`.
fn call(site: &Site, more: &str, path: &str, headers: &[&str]) -> String {
    let mut line = format!("curl -sS --fail-with-body{more} \\\n  -H \"Authorization: Bearer $SSVIRT_TOKEN\" \\\n");
    line += &format!("  -H {} \\\n", word(&format!("Accept: {}", accept(path))));
    for header in headers {
        line += &format!("  -H {} \\\n", word(header));
    }
    line + "  " + &address(site, path)
}

/// One with a variable in it is set in double quotes. Nothing else in our own addresses means anything to a shell.
fn address(site: &Site, path: &str) -> String {
    let href = site.href(path);
    if path.contains('$') { format!("\"{href}\"") } else { word(&href) }
}

/// A text as a part of an address.
pub(super) fn percent(text: &str) -> String {
    let one = |b: u8| match b {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    };
    text.bytes().map(one).collect()
}

pub(super) fn get(site: &Site, path: &str) -> String {
    call(site, "", path, &[])
}

/// Without a body.
pub(super) fn post(site: &Site, path: &str) -> String {
    call(site, " -X POST", path, &[])
}

/// `kind`: of the document, as `composeVAppParams`.
pub(super) fn post_xml(site: &Site, path: &str, kind: &str, body: &El) -> String {
    let line = call(site, " -X POST", path, &[&format!("Content-Type: {}", media(kind))]);
    format!("{line} \\\n  --data-binary @- <<'XML'\n{body}\nXML")
}

/// The same where `body` has variables in it; what is text is `still`.
pub(super) fn post_open_xml(site: &Site, path: &str, kind: &str, body: &str) -> String {
    let line = call(site, " -X POST", path, &[&format!("Content-Type: {}", media(kind))]);
    format!("{line} \\\n  --data-binary @- <<XML\n{body}\nXML")
}

fn media(kind: &str) -> String {
    match kind.strip_prefix("admin.") {
        Some(kind) => format!("application/vnd.vmware.admin.{kind}+xml"),
        None => format!("application/vnd.vmware.vcloud.{kind}+xml"),
    }
}

pub(super) fn send_json(site: &Site, method: &str, path: &str, body: &Value) -> String {
    let line = call(site, &format!(" -X {method}"), path, &["Content-Type: application/json"]);
    format!("{line} \\\n  --data-binary @- <<'JSON'\n{body:#}\nJSON")
}

/// `body` has variables in it.
pub(super) fn post_open_json(site: &Site, path: &str, body: &str) -> String {
    let line = call(site, " -X POST", path, &["Content-Type: application/json"]);
    format!("{line} \\\n  --data-binary @- <<JSON\n{body}\nJSON")
}

/// What a request answers, cut out by `sed` and kept in a variable.
pub(super) fn kept(variable: &str, request: &str, pattern: &str) -> String {
    let cut = format!("sed -n 's|.*{pattern}.*|\\1|p' | head -n 1");
    // the pipe stands in the line of a here-document's mark
    match request.split_once("<<").and_then(|(line, rest)| Some((line, rest.split_once('\n')?))) {
        Some((line, (mark, body))) => format!("{variable}=$(\n{line}<<{mark} | {cut}\n{body}\n)"),
        None => format!("{variable}=$(\n{request} | {cut}\n)"),
    }
}

/// Commands below each other, each with a line that says what it is for.
pub(super) fn steps(all: &[(&str, String)]) -> String {
    all.iter().map(|(what, code)| format!("# {what}\n{code}")).collect::<Vec<_>>().join("\n\n")
}
