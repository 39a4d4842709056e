//! Filters of the query service, where each value is decoded by itself; and the ids that are found in what clients write.
#![no_main]
use model::{
    Error,
    query::{Filter, last_uuid},
};
use percent_encoding::percent_decode_str;

fn decode(text: &str) -> Result<String, Error> {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8().map(Into::into).map_err(|_| Error::BadRequest("no text".into()))
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Some(id) = last_uuid(&text) {
        // not only the form with dashes has 36 characters
        assert!(text.len() >= 36 && last_uuid(&id.to_string()) == Some(id));
    }
    for filter in [Filter::parse_encoded(&text, decode), decode(&text).and_then(|t| Filter::parse_encoded(&t, decode))] {
        let Ok(filter) = filter else { continue };
        for c in filter.clauses() {
            assert!(!c.field.is_empty());
            // what is written for anything is anything, the stars themselves too
            assert!(c.value.fits(&c.value.text()), "{c:?}");
            let _ = (c.value.pattern(), c.value.id());
        }
        let _ = filter.holds(&mut |c| Ok(c.value.fits(&text)));
        assert_eq!(filter.clone().rewritten(&Filter::Is), filter);
    }
});
