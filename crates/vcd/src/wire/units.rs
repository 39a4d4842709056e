//! VCD counts processors in MHz, and hubs count them by number: one is so many MHz here, everywhere.

pub(crate) const MHZ_PER_CPU: i64 = 1000;

pub(crate) fn mhz(cpus: i64) -> i64 {
    cpus.saturating_mul(MHZ_PER_CPU)
}

/// Whole processors: what is left of one counts as one.
pub(crate) fn cpus(mhz: i64) -> i64 {
    mhz.saturating_add(MHZ_PER_CPU - 1) / MHZ_PER_CPU
}

/// Virtual hardware means nothing to KubeVirt; clients choose one of these, and find their choice again.
pub(crate) const HARDWARE_VERSIONS: [&str; 9] =
    ["vmx-13", "vmx-14", "vmx-15", "vmx-16", "vmx-17", "vmx-18", "vmx-19", "vmx-20", "vmx-21"];
/// What we say where nobody chose.
pub(crate) const HARDWARE_VERSION: &str = "vmx-19";
