//! Filters of the query service and of CloudAPI.
#![no_main]
use model::query::{Filter, last_uuid};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = last_uuid(&text);
    if let Ok(filter) = Filter::parse(&text) {
        let _ = filter.holds(&mut |clause| Ok(clause.value.fits(&text)));
    }
    let _ = Filter::parse_encoded(&text, |value| Ok(value.replace('+', " ")));
});
