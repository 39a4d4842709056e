//! The first bytes of disk images.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = ovf::recognise("disk", bytes, bytes.len() as u64);
});
