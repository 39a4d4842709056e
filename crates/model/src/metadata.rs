//! Metadata: keys with typed values beside things, and the security tags of VMs.
use crate::{Kind, OrgId, Problems, Result, UserId};
use serde::Serialize;
use time::{OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339};
use uuid::Uuid;

/// At most so many entries of one thing.
pub const MOST_ENTRIES: i64 = 128;
pub const MOST_TAGS: usize = 30;
const LONGEST_KEY: usize = 256;
const LONGEST_VALUE: usize = 1000;

/// Whose an entry is, and who sees it. As in VCD two of the six combinations are the provider's, and one is everybody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// GENERAL and READWRITE: everybody who may edit the thing.
    #[default]
    General,
    /// SYSTEM and READONLY: tenants see it, the provider changes it.
    SystemReadOnly,
    /// SYSTEM and PRIVATE: the provider alone.
    SystemPrivate,
}

impl Audience {
    pub const ALL: [Audience; 3] = [Audience::General, Audience::SystemReadOnly, Audience::SystemPrivate];

    /// VCD's words for it, in lower case.
    pub fn domain(self) -> &'static str {
        if self == Audience::General { "general" } else { "system" }
    }

    pub fn visibility(self) -> &'static str {
        match self {
            Audience::General => "readwrite",
            Audience::SystemReadOnly => "readonly",
            Audience::SystemPrivate => "private",
        }
    }

    pub fn key(self) -> &'static str {
        match self {
            Audience::General => "general",
            other => other.visibility(),
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Audience::General => "General",
            Audience::SystemReadOnly => "System, seen by tenants",
            Audience::SystemPrivate => "System, for the provider alone",
        }
    }

    pub fn parse(key: &str) -> Option<Audience> {
        Audience::ALL.into_iter().find(|a| a.key() == key)
    }

    pub fn of(visibility: &str) -> Option<Audience> {
        Audience::ALL.into_iter().find(|a| a.visibility() == visibility)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MetaType {
    #[default]
    String,
    Number,
    Boolean,
    DateTime,
}

impl MetaType {
    pub const ALL: [MetaType; 4] = [MetaType::String, MetaType::Number, MetaType::Boolean, MetaType::DateTime];

    pub fn key(self) -> &'static str {
        match self {
            MetaType::String => "string",
            MetaType::Number => "number",
            MetaType::Boolean => "boolean",
            MetaType::DateTime => "datetime",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            MetaType::String => "Text",
            MetaType::Number => "Number",
            MetaType::Boolean => "Yes or no",
            MetaType::DateTime => "Time",
        }
    }

    pub fn parse(key: &str) -> Option<MetaType> {
        MetaType::ALL.into_iter().find(|t| t.key() == key)
    }

    /// The value in the one form that it is stored in.
    pub fn canonical(self, value: &str) -> Result<String, String> {
        let trimmed = value.trim();
        match self {
            MetaType::String if value.chars().count() > LONGEST_VALUE => {
                Err(format!("At most {LONGEST_VALUE} characters."))
            }
            MetaType::String if value.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) => {
                Err("It has characters that can't be read.".into())
            }
            MetaType::String => Ok(value.to_owned()),
            MetaType::Number => trimmed.parse::<i64>().map(|n| n.to_string()).map_err(|_| "A whole number.".into()),
            MetaType::Boolean => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "yes" | "1" => Ok("true".into()),
                "false" | "no" | "0" => Ok("false".into()),
                _ => Err("true or false.".into()),
            },
            MetaType::DateTime => OffsetDateTime::parse(trimmed, &Rfc3339)
                .ok()
                .and_then(|t| t.checked_to_offset(UtcOffset::UTC)?.format(&Rfc3339).ok())
                .ok_or_else(|| "A time such as 2026-11-16T12:00:00Z.".into()),
        }
    }
}

/// One key with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub audience: Audience,
    pub key: String,
    pub kind: MetaType,
    pub value: String,
}

impl Entry {
    pub fn check(self) -> Result<Entry> {
        let mut problems = Problems::default();
        let key = self.key.trim().replace("\r\n", "\n");
        match () {
            () if key.is_empty() => problems.add("key", "It needs a key."),
            () if key.chars().count() > LONGEST_KEY => {
                problems.add("key", format!("At most {LONGEST_KEY} characters."));
            }
            () if key.chars().any(|c| c.is_control() || matches!(c, '/' | '\\')) => {
                problems.add("key", "Without slashes and characters that can't be read.");
            }
            () => {}
        }
        let value = match self.kind.canonical(&self.value.replace("\r\n", "\n")) {
            Ok(value) => value,
            Err(why) => {
                problems.add("value", why);
                String::new()
            }
        };
        problems.done()?;
        Ok(Entry { key, value, ..self })
    }
}

/// An entry as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    pub entry: Entry,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

/// What has metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    pub kind: Kind,
    pub id: Uuid,
    pub org: OrgId,
    pub owner: Option<UserId>,
    pub name: String,
}

/// A tag of an organization's VMs, with how many have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TagUse {
    pub tag: String,
    pub vms: i64,
}

/// Tags in the one form that they are stored in, each once.
pub fn check_tags(tags: Vec<String>) -> Result<Vec<String>> {
    let mut problems = Problems::default();
    let mut all: Vec<String> = tags.iter().map(|t| t.trim().to_lowercase()).filter(|t| !t.is_empty()).collect();
    all.sort_unstable();
    all.dedup();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | ':' | '.' | '-');
    let begins = |t: &str| t.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if let Some(odd) = all.iter().find(|t| t.len() > 128 || !t.chars().all(fits) || !begins(t)) {
        let short: String = odd.chars().take(40).collect();
        problems.add(
            "tags",
            format!("{short} can't be a tag: letters, digits and _ : . - in it, a letter or digit first, 128 at most."),
        );
    }
    if all.len() > MOST_TAGS {
        problems.add("tags", format!("At most {MOST_TAGS} tags."));
    }
    problems.done()?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(kind: MetaType, value: &str) -> Option<String> {
        Entry { key: "k".into(), kind, value: value.into(), ..Entry::default() }.check().ok().map(|e| e.value)
    }

    #[test]
    fn a_value_is_of_its_type() {
        assert_eq!(kept(MetaType::String, " as it is ").as_deref(), Some(" as it is "));
        assert_eq!(kept(MetaType::Number, " 007 ").as_deref(), Some("7"));
        assert_eq!(kept(MetaType::Number, "1.5"), None);
        assert_eq!(kept(MetaType::Boolean, "TRUE").as_deref(), Some("true"));
        assert_eq!(kept(MetaType::Boolean, "perhaps"), None);
        assert_eq!(kept(MetaType::DateTime, "2026-11-16T13:00:00+01:00").as_deref(), Some("2026-11-16T12:00:00Z"));
        assert_eq!(kept(MetaType::DateTime, "tomorrow"), None);
        assert_eq!(kept(MetaType::String, &"x".repeat(1001)), None);
    }

    #[test]
    fn tags_are_told_apart_without_case_and_kept_once() {
        let tags = |all: &[&str]| check_tags(all.iter().map(|t| (*t).to_owned()).collect());
        assert_eq!(tags(&["Web", "web ", "", "tier:1"]).unwrap(), ["tier:1", "web"]);
        assert!(tags(&["no space"]).is_err());
        assert!(tags(&["-x"]).is_err());
        assert!(tags(&["ü"]).is_err());
        let many: Vec<String> = (0..31).map(|n| format!("t{n}")).collect();
        assert!(check_tags(many).is_err());
    }
}
