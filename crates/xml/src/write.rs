//! Writes a document from its first to its last character; nothing is built in between.
use crate::{read::Element, text::allowed};
use std::fmt::{Display, Write};

/// Elements are opened with their attributes and closed by the end of the function that fills them, so none stays open.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    out: String,
}

impl Writer {
    /// A document, with its declaration.
    pub fn document() -> Writer {
        let mut out = String::with_capacity(4096);
        out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        Writer { out }
    }

    pub fn into_string(self) -> String {
        self.out
    }

    pub fn len(&self) -> usize {
        self.out.len()
    }

    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    fn begin(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.out.push('<');
        self.out.push_str(name);
        for (name, value) in attributes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            // a String never refuses
            let _ = write!(Escaped(&mut self.out), "{value}");
            self.out.push('"');
        }
    }

    /// An element with others in it.
    pub fn el(&mut self, name: &str, attributes: &[(&str, &dyn Display)], fill: impl FnOnce(&mut Writer)) {
        self.begin(name, attributes);
        self.out.push('>');
        let before = self.out.len();
        fill(self);
        self.end(name, before);
    }

    /// What turned out to have nothing in it, of whatever kind, is written in one way.
    fn end(&mut self, name: &str, before: usize) {
        if self.out.len() == before {
            self.out.pop();
            self.out.push_str("/>");
            return;
        }
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    /// An element without content.
    pub fn empty(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.begin(name, attributes);
        self.out.push_str("/>");
    }

    /// Text by itself, inside of the element that is open.
    pub fn words(&mut self, value: impl Display) {
        let _ = write!(Escaped(&mut self.out), "{value}");
    }

    /// An element with text in it.
    pub fn text(&mut self, name: &str, value: impl Display) {
        self.text_with(name, &[], value);
    }

    pub fn text_with(&mut self, name: &str, attributes: &[(&str, &dyn Display)], value: impl Display) {
        self.begin(name, attributes);
        self.out.push('>');
        let before = self.out.len();
        let _ = write!(Escaped(&mut self.out), "{value}");
        self.end(name, before);
    }

    /// An element that was read, its text before its children. `prefixes` are those that stand for namespaces here, the empty
    /// one for elements alone; what is in another namespace is written without a prefix.
    pub fn read(&mut self, e: &Element, prefixes: &[(&str, &str)]) {
        self.root(e, prefixes, &[]);
    }

    fn root(&mut self, e: &Element, prefixes: &[(&str, &str)], declared: &[(&str, &dyn Display)]) {
        let named = |namespace: &str, name: &str, element: bool| {
            let fits = |(prefix, of): &&(&str, &str)| *of == namespace && (element || !prefix.is_empty());
            match prefixes.iter().find(fits) {
                Some((prefix, _)) if !prefix.is_empty() && !namespace.is_empty() => format!("{prefix}:{name}"),
                _ => name.to_owned(),
            }
        };
        let name = named(&e.namespace, &e.name, true);
        let own: Vec<(String, &str)> = e.attributes().map(|(of, n, value)| (named(of, n, false), value)).collect();
        let own = own.iter().map(|(name, value)| (name.as_str(), value as &dyn Display));
        let all: Vec<(&str, &dyn Display)> = declared.iter().copied().chain(own).collect();
        self.el(&name, &all, |w| {
            let _ = w.bare(&e.text);
            e.children.iter().for_each(|c| w.read(c, prefixes));
        });
    }

    fn bare(&mut self, text: &str) -> std::fmt::Result {
        Escaped(&mut self.out).write_str(text)
    }
}

/// A document that was read, with its prefixes declared at its root, in that order.
pub fn again(root: &Element, prefixes: &[(&str, &str)]) -> String {
    let names: Vec<String> =
        prefixes.iter().map(|(p, _)| if p.is_empty() { "xmlns".to_owned() } else { format!("xmlns:{p}") }).collect();
    let declared: Vec<(&str, &dyn Display)> =
        names.iter().zip(prefixes).map(|(name, (_, of))| (name.as_str(), of as &dyn Display)).collect();
    let mut w = Writer::document();
    w.root(root, prefixes, &declared);
    w.into_string()
}

/// What XML can't carry is left out; the rest is written so that it reads back as it was.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            match c {
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '&' => self.0.push_str("&amp;"),
                '"' => self.0.push_str("&quot;"),
                // readers turn these into spaces or drop them where they stand bare
                '\n' => self.0.push_str("&#10;"),
                '\r' => self.0.push_str("&#13;"),
                '\t' => self.0.push_str("&#9;"),
                c if allowed(c) => self.0.push(c),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    #[test]
    fn what_is_written_reads_back_the_same() {
        let odd = "a<b>&\"'\n\r\t ü \u{1F600}";
        let mut w = Writer::document();
        w.el("A", &[("x", &odd), ("n", &3)], |w| {
            w.text("B", odd);
            w.el("C", &[], |_| {});
            w.empty("D", &[("y", &"\u{0}z")]);
        });
        let text = w.into_string();
        let limits =
            Limits { what: "test", bytes: 4096, depth: 8, elements: 9, attributes: 9, name_bytes: 9, lenient: false };
        let root = parse(&text, &limits).expect("well formed");
        assert_eq!((root.attr("x"), root.attr("n")), (Some(odd), Some("3")));
        assert_eq!(root.child("B").map(|b| b.text.as_str()), Some(odd));
        assert!(root.child("C").is_some_and(|c| c.text.is_empty()));
        assert_eq!(root.child("D").and_then(|d| d.attr("y")), Some("z"));
    }
}
