//! Documents of VCD's wire, a line for each element so that people can read them. No text has a line break of its own: a here-document
//! that a text could end would be one.
use std::fmt::{Display, Write};

pub(super) const VCLOUD: (&str, &str) = ("xmlns", "http://www.vmware.com/vcloud/v1.5");
pub(super) const OVF: (&str, &str) = ("xmlns:ovf", "http://schemas.dmtf.org/ovf/envelope/1");
pub(super) const RASD: (&str, &str) =
    ("xmlns:rasd", "http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData");

#[derive(Clone, Debug)]
pub(super) struct El {
    name: &'static str,
    attributes: String,
    text: Option<String>,
    inside: Vec<El>,
}

pub(super) fn el(name: &'static str) -> El {
    El { name, attributes: String::new(), text: None, inside: Vec::new() }
}

pub(super) fn text(name: &'static str, text: impl Display) -> El {
    El { text: Some(escaped(&text.to_string())), ..el(name) }
}

impl El {
    pub(super) fn attr(mut self, name: &str, value: impl Display) -> El {
        let _ = write!(self.attributes, " {name}=\"{}\"", escaped(&value.to_string()));
        self
    }

    pub(super) fn attrs(self, all: &[(&str, &str)]) -> El {
        all.iter().fold(self, |e, (name, value)| e.attr(name, value))
    }

    pub(super) fn with(mut self, inside: El) -> El {
        self.inside.push(inside);
        self
    }

    pub(super) fn and(mut self, inside: impl IntoIterator<Item = El>) -> El {
        self.inside.extend(inside);
        self
    }

    /// Left out where it would be empty.
    pub(super) fn said(self, name: &'static str, value: &str) -> El {
        if value.trim().is_empty() { self } else { self.with(text(name, value.trim())) }
    }

    fn write(&self, out: &mut String, depth: usize) {
        let (indent, name, attributes) = ("  ".repeat(depth), self.name, &self.attributes);
        let _ = match (&self.text, self.inside.is_empty()) {
            (Some(text), _) => writeln!(out, "{indent}<{name}{attributes}>{text}</{name}>"),
            (None, true) => writeln!(out, "{indent}<{name}{attributes}/>"),
            (None, false) => {
                let _ = writeln!(out, "{indent}<{name}{attributes}>");
                self.inside.iter().for_each(|e| e.write(out, depth + 1));
                writeln!(out, "{indent}</{name}>")
            }
        };
    }
}

impl Display for El {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.write(&mut out, 0);
        f.write_str(out.trim_end())
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' => {}
            '\n' | '\t' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts_on_one_line() {
        let made = el("A").attr("n", "\"<&>").with(text("B", "x\r\nXML\n")).said("C", " ").said("D", "d");
        assert_eq!(made.to_string(), "<A n=\"&quot;&lt;&amp;&gt;\">\n  <B>x&#10;XML&#10;</B>\n  <D>d</D>\n</A>");
    }
}
