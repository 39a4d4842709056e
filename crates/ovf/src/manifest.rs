//! Manifests: one line a file, `SHA256(disk.vmdk)= …`.
use crate::{
    Algorithm, Hashes, limit,
    refused::{Reason, Result, refuse, shown},
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub digests: Vec<Digest>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    pub file: String,
    pub algorithm: Algorithm,
    pub hex: String,
}

impl Manifest {
    pub fn parse(text: &str) -> Result<Manifest> {
        if text.len() > limit::MANIFEST_BYTES {
            return refuse(
                Reason::TooLarge,
                "manifest",
                format!("It is larger than {} KiB.", limit::MANIFEST_BYTES >> 10),
            );
        }
        let mut manifest = Manifest::default();
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
            let Some(digest) = read(line) else {
                return refuse(Reason::Malformed, "manifest", format!("The line {:?} can't be read.", shown(line)));
            };
            if digest.hex.len() != digest.algorithm.digits() || !digest.hex.bytes().all(|b| b.is_ascii_hexdigit()) {
                let message = format!("Its {} in the manifest is not one.", digest.algorithm.name());
                return refuse(Reason::Malformed, digest.file, message);
            }
            if manifest.digests.iter().any(|d| d.file == digest.file) {
                return refuse(Reason::Duplicate, digest.file, "It is in the manifest twice.");
            }
            if manifest.digests.len() > limit::FILES {
                return refuse(Reason::TooMany, "manifest", format!("It has more than {} lines.", limit::FILES));
            }
            manifest.digests.push(digest);
        }
        match manifest.digests.is_empty() {
            true => refuse(Reason::Malformed, "manifest", "It is empty."),
            false => Ok(manifest),
        }
    }

    /// Holds a file against its line. A file without one is refused: it could be anything.
    pub fn check(&self, file: &str, hashes: &Hashes) -> Result<()> {
        let Some(digest) = self.digests.iter().find(|d| d.file == file) else {
            return refuse(Reason::Checksum, file, "The manifest does not name it.");
        };
        match digest.hex.eq_ignore_ascii_case(hashes.get(digest.algorithm)) {
            true => Ok(()),
            false => {
                let message = format!(
                    "Its {} is not the manifest's: it was damaged or changed. Upload it again.",
                    digest.algorithm.name()
                );
                refuse(Reason::Checksum, file, message)
            }
        }
    }
}

fn read(line: &str) -> Option<Digest> {
    let (algorithm, rest) = line.split_once('(')?;
    // the last bracket: names may have their own
    let (file, hex) = rest.rsplit_once(')')?;
    let algorithm = Algorithm::parse(algorithm)?;
    Some(Digest { file: file.to_owned(), algorithm, hex: hex.trim().strip_prefix('=')?.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_names_a_file_and_its_sum() {
        let sum = "a".repeat(40);
        let manifest = Manifest::parse(&format!("SHA1(a (1).vmdk)= {sum}\r\nSHA256(b.ovf) = {}\n", "B".repeat(64)));
        let manifest = manifest.expect("good");
        assert_eq!(manifest.digests[0].file, "a (1).vmdk");
        assert!(manifest.check("b.ovf", &Hashes { sha256: "b".repeat(64), ..Hashes::default() }).is_ok());
        assert!(manifest.check("c.ovf", &Hashes::default()).is_err());
        for bad in ["", "hello", "MD5(a)= 00", "SHA1(a)= 00", &format!("SHA1(a)= {sum}\nSHA1(a)= {sum}")] {
            assert!(Manifest::parse(bad).is_err(), "{bad}");
        }
    }
}
