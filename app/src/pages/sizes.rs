//! Sizes of machines as people type and read them: vCPU, and GB with decimals.
use model::{
    Problems,
    quota::Measure,
    vm::{Disk, Vm},
};

/// MB as a number of GB that reads back as the same: "4", "0.5".
pub(super) fn gb(mb: i64) -> String {
    if mb % 1024 == 0 {
        return (mb / 1024).to_string();
    }
    // nobody has so much that this is not exact
    let text = format!("{:.3}", mb as f64 / 1024.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// None: nothing was typed, or nothing that can be read, and then that is a problem of `field`.
pub(super) fn read_gb(typed: &str, field: &'static str, problems: &mut Problems) -> Option<i64> {
    let typed = typed.trim().replace([',', ' '], "");
    if typed.is_empty() {
        return None;
    }
    match typed.parse::<f64>().ok().filter(|n| n.is_finite() && (0.0..=1e9).contains(n)) {
        Some(n) => Some((n * 1024.0).round() as i64),
        None => {
            problems.add(field, "A number of GB, such as 4 or 0.5.");
            None
        }
    }
}

pub(super) fn read_cpus(typed: &str, problems: &mut Problems) -> Option<i32> {
    let typed = typed.trim();
    if typed.is_empty() {
        return None;
    }
    let read = typed.parse().ok();
    if read.is_none() {
        problems.add("cpus", "A whole number.");
    }
    read
}

pub(super) fn cpu_words(cpus: impl Into<i64>) -> String {
    Measure::Cpus.words(cpus.into())
}

pub(super) fn memory_words(mb: i64) -> String {
    Measure::Memory.words(mb)
}

pub(super) fn disk_words(disks: &[Disk]) -> String {
    Measure::Storage.words(disks.iter().filter(|d| d.media.is_none()).map(|d| d.size_mb).sum())
}

/// Of a template, which may not say.
pub(super) fn unless_unknown(known: Option<i64>, words: impl Fn(i64) -> String) -> String {
    known.map_or_else(|| "unknown".to_owned(), words)
}

/// "2 vCPU, 8 GB, 40 GB on disk".
pub(super) fn vm_words(vm: &Vm) -> String {
    format!("{}, {}, {} on disk", cpu_words(vm.cpus), memory_words(vm.memory_mb), disk_words(&vm.disks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_back_as_the_same() {
        for mb in [128, 512, 1024, 1536, 2000, 4096, 30 * 1024, 65_537] {
            let mut problems = Problems::default();
            assert_eq!(read_gb(&gb(mb), "memory", &mut problems), Some(mb));
            assert!(problems.done().is_ok());
        }
        assert_eq!([gb(512), gb(4096)], ["0.5", "4"]);
    }

    #[test]
    fn what_is_no_number_is_a_problem_and_nothing_is_none() {
        for bad in ["x", "-1", "1e99", "nan", "inf"] {
            let mut problems = Problems::default();
            assert_eq!(read_gb(bad, "memory", &mut problems), None, "{bad}");
            assert!(problems.done().is_err(), "{bad}");
        }
        let mut problems = Problems::default();
        assert_eq!(read_gb(" ", "memory", &mut problems), None);
        assert_eq!(read_cpus("", &mut problems), None);
        assert!(problems.done().is_ok());
    }
}
