//! Values that are used but never shown, and what makes a master secret too weak.

use http::Uri;
use std::{collections::HashMap, fmt};

/// Text that no log, page or message may contain. Printing it says only that it is set.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.0))
    }
}

pub(super) fn masked(text: &str) -> String {
    format!("set, {} characters", text.chars().count())
}

/// A database's address without the password in it; no more than its length where it is not understood.
pub(super) fn masked_url(text: &str) -> String {
    let shown = text.parse::<Uri>().ok().and_then(|uri| {
        let authority = uri.authority()?.as_str();
        let authority = match authority.rsplit_once('@') {
            Some((user, host)) => match user.split_once(':') {
                Some((name, _)) => format!("{name}:****@{host}"),
                None => authority.to_owned(),
            },
            None => authority.to_owned(),
        };
        let options: Vec<&str> = uri
            .query()
            .unwrap_or("")
            .split('&')
            .filter(|pair| pair.starts_with("sslmode=") || pair.starts_with("host="))
            .collect();
        let options = if options.is_empty() { String::new() } else { format!("?{}", options.join("&")) };
        Some(format!("{}://{authority}{}{options}", uri.scheme_str()?, uri.path()))
    });
    shown.unwrap_or_else(|| masked(text))
}

/// The password in a database's address, if there is one.
pub(super) fn has_password(url: &str) -> bool {
    url.split("://").nth(1).and_then(|rest| rest.rsplit_once('@')).is_some_and(|(user, _)| user.contains(':'))
        || url.contains("password=")
}

pub(super) fn database_url(text: &str) -> Result<Secret, String> {
    if !(text.starts_with("postgres://") || text.starts_with("postgresql://")) {
        return Err("is not an address such as postgres://user:password@host:5432/database".into());
    }
    Ok(Secret::new(text))
}

const ADVICE: &str = "make one with: openssl rand -base64 32";

/// The words that samples, templates and people in a hurry use. Six letters or more, so that random text practically never holds one.
const SAMPLE_WORDS: &[&str] = &[
    "secret",
    "password",
    "passwort",
    "changeme",
    "change-me",
    "change_me",
    "example",
    "default",
    "replace",
    "sample",
    "your-",
    "qwerty",
    "letmein",
    "ssvirt",
];

/// Accepts what looks random and long enough; the message never repeats the text.
pub(super) fn master(text: &str) -> Result<Secret, String> {
    let lower = text.to_lowercase();
    let weakness = if SAMPLE_WORDS.iter().any(|word| lower.contains(word)) {
        "is a sample value or made of words".to_owned()
    } else if text.len() < 32 {
        format!("is {} bytes long, but must be at least 32", text.len())
    } else if repeats(text.as_bytes()) {
        "repeats itself".to_owned()
    } else if counts_up_or_down(text.as_bytes()) {
        "counts up or down".to_owned()
    } else if bits(text.as_bytes()) < 90.0 {
        "uses too few different characters to be random".to_owned()
    } else {
        return Ok(Secret::new(text));
    };
    Err(format!("{weakness}; {ADVICE}"))
}

/// One block over and over; one character throughout is the shortest case.
fn repeats(text: &[u8]) -> bool {
    (1..=text.len() / 2).any(|n| text.iter().zip(text.iter().skip(n)).all(|(a, b)| a == b))
}

/// Most neighbours are the same or follow one another, as in abcdef or 11223344.
fn counts_up_or_down(text: &[u8]) -> bool {
    let close = text.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 1).count();
    close * 2 > text.len()
}

/// Shannon's measure over the text's own bytes.
fn bits(text: &[u8]) -> f64 {
    let mut counts: HashMap<u8, f64> = HashMap::new();
    for byte in text {
        *counts.entry(*byte).or_default() += 1.0;
    }
    let length = text.len() as f64;
    counts.values().map(|n| n * (length / n).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use rand::Rng;

    #[test]
    fn weak_secrets_are_refused_and_not_repeated() {
        for (weak, why) in [
            ("your-secret-key", "sample"),
            ("this-is-my-very-long-Secret-for-production-use", "sample"),
            ("ChangeMeChangeMeChangeMeChangeMeChangeMe", "sample"),
            ("short-random-Zq81", "17 bytes"),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "repeats"),
            ("x9Kq2LpWx9Kq2LpWx9Kq2LpWx9Kq2LpW", "repeats"),
            ("abcdefghijklmnopqrstuvwxyz0123456789", "counts"),
            ("aabbababbaabbbabaabababbbabaababbabaabbbab", "counts"),
            ("azazzaazazazzzazaaazzazazazazzazaazz", "too few"),
        ] {
            let problem = master(weak).unwrap_err();
            assert!(problem.contains(why), "{weak}: {problem}");
            assert!(!problem.contains(weak), "{problem}");
        }
    }

    #[test]
    fn random_secrets_pass() {
        let mut rng = rand::rng();
        for _ in 0..2000 {
            let raw: [u8; 32] = rng.random();
            let base64 = base64::engine::general_purpose::STANDARD.encode(raw);
            let hex: String = raw[..16].iter().map(|b| format!("{b:02x}")).collect();
            assert!(master(&base64).is_ok(), "{base64}");
            assert!(master(&hex).is_ok(), "{hex}");
        }
    }

    #[test]
    fn shown_without_the_password() {
        assert_eq!(
            masked_url("postgres://u:canary@db:5432/x?sslmode=require&password=canary"),
            "postgres://u:****@db:5432/x?sslmode=require"
        );
        assert_eq!(masked_url("postgres://u@/x?host=/run/pg"), "set, 28 characters");
        assert!(!masked_url("postgres://u:can@ary@db/x").contains("can"));
        assert_eq!(format!("{:?}", Secret::new("canary")), "set, 6 characters");
        assert!(
            has_password("postgres://u:p@h/d")
                && has_password("postgres:///d?password=p")
                && !has_password("postgres://u@h:1/d")
        );
    }
}
