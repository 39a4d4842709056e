//! Uploads: files on their way into a catalog.
use crate::{CatalogId, OrgId, Problems, Result, TemplateId, UploadId, UserId, name, share::Grant, template::ItemKind};
use serde::Serialize;
use time::OffsetDateTime;
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UploadState {
    /// Bytes may come.
    Open,
    /// All have come, and are being looked at.
    Checking,
    Done,
    Failed,
    Cancelled,
}

impl UploadState {
    pub const ALL: [UploadState; 5] =
        [UploadState::Open, UploadState::Checking, UploadState::Done, UploadState::Failed, UploadState::Cancelled];

    pub fn key(self) -> &'static str {
        match self {
            UploadState::Open => "open",
            UploadState::Checking => "checking",
            UploadState::Done => "done",
            UploadState::Failed => "failed",
            UploadState::Cancelled => "cancelled",
        }
    }

    pub fn parse(key: &str) -> Option<UploadState> {
        UploadState::ALL.into_iter().find(|s| s.key() == key)
    }

    pub fn label(self) -> &'static str {
        match self {
            UploadState::Open => "Waiting for the file",
            UploadState::Checking => "Being checked",
            UploadState::Done => "Done",
            UploadState::Failed => "Failed",
            UploadState::Cancelled => "Cancelled",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Upload {
    pub id: UploadId,
    pub org: OrgId,
    pub catalog: CatalogId,
    pub catalog_owner: Option<UserId>,
    /// With whom its catalog is shared.
    pub shares: Vec<Grant>,
    pub catalog_name: String,
    pub template: TemplateId,
    pub name: String,
    pub kind: ItemKind,
    /// What the transfer URL carries; whoever has it may send bytes.
    #[serde(skip)]
    pub link: String,
    pub state: UploadState,
    pub problem: String,
    pub files: Vec<UploadFile>,
    pub user_name: String,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub ends_at: OffsetDateTime,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UploadFile {
    pub id: Uuid,
    pub name: String,
    pub size: i64,
    pub received: i64,
}

impl Upload {
    pub fn size(&self) -> i64 {
        self.files.iter().map(|f| f.size).sum()
    }

    pub fn received(&self) -> i64 {
        self.files.iter().map(|f| f.received).sum()
    }

    /// In whole percent; None: nobody knows how much will come.
    pub fn percent(&self) -> Option<i16> {
        let size = self.size();
        (size > 0).then(|| i16::try_from(i128::from(self.received()) * 100 / i128::from(size)).unwrap_or(100))
    }

    pub fn file(&self, name: &str) -> Option<&UploadFile> {
        self.files.iter().find(|f| f.name == name)
    }
}

/// What somebody wants to upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadSpec {
    pub name: String,
    pub description: String,
    pub kind: ItemKind,
    /// About this version.
    pub note: String,
    /// The SHA-256 of its file, in hexadecimal; empty: nobody said.
    pub sha256: String,
}

impl UploadSpec {
    pub fn check(self) -> Result<UploadSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_title(&self.name));
        let description = problems.take("description", name::check_text(&self.description));
        let note = problems.take("note", name::check_text(&self.note));
        let sha256 = problems.take("sha256", check_sum(&self.sha256));
        problems.done()?;
        Ok(UploadSpec { name, description, note, sha256, ..self })
    }
}

impl crate::Fields for UploadSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("name", self.name.clone()),
            ("description", self.description.clone()),
            ("kind", self.kind.key().to_owned()),
            ("note", self.note.clone()),
            ("sha256", self.sha256.clone()),
        ]
    }
}

/// As `sha256sum` prints it, with or without what stands behind it; nothing is fine too.
fn check_sum(text: &str) -> std::result::Result<String, String> {
    let sum = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let good = sum.is_empty() || (sum.len() == 64 && sum.bytes().all(|b| b.is_ascii_hexdigit()));
    if good { Ok(sum) } else { Err("A SHA-256 has 64 digits, 0 to 9 and a to f. Copy it as it was published.".into()) }
}

/// A file's own name as it may stand in the transfer URL: no folders, nothing that hides.
pub fn check_file_name(name: &str) -> Result<&str, &'static str> {
    let good = !name.is_empty()
        && name.len() <= 255
        && !matches!(name, "." | "..")
        && !name.contains(['/', '\\', ':', '%'])
        && !name.chars().any(char::is_control);
    if good { Ok(name) } else { Err("A plain file name is needed, at most 255 bytes: no folders, no colons.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_plain_name() {
        assert!(check_file_name("Fedora 42.ova").is_ok());
        for bad in ["", ".", "..", "a/b", "..\\b", "C:x", "%2e", "a\nb", &"x".repeat(256)] {
            assert!(check_file_name(bad).is_err(), "{bad}");
        }
    }
}
