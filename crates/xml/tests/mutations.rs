//! Good documents with random damage: whatever comes, an answer does; and what is read can be written and read again.
use rand::{Rng, SeedableRng, rngs::StdRng};
use xml::{Element, Limits, Writer, parse};

const LIMITS: Limits =
    Limits { what: "test", bytes: 1 << 20, depth: 32, elements: 2000, attributes: 32, name_bytes: 100, lenient: true };

const GOOD: &str = "<?xml version=\"1.0\"?><Vm xmlns=\"urn:v\" xmlns:ovf=\"urn:o\" name=\"a &amp; b\" status='4'><Link rel=\"up\" href=\"h\"/>\
    <ovf:Section ovf:required=\"false\"><ovf:Info>x &lt; y &#65;</ovf:Info><![CDATA[<raw>]]></ovf:Section><!-- c --><Description></Description></Vm>";

fn damaged(rng: &mut StdRng) -> String {
    const TOKENS: [&str; 12] =
        ["<", ">", "&", "\"", "'", "]]>", "<!--", "<![CDATA[", "<!DOCTYPE a>", "&x;", "</Vm>", "xmlns:a=\"b\" "];
    let mut text: Vec<char> = GOOD.chars().collect();
    for _ in 0..rng.random_range(1..6) {
        if text.is_empty() {
            break;
        }
        let at = rng.random_range(0..text.len());
        match rng.random_range(0..4) {
            0 => text[at] = char::from_u32(rng.random_range(0..0x2_ffff)).unwrap_or('\u{fffd}'),
            1 => text.truncate(at),
            2 => {
                let end = (at + rng.random_range(1..80)).min(text.len());
                let part = text[at..end].to_vec();
                text.splice(at..at, part);
            }
            _ => drop(text.splice(at..at, TOKENS[rng.random_range(0..TOKENS.len())].chars())),
        }
    }
    text.into_iter().collect()
}

fn write(w: &mut Writer, e: &Element) {
    let attributes: Vec<(String, String)> = e.attrs().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    let attributes: Vec<(&str, &dyn std::fmt::Display)> =
        attributes.iter().map(|(n, v)| (n.as_str(), v as _)).collect();
    match e.children.is_empty() {
        true => w.text_with(&e.name, &attributes, &e.text),
        false => w.el(&e.name, &attributes, |w| e.children.iter().for_each(|c| write(w, c))),
    }
}

/// Names, attributes and texts, without namespaces and without text between elements.
fn bare(e: &Element) -> String {
    let mut attributes: Vec<String> = e.attrs().map(|(n, v)| format!("{n}={v:?}")).collect();
    attributes.dedup_by(|a, b| a.split('=').next() == b.split('=').next());
    let children: Vec<String> = e.children.iter().map(bare).collect();
    let text = if e.children.is_empty() { e.text.as_str() } else { "" };
    format!("{}[{}]({text:?}){{{}}}", e.name, attributes.join(","), children.join(","))
}

#[test]
fn whatever_is_damaged_an_answer_comes_and_what_is_read_survives_writing() {
    let mut rng = StdRng::seed_from_u64(7);
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..60_000 {
        let text = damaged(&mut rng);
        let Ok(root) = parse(&text, &LIMITS) else {
            refused += 1;
            continue;
        };
        taken += 1;
        // two attributes that only a namespace tells apart can't be told apart without
        let mut names: Vec<&str> = root.attrs().map(|(n, _)| n).collect();
        names.sort_unstable();
        if names.windows(2).any(|w| w[0] == w[1]) {
            continue;
        }
        let mut w = Writer::document();
        write(&mut w, &root);
        let written = w.into_string();
        match parse(&written, &LIMITS) {
            Ok(again) => assert_eq!(bare(&again), bare(&root), "{text}\n{written}"),
            Err(e) if e.reason == xml::Reason::Duplicate => {}
            Err(e) => panic!("{e}\n{text}\n{written}"),
        }
    }
    assert!(taken > 1000 && refused > 10_000, "{taken} taken, {refused} refused");
}
