//! Limits and use of VMs, CPU, memory and storage: of an organization, a VDC and a user alike.
use crate::{Error, FieldError, Problems, Result};
use serde::{Deserialize, Serialize};

/// None: no limit. Memory and storage in MB (as VCD counts: 1 GB = 1024 MB).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub vms: Option<i64>,
    pub cpus: Option<i64>,
    pub memory_mb: Option<i64>,
    pub storage_mb: Option<i64>,
}

/// An amount in use or asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    pub vms: i64,
    pub cpus: i64,
    pub memory_mb: i64,
    pub storage_mb: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    Vms,
    Cpus,
    Memory,
    Storage,
}

impl Measure {
    pub const ALL: [Measure; 4] = [Measure::Vms, Measure::Cpus, Measure::Memory, Measure::Storage];

    /// The form field, and the column with `_mb` where it counts MB.
    pub fn field(self) -> &'static str {
        match self {
            Measure::Vms => "vm_limit",
            Measure::Cpus => "cpu_limit",
            Measure::Memory => "memory_limit",
            Measure::Storage => "storage_limit",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Measure::Vms => "VMs",
            Measure::Cpus => "CPU",
            Measure::Memory => "Memory",
            Measure::Storage => "Storage",
        }
    }

    pub fn unit(self) -> &'static str {
        match self {
            Measure::Vms => "VMs",
            Measure::Cpus => "vCPU",
            Measure::Memory | Measure::Storage => "GB",
        }
    }

    /// How many of the stored unit are one of the shown unit.
    pub fn per_unit(self) -> i64 {
        match self {
            Measure::Vms | Measure::Cpus => 1,
            Measure::Memory | Measure::Storage => 1024,
        }
    }

    /// The largest limit that makes sense, in the stored unit; it also keeps sums far from overflow.
    fn most(self) -> i64 {
        match self {
            Measure::Vms => 1_000_000,
            Measure::Cpus => 10_000_000,
            Measure::Memory | Measure::Storage => 1024 * 1024 * 1024 * 1024,
        }
    }

    /// An amount in the shown unit, with a decimal where it is not whole: "1.5 GB", "4 vCPU".
    pub fn words(self, stored: i64) -> String {
        format!("{} {}", self.number(stored), self.unit())
    }

    pub fn number(self, stored: i64) -> String {
        let per = self.per_unit();
        if stored % per == 0 {
            thousands(stored / per)
        } else {
            let tenths = (stored * 10 + per / 2) / per;
            format!("{}.{}", thousands(tenths / 10), (tenths % 10).abs())
        }
    }
}

