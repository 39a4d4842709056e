//! Documents as clients of the VCD API send them.
#![no_main]

const LIMITS: xml::Limits =
    xml::Limits { what: "request", bytes: 4 << 20, depth: 64, elements: 20_000, attributes: 128, name_bytes: 255, lenient: true };

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = xml::parse(&String::from_utf8_lossy(bytes), &LIMITS);
});
