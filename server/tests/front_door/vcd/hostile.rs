//! Texts that break what is not written with care.
use rand::{Rng, rngs::StdRng, seq::IndexedRandom};

const PIECES: [&str; 22] = [
    "&",
    "<",
    ">",
    "\"",
    "'",
    "]]>",
    "<!--",
    "<![CDATA[",
    "</Description>",
    "&amp;",
    "&#38;",
    "&lt",
    "\n",
    "\r\n",
    "\t",
    "  ",
    "\u{7f}\u{85}",
    "\u{1}\u{1b}[31m",
    "\u{fffe}\u{ffff}",
    "\u{feff}e\u{301}",
    "\u{202e}ش",
    "\u{1f600}\u{10ffff}",
];

/// From so many characters to so many, now and then as many as there may be. PostgreSQL has no NUL, so these have none.
pub(super) fn text(rng: &mut StdRng, least: usize, most: usize) -> String {
    let wanted = match rng.random_range(0..10) {
        0 => least,
        1 => most,
        _ => rng.random_range(least..=most.min(40)),
    };
    let mut out: Vec<char> = Vec::new();
    while out.len() < wanted {
        match rng.random_range(0..3) {
            0 => out.extend(PIECES.choose(rng).unwrap_or(&"").chars()),
            1 => out.push(rng.random_range('a'..='z')),
            _ => out.push(rng.random::<char>()),
        }
    }
    out.into_iter().filter(|c| *c != '\0').chain(std::iter::repeat('x')).take(wanted).collect()
}

/// What of a text XML can carry.
pub(super) fn carried(text: &str) -> String {
    text.chars().filter(|c| xml::allowed(*c)).collect()
}
