//! Descriptors and manifests.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = ovf::Envelope::parse(bytes);
    let _ = ovf::Manifest::parse(&String::from_utf8_lossy(bytes));
});
