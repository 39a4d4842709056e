//! Archives.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = ovf::read_ova(bytes, bytes.len() as u64);
});
