//! Whatever a document holds: it is read as it was written, and written again it is the same to the last byte. What XML
//! can't carry is left out by the writer and refused by the reader.
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use std::fmt::Display;
use xml::{Element, Limits, Writer, again, allowed, parse};

const LIMITS: Limits = Limits {
    what: "test",
    bytes: 16 << 20,
    depth: 32,
    elements: 20_000,
    attributes: 32,
    name_bytes: 255,
    lenient: false,
};
/// As our documents have them: one namespace both by default and by a prefix, which attributes need.
const PREFIXES: [(&str, &str); 4] = [("", "urn:v"), ("vcloud", "urn:v"), ("ovf", "urn:o"), ("rasd", "urn:r")];

/// What breaks writers and readers, alone and among other characters.
const PIECES: [&str; 24] = [
    "&",
    "<",
    ">",
    "\"",
    "'",
    "]]>",
    "<!--",
    "-->",
    "<![CDATA[",
    "<!DOCTYPE x>",
    "&amp;",
    "&#0;",
    "&lt",
    "\n",
    "\r\n",
    "\t",
    "  ",
    "\u{0}",
    "\u{8}\u{1b}",
    "\u{7f}\u{85}\u{9b}",
    "\u{fffe}\u{ffff}",
    "\u{feff}",
    "e\u{301}\u{202e}",
    "\u{1f600}\u{10ffff}",
];

fn text(rng: &mut StdRng) -> String {
    let pieces = match rng.random_range(0..20) {
        0 => 0,
        1 => rng.random_range(1000..4000),
        _ => rng.random_range(1..8),
    };
    let mut out = String::new();
    for _ in 0..pieces {
        match rng.random_range(0..3) {
            0 => out.push_str(PIECES.choose(rng).unwrap_or(&"")),
            1 => out.push(rng.random_range('a'..='z')),
            _ => out.push(rng.random::<char>()),
        }
    }
    out
}

fn name(rng: &mut StdRng) -> String {
    let first = *['A', 'b', '_', 'ü', '漢'].choose(rng).unwrap_or(&'A');
    let rest = (0..rng.random_range(0..12)).map(|_| *['a', 'Z', '0', '-', '.', '_', 'ß'].choose(rng).unwrap_or(&'a'));
    std::iter::once(first).chain(rest).collect()
}

/// A name with a prefix that may be written there.
fn named(rng: &mut StdRng, element: bool) -> (&'static str, String) {
    let (prefix, namespace) = PREFIXES[rng.random_range(0..PREFIXES.len())];
    match (prefix, element) {
        // one namespace has one way to be written
        ("vcloud", true) => ("urn:v", name(rng)),
        ("", false) => ("", name(rng)),
        ("", true) => (namespace, name(rng)),
        (prefix, _) => (namespace, format!("{prefix}:{}", name(rng))),
    }
}

/// What is to be read, built beside what is written.
fn write(w: &mut Writer, rng: &mut StdRng, depth: usize) -> Expected {
    let (namespace, name) = named(rng, true);
    let mut attributes: Vec<(String, String, String)> = Vec::new();
    for _ in 0..rng.random_range(0..5) {
        let (of, n) = named(rng, false);
        let local = n.rsplit(':').next().unwrap_or(&n).to_owned();
        if !attributes.iter().any(|(o, known, _)| o == of && known.rsplit(':').next() == Some(&local)) {
            attributes.push((of.to_owned(), n, text(rng)));
        }
    }
    let shown: Vec<(&str, &dyn Display)> = attributes.iter().map(|(_, n, v)| (n.as_str(), v as &dyn Display)).collect();
    let mut expected = Expected {
        namespace: namespace.to_owned(),
        name: local(&name),
        attributes: attributes.iter().map(|(of, n, v)| (of.clone(), local(n), carried(v))).collect(),
        ..Expected::default()
    };
    match rng.random_range(0..4) {
        0 => w.empty(&name, &shown),
        1 | 2 => {
            let value = text(rng);
            w.text_with(&name, &shown, &value);
            expected.text = carried(&value);
        }
        _ => w.el(&name, &shown, |w| {
            for _ in 0..if depth > 4 { 0 } else { rng.random_range(0..5) } {
                expected.children.push(write(w, rng, depth + 1));
            }
        }),
    }
    expected
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Expected {
    namespace: String,
    name: String,
    attributes: Vec<(String, String, String)>,
    text: String,
    children: Vec<Expected>,
}

fn local(name: &str) -> String {
    name.rsplit(':').next().unwrap_or(name).to_owned()
}

fn carried(text: &str) -> String {
    text.chars().filter(|c| allowed(*c)).collect()
}

fn read(e: &Element) -> Expected {
    Expected {
        namespace: e.namespace.clone(),
        name: e.name.clone(),
        attributes: e.attributes().map(|(of, n, v)| (of.to_owned(), n.to_owned(), v.to_owned())).collect(),
        text: e.text.clone(),
        children: e.children.iter().map(read).collect(),
    }
}

#[test]
fn what_is_written_is_read_as_it_was_and_written_again_it_is_the_same() {
    let mut rng = StdRng::seed_from_u64(6);
    let (mut elements, mut longest) = (0, 0);
    for round in 0..1500 {
        let mut w = Writer::document();
        let declared: Vec<(String, &str)> = PREFIXES
            .iter()
            .map(|(p, of)| (if p.is_empty() { "xmlns".into() } else { format!("xmlns:{p}") }, *of))
            .collect();
        let declared: Vec<(&str, &dyn Display)> =
            declared.iter().map(|(n, of)| (n.as_str(), of as &dyn Display)).collect();
        let mut children = Vec::new();
        w.el("Root", &declared, |w| {
            for _ in 0..rng.random_range(0..6) {
                children.push(write(w, &mut rng, 0));
            }
        });
        let expected = Expected { namespace: "urn:v".into(), name: "Root".into(), children, ..Expected::default() };
        let written = w.into_string();
        let root = parse(&written, &LIMITS).unwrap_or_else(|e| panic!("round {round}: {e}\n{written}"));
        assert_eq!(read(&root), expected, "round {round}: {written}");
        assert_eq!(again(&root, &PREFIXES), written, "round {round}");
        longest = longest.max(written.len());
        elements += written.matches("</").count();
    }
    assert!(elements > 5_000 && longest > 20_000, "{elements} elements, {longest} bytes: too little was tried");
}

#[test]
fn no_character_is_both_written_and_refused() {
    // all that are in any way special, and some of the many others
    for c in ('\0'..='\u{ffff}').chain(('\u{10000}'..=char::MAX).step_by(257)) {
        let mut w = Writer::document();
        w.text_with("A", &[("b", &c)], c);
        let root = parse(&w.into_string(), &LIMITS).unwrap_or_else(|e| panic!("{c:?}: {e}"));
        let wanted = if allowed(c) { c.to_string() } else { String::new() };
        assert_eq!((root.text.as_str(), root.attr("b")), (wanted.as_str(), Some(wanted.as_str())), "{c:?}");
        // bare, between tags, as somebody else may write it
        let bare = format!("<A>{c}</A>");
        if !matches!(c, '<' | '&') {
            assert_eq!(parse(&bare, &LIMITS).is_ok(), allowed(c), "{c:?}");
        }
    }
}