/// 1204 as "1,204".
pub fn thousands(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if n < 0 {
        out.push('-');
    }
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

impl Limits {
    pub fn get(&self, m: Measure) -> Option<i64> {
        match m {
            Measure::Vms => self.vms,
            Measure::Cpus => self.cpus,
            Measure::Memory => self.memory_mb,
            Measure::Storage => self.storage_mb,
        }
    }

    pub fn set(&mut self, m: Measure, value: Option<i64>) {
        match m {
            Measure::Vms => self.vms = value,
            Measure::Cpus => self.cpus = value,
            Measure::Memory => self.memory_mb = value,
            Measure::Storage => self.storage_mb = value,
        }
    }

    pub fn check(&self, problems: &mut Problems) {
        for m in Measure::ALL {
            if self.get(m).is_some_and(|v| v < 0 || v > m.most()) {
                problems.add(m.field(), format!("From 0 to {}, or empty for no limit.", m.words(m.most())));
            }
        }
    }

    /// A part can't be promised more than the whole: `of` names the whole.
    pub fn check_within(&self, whole: &Limits, of: &str, problems: &mut Problems) {
        for m in Measure::ALL {
            if let (Some(part), Some(all)) = (self.get(m), whole.get(m))
                && part > all
            {
                problems.add(m.field(), format!("{of} may have {} in all.", m.words(all)));
            }
        }
    }

    /// The measures of which nine tenths or more are used.
    pub fn nearly_used(&self, used: &Amount) -> impl Iterator<Item = Measure> + use<> {
        let (limits, used) = (*self, *used);
        let near = move |m: &Measure| limits.get(*m).is_some_and(|l| l > 0 && used.get(*m) >= l - l / 10);
        Measure::ALL.into_iter().filter(near)
    }

    /// Does `used` plus `ask` stay within? The error names the measure, what is left and what to do.
    pub fn admit(&self, used: &Amount, ask: &Amount, whose: &str) -> Result<()> {
        for m in Measure::ALL {
            let Some(limit) = self.get(m) else { continue };
            if ask.get(m) > 0 && used.get(m).saturating_add(ask.get(m)) > limit {
                let left = (limit - used.get(m)).max(0);
                let message = format!(
                    "{} asked for, and {whose} has {} of {} left. Ask for less, free some, or have the limit raised.",
                    m.words(ask.get(m)),
                    m.number(left),
                    m.words(limit),
                );
                return Err(Error::OverQuota(FieldError { field: m.asked_in(), message }));
            }
        }
        Ok(())
    }
}

impl Measure {
    /// The field of a form in which so much of it is asked for.
    pub fn asked_in(self) -> &'static str {
        match self {
            Measure::Vms => "vdc",
            Measure::Cpus => "cpus",
            Measure::Memory => "memory",
            Measure::Storage => "disk",
        }
    }
}

impl std::ops::Add for Amount {
    type Output = Amount;

    fn add(self, other: Amount) -> Amount {
        Amount {
            vms: self.vms + other.vms,
            cpus: self.cpus + other.cpus,
            memory_mb: self.memory_mb + other.memory_mb,
            storage_mb: self.storage_mb + other.storage_mb,
        }
    }
}

impl Amount {
    pub fn get(&self, m: Measure) -> i64 {
        match m {
            Measure::Vms => self.vms,
            Measure::Cpus => self.cpus,
            Measure::Memory => self.memory_mb,
            Measure::Storage => self.storage_mb,
        }
    }

    pub fn is_zero(&self) -> bool {
        *self == Amount::default()
    }

    pub fn negated(&self) -> Amount {
        Amount { vms: -self.vms, cpus: -self.cpus, memory_mb: -self.memory_mb, storage_mb: -self.storage_mb }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_said_in_units_people_use() {
        assert_eq!(Measure::Memory.words(1536), "1.5 GB");
        assert_eq!(Measure::Storage.words(2000 * 1024), "2,000 GB");
        assert_eq!(Measure::Cpus.words(4), "4 vCPU");
        assert_eq!(thousands(-1_234_567), "-1,234,567");
    }

    #[test]
    fn from_nine_tenths_on_a_limit_is_nearly_used() {
        let limits = Limits { cpus: Some(32), memory_mb: Some(100), vms: Some(0), storage_mb: None };
        let near = |cpus, memory_mb| {
            limits.nearly_used(&Amount { cpus, memory_mb, storage_mb: 9, vms: 0 }).collect::<Vec<_>>()
        };
        assert_eq!(near(28, 89), []);
        assert_eq!(near(29, 90), [Measure::Cpus, Measure::Memory]);
        assert_eq!(near(40, 0), [Measure::Cpus]);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_is_left() {
        let limits = Limits { cpus: Some(32), ..Limits::default() };
        let used = Amount { cpus: 29, ..Amount::default() };
        assert!(limits.admit(&used, &Amount { cpus: 3, vms: 1000, ..Amount::default() }, "acme-prod").is_ok());
        let err = limits.admit(&used, &Amount { cpus: 4, ..Amount::default() }, "acme-prod").expect_err("too much");
        assert_eq!(
            err.to_string(),
            "4 vCPU asked for, and acme-prod has 3 of 32 vCPU left. Ask for less, free some, or have the limit raised."
        );
    }
}
