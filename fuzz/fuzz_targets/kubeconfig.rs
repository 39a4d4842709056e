//! Kubeconfigs that somebody uploads.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = hub::kubeconfig::parse(text);
});
