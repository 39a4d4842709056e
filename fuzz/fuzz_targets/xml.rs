//! Documents as clients of the VCD API send them: whatever comes is answered, and what is read is written and read again as it was.
#![no_main]
use std::collections::BTreeSet;
use xml::{Element, Limits, again, parse};

const LIMITS: Limits =
    Limits { what: "request", bytes: 4 << 20, depth: 64, elements: 20_000, attributes: 128, name_bytes: 255, lenient: true };
/// What is written again may be longer, and has a prefix for each namespace at its root.
const WIDE: Limits = Limits { bytes: 64 << 20, attributes: 20_000, name_bytes: 300, ..LIMITS };

fn namespaces<'a>(e: &'a Element, into: &mut BTreeSet<&'a str>) {
    into.insert(&e.namespace);
    into.extend(e.attributes().map(|(of, ..)| of));
    e.children.iter().for_each(|c| namespaces(c, into));
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(root) = parse(&String::from_utf8_lossy(bytes), &LIMITS) else { return };
    let mut all = BTreeSet::new();
    namespaces(&root, &mut all);
    let prefixes: Vec<(String, &str)> =
        all.iter().filter(|of| !of.is_empty()).enumerate().map(|(n, of)| (format!("n{n}"), *of)).collect();
    let prefixes: Vec<(&str, &str)> = prefixes.iter().map(|(prefix, of)| (prefix.as_str(), *of)).collect();
    let written = again(&root, &prefixes);
    assert_eq!(parse(&written, &WIDE).as_ref(), Ok(&root), "{written}");
});
