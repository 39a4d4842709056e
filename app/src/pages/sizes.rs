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

/// "1,000" is a thousand, and "0,5" is not five.
fn plain_number(typed: &str) -> Option<f64> {
    let (whole, rest) = typed.split_once('.').unwrap_or((typed, "0"));
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let grouped = whole.contains(',');
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let well = digits(first) && digits(rest) && (!grouped || (1..=3).contains(&first.len()));
    let well = well && groups.all(|group| group.len() == 3 && digits(group));
    typed.replace(',', "").parse().ok().filter(|_| well)
}

/// None: nothing was typed, or nothing that can be read, and then that is a problem of `field`.
pub(super) fn read_gb(typed: &str, field: &'static str, problems: &mut Problems) -> Option<i64> {
    let typed = typed.trim();
    if typed.is_empty() {
        return None;
    }
    match plain_number(typed).filter(|n| (0.0..=1e9).contains(n)) {
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

/// What goes with a VM: "2 vCPU, 8 GB, 40 GB on disk". Independent disks stay.
pub(super) fn lost_words(vm: &Vm) -> String {
    let (cpus, memory) = (cpu_words(vm.cpus), memory_words(vm.memory_mb));
    let mb = vm.disks.iter().filter(|d| d.media.is_none() && !d.independent).map(|d| d.size_mb).sum();
    format!("{cpus}, {memory}, {} on disk", Measure::Storage.words(mb))
}

/// The independent disks of VMs that are to be deleted: "The independent disks stay: archive, logs.". None: they have none.
pub(super) fn staying_words(vms: &[Vm]) -> Option<String> {
    let names: Vec<&str> =
        vms.iter().flat_map(|vm| &vm.disks).filter(|d| d.independent).map(|d| d.name.as_str()).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("The independent disk {one} stays.")),
        several => Some(format!("The independent disks stay: {}.", several.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_could_be_meant_otherwise_is_no_number() {
        for (typed, mb) in
            [("1,000", Some(1_024_000)), ("0.5", Some(512)), (".5", Some(512)), ("1,024.5", Some(1_049_088))]
        {
            assert_eq!(read_gb(typed, "size", &mut Problems::default()), mb, "{typed}");
        }
        for typed in ["0,5", "1,0000", "1e3", "1 0", "-1", "+1", "inf", "1,", ",100", "1.2.3", "0x10", "."] {
            let mut problems = Problems::default();
            assert_eq!(read_gb(typed, "size", &mut problems), None, "{typed}");
            assert!(problems.done().is_err(), "{typed}");
        }
    }

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
