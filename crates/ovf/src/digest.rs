//! Checksums of what passes by.
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512};
use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// What VMware's tools wrote for many years. It finds accidents, not attacks.
    Sha1,
    Sha256,
    Sha512,
}

impl Algorithm {
    pub fn parse(word: &str) -> Option<Algorithm> {
        match word.trim().to_ascii_uppercase().as_str() {
            "SHA1" | "SHA-1" => Some(Algorithm::Sha1),
            "SHA256" | "SHA-256" => Some(Algorithm::Sha256),
            "SHA512" | "SHA-512" => Some(Algorithm::Sha512),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Sha1 => "SHA-1",
            Algorithm::Sha256 => "SHA-256",
            Algorithm::Sha512 => "SHA-512",
        }
    }

    /// The length of its hexadecimal form.
    pub fn digits(self) -> usize {
        match self {
            Algorithm::Sha1 => 40,
            Algorithm::Sha256 => 64,
            Algorithm::Sha512 => 128,
        }
    }
}

/// SHA-256 always, since content is known by it; the others where a manifest may ask for them.
#[derive(Clone)]
pub struct Hasher {
    sha256: Context,
    others: Option<(Context, Context)>,
}

impl Hasher {
    pub fn new(all: bool) -> Hasher {
        let others = all.then(|| (Context::new(&SHA1_FOR_LEGACY_USE_ONLY), Context::new(&SHA512)));
        Hasher { sha256: Context::new(&SHA256), others }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        if let Some((sha1, sha512)) = &mut self.others {
            sha1.update(bytes);
            sha512.update(bytes);
        }
    }

    pub fn finish(self) -> Hashes {
        let (sha1, sha512) = match self.others {
            Some((sha1, sha512)) => (hex(sha1.finish().as_ref()), hex(sha512.finish().as_ref())),
            None => (String::new(), String::new()),
        };
        Hashes { sha1, sha256: hex(self.sha256.finish().as_ref()), sha512 }
    }
}

/// In lower-case hexadecimal; empty where it was not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hashes {
    pub sha1: String,
    pub sha256: String,
    pub sha512: String,
}

impl Hashes {
    pub fn get(&self, algorithm: Algorithm) -> &str {
        match algorithm {
            Algorithm::Sha1 => &self.sha1,
            Algorithm::Sha256 => &self.sha256,
            Algorithm::Sha512 => &self.sha512,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}
