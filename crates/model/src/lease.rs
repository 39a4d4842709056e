//! Leases: how long vApps run, how long what is stopped is kept, and how long templates are.
use crate::{Problems, Result};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

const DAY: i64 = 86_400;
/// Nothing is leased for longer.
pub const MOST: i64 = 10 * 365 * DAY;

/// What happens to the VMs of a vApp at the end of its run-time lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    #[default]
    Suspend,
    PowerOff,
}

impl RunEnd {
    pub const ALL: [RunEnd; 2] = [RunEnd::Suspend, RunEnd::PowerOff];

    pub fn key(self) -> &'static str {
        match self {
            RunEnd::Suspend => "suspend",
            RunEnd::PowerOff => "power_off",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            RunEnd::Suspend => "suspend them",
            RunEnd::PowerOff => "power them off",
        }
    }

    /// What is not known counts as the gentler one.
    pub fn parse(key: &str) -> RunEnd {
        RunEnd::ALL.into_iter().find(|e| e.key() == key).unwrap_or_default()
    }
}

/// What happens to a thing at the end of its storage lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepEnd {
    /// It is marked as expired, and stays.
    #[default]
    Mark,
    Delete,
}

impl KeepEnd {
    pub const ALL: [KeepEnd; 2] = [KeepEnd::Mark, KeepEnd::Delete];

    pub fn key(self) -> &'static str {
        match self {
            KeepEnd::Mark => "mark",
            KeepEnd::Delete => "delete",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            KeepEnd::Mark => "mark them as expired",
            KeepEnd::Delete => "delete them",
        }
    }

    /// What is not known counts as the gentler one.
    pub fn parse(key: &str) -> KeepEnd {
        KeepEnd::ALL.into_iter().find(|e| e.key() == key).unwrap_or_default()
    }
}

/// An organization's leases, in seconds. None: for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Leases {
    pub runtime_s: Option<i64>,
    pub runtime_end: RunEnd,
    pub storage_s: Option<i64>,
    pub storage_end: KeepEnd,
    pub template_s: Option<i64>,
    pub template_end: KeepEnd,
    /// How long before an end people are told. None: they are not.
    pub warning_s: Option<i64>,
}

impl Default for Leases {
    fn default() -> Leases {
        Leases {
            runtime_s: None,
            runtime_end: RunEnd::default(),
            storage_s: None,
            storage_end: KeepEnd::default(),
            template_s: None,
            template_end: KeepEnd::default(),
            warning_s: Some(3 * DAY),
        }
    }
}

impl Leases {
    pub(crate) fn check(&self, problems: &mut Problems) {
        let lengths =
            [("runtime_lease", self.runtime_s), ("storage_lease", self.storage_s), ("template_lease", self.template_s)];
        for (field, value) in lengths {
            if value.is_some_and(|v| !(1..=MOST).contains(&v)) {
                problems.add(field, "At most 3,650 days, or empty for no end.");
            }
        }
        if self.warning_s.is_some_and(|v| !(1..=MOST).contains(&v)) {
            problems.add("lease_warning", "At most 3,650 days, or empty for no warning.");
        }
    }

    /// What is newly set must not be shorter than this installation allows.
    pub fn check_least(&self, before: Option<&Leases>, least: i64, problems: &mut Problems) {
        let was = before.copied().unwrap_or_default();
        let lengths = [
            ("runtime_lease", self.runtime_s, was.runtime_s),
            ("storage_lease", self.storage_s, was.storage_s),
            ("template_lease", self.template_s, was.template_s),
        ];
        for (field, now, was) in lengths {
            if now != was && now.is_some_and(|v| v < least) {
                problems.add(field, format!("At least {}, or empty for no end.", words(least)));
            }
        }
    }
}

/// The lease of a vApp or a template: one of the two counts at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lease {
    pub runtime_s: Option<i64>,
    pub storage_s: Option<i64>,
    /// The run-time lease counts; else the storage lease does.
    pub running: bool,
    /// None: never.
    #[serde(with = "time::serde::rfc3339::option")]
    pub ends_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub warned_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub expired_at: Option<OffsetDateTime>,
}

impl Lease {
    pub fn expired(&self) -> bool {
        self.expired_at.is_some()
    }

    /// How long the one that counts is.
    pub fn length(&self) -> Option<i64> {
        if self.running { self.runtime_s } else { self.storage_s }
    }

    pub fn spec(&self) -> LeaseSpec {
        LeaseSpec { runtime_s: self.runtime_s, storage_s: self.storage_s }
    }
}

/// What can be set on one vApp or template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeaseSpec {
    pub runtime_s: Option<i64>,
    pub storage_s: Option<i64>,
}

impl LeaseSpec {
    /// Not beyond the organization's and not below what this installation allows; what it has may stay.
    pub fn check(self, now: &LeaseSpec, most: (Option<i64>, Option<i64>), least: i64) -> Result<LeaseSpec> {
        let mut problems = Problems::default();
        let each = [
            ("runtime_lease", self.runtime_s, now.runtime_s, most.0),
            ("storage_lease", self.storage_s, now.storage_s, most.1),
        ];
        for (field, asked, now, most) in each {
            match (asked, most) {
                _ if asked == now => {}
                (Some(v), _) if v < least => problems.add(field, format!("At least {}.", words(least))),
                (Some(v), Some(most)) if v > most => {
                    problems.add(field, format!("At most {}, as the organization says.", words(most)));
                }
                (Some(v), None) if v > MOST => problems.add(field, "At most 3,650 days, or empty for no end."),
                (None, Some(most)) => {
                    problems.add(field, format!("It needs an end: the organization allows {}.", words(most)));
                }
                _ => {}
            }
        }
        problems.done()?;
        Ok(self)
    }
}

/// Something whose lease ends soon or has ended, for those who can do something about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    pub vapp: crate::VappId,
    pub name: String,
    pub org: crate::OrgId,
    pub owner: Option<crate::UserId>,
    pub lease: Lease,
}

/// "7 days", "12 hours", "90 minutes", "45 seconds".
pub fn words(seconds: i64) -> String {
    let (n, unit) = match seconds {
        s if s % DAY == 0 => (s / DAY, "day"),
        s if s % 3_600 == 0 => (s / 3_600, "hour"),
        s if s % 60 == 0 => (s / 60, "minute"),
        s => (s, "second"),
    };
    if n == 1 { format!("1 {unit}") } else { format!("{} {unit}s", crate::quota::thousands(n)) }
}

/// The same read back: a number of days, or one with its unit. None: it can't be read.
pub fn read(text: &str) -> Option<i64> {
    let text = text.trim().replace([',', ' '], "").to_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let per = match unit {
        "" | "d" | "day" | "days" => DAY,
        "h" | "hour" | "hours" => 3_600,
        "min" | "minute" | "minutes" => 60,
        "s" | "second" | "seconds" => 1,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(per)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_read_as_it_is_written() {
        for seconds in [1, 45, 60, 5_400, 3_600, 7_200, DAY, 7 * DAY, 3_650 * DAY] {
            assert_eq!(read(&words(seconds)), Some(seconds), "{}", words(seconds));
        }
        assert_eq!((read("7"), read("1 h"), read("30s")), (Some(7 * DAY), Some(3_600), Some(30)));
        assert_eq!((read("soon"), read("-1"), read("1 week"), read("99999999999999999999")), (None, None, None, None));
    }

    #[test]
    fn a_lease_is_not_beyond_the_organizations() {
        let now = LeaseSpec { runtime_s: Some(DAY), storage_s: None };
        let most = (Some(2 * DAY), None);
        let ask = |runtime_s, storage_s| LeaseSpec { runtime_s, storage_s }.check(&now, most, 3_600);
        assert!(ask(Some(2 * DAY), Some(DAY)).is_ok());
        assert!(ask(Some(DAY), None).is_ok());
        assert!(ask(Some(3 * DAY), None).is_err());
        assert!(ask(None, None).is_err());
        assert!(ask(Some(60), None).is_err());
    }

    #[test]
    fn what_was_shorter_before_may_stay() {
        let short = Leases { runtime_s: Some(60), ..Leases::default() };
        let problems = |before: Option<&Leases>| {
            let mut problems = Problems::default();
            short.check_least(before, 3_600, &mut problems);
            problems.done().is_ok()
        };
        assert!(!problems(None));
        assert!(problems(Some(&short)));
    }
}
