//! Blocks of a Terraform configuration, set as `terraform fmt` sets them.
use super::{Site, Way};
use std::fmt::{Display, Write};

/// Between the names of an import's id, if none of them has it. The provider is told about another one.
pub(super) const DOT: &str = ".";
const OTHERS: [&str; 3] = ["::", "|", "//"];

/// The id that something is imported by, and what stands between its parts.
pub(super) fn import_id(parts: &[&str]) -> (String, &'static str) {
    let fits = |s: &&'static str| !parts.iter().any(|p| p.contains(*s));
    let separator = std::iter::once(DOT).chain(OTHERS).find(fits).unwrap_or(DOT);
    (parts.join(separator), separator)
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // a template begins there, unless the sign is doubled
            '$' | '%' if rest.peek() == Some(&'{') => out.extend([c, c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A name for a resource, from the thing's own.
pub(super) fn label(name: &str) -> String {
    let word: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    match word.chars().next() {
        Some(c) if c.is_ascii_alphabetic() => word,
        _ => format!("_{word}"),
    }
}

#[derive(Clone, Debug)]
enum Line {
    Attribute(String, String),
    Block(Block),
}

#[derive(Clone, Debug)]
pub(super) struct Block {
    head: String,
    lines: Vec<Line>,
}

impl Block {
    pub(super) fn new(head: &str) -> Block {
        Block { head: head.to_owned(), lines: Vec::new() }
    }

    pub(super) fn resource(kind: &str, name: &str) -> Block {
        Block::new(&format!("resource \"{kind}\" \"{}\"", label(name)))
    }

    pub(super) fn data(kind: &str, name: &str) -> Block {
        Block::new(&format!("data \"{kind}\" \"{}\"", label(name)))
    }

    /// A secret that Terraform asks for.
    pub(super) fn secret(name: &str) -> Block {
        Block::new(&format!("variable \"{name}\"")).is("type", "string").is("sensitive", true)
    }

    pub(super) fn import(kind: &str, name: &str, id: &str) -> Block {
        Block::new("import").is("to", format_args!("{kind}.{}", label(name))).text("id", id)
    }

    pub(super) fn text(self, key: &str, value: &str) -> Block {
        let value = quoted(value);
        self.is(key, value)
    }

    /// Left out where it would be empty.
    pub(super) fn said(self, key: &str, value: &str) -> Block {
        if value.trim().is_empty() { self } else { self.text(key, value.trim()) }
    }

    /// A number, a word, or something elsewhere.
    pub(super) fn is(mut self, key: &str, value: impl Display) -> Block {
        self.lines.push(Line::Attribute(key.to_owned(), value.to_string()));
        self
    }

    pub(super) fn when(self, so: bool, key: &str, value: impl Display) -> Block {
        if so { self.is(key, value) } else { self }
    }

    pub(super) fn texts<'a>(self, key: &str, values: impl IntoIterator<Item = &'a str>) -> Block {
        let all: Vec<String> = values.into_iter().map(|v| format!("    {},\n", quoted(v))).collect();
        match all.is_empty() {
            true => self.is(key, "[]"),
            false => self.is(key, format_args!("[\n{}  ]", all.concat())),
        }
    }

    pub(super) fn with(mut self, block: Block) -> Block {
        self.lines.push(Line::Block(block));
        self
    }

    pub(super) fn and(self, blocks: impl IntoIterator<Item = Block>) -> Block {
        blocks.into_iter().fold(self, Block::with)
    }

    fn write(&self, out: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        let _ = writeln!(out, "{indent}{} {{", self.head);
        for (i, line) in self.lines.iter().enumerate() {
            match line {
                Line::Attribute(key, value) => {
                    let width = self.width_at(i);
                    let _ = writeln!(out, "{indent}  {key:width$} = {value}");
                }
                Line::Block(block) => {
                    if i > 0 {
                        out.push('\n');
                    }
                    block.write(out, depth + 1);
                }
            }
        }
        let _ = writeln!(out, "{indent}}}");
    }

    /// Of the longest key beside this one: those that follow each other are set below each other. What takes several lines stands alone.
    fn width_at(&self, i: usize) -> usize {
        let key = |line: &Line| match line {
            Line::Attribute(key, value) if !value.contains('\n') => Some(key.len()),
            _ => None,
        };
        if key(&self.lines[i]).is_none() {
            return 0;
        }
        let before = self.lines[..i].iter().rev().map_while(key);
        before.chain(self.lines[i..].iter().map_while(key)).max().unwrap_or(0)
    }
}

impl Display for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.write(&mut out, 0);
        f.write_str(out.trim_end())
    }
}

/// Blocks below each other.
pub(super) fn all(blocks: impl IntoIterator<Item = Block>) -> Way {
    Way::code(blocks.into_iter().map(|b| b.to_string()).collect::<Vec<_>>().join("\n\n"))
}

/// Things of VDCs and organizations say whose they are, so that it does not matter what the provider is set to.
pub(super) fn in_vdc(block: Block, org: &str, vdc: &str) -> Block {
    block.text("org", org).text("vdc", vdc)
}

/// The provider itself.
pub(super) fn provider(site: &Site, separator: &str) -> Way {
    if !site.base.starts_with("https:") {
        return Way::none(
            "The provider signs in over https alone, and this page was opened by http. Open it by https to see how.",
        );
    }
    let source = Block::new("vcd =").text("source", "vmware/vcd").text("version", "~> 3.14");
    let provider = Block::new("provider \"vcd\"")
        .text("url", &site.href("api"))
        .text("org", &site.org)
        .text("user", &site.user)
        .is("password", "var.vcd_password");
    let provider = match separator {
        DOT => provider,
        other => provider.text("import_separator", other),
    };
    all([Block::new("terraform").with(Block::new("required_providers").with(source)), Block::secret("vcd_password"), provider])
        .but("Set TF_VAR_vcd_password, or Terraform asks for it. A certificate that nobody signed needs VCD_ALLOW_UNVERIFIED_SSL=true.")
        .but_if(separator != DOT, "A name here has a dot, so ids of imports are written with another separator.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_hold_no_template_and_no_line_break() {
        assert_eq!(quoted("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quoted("${x} %{y} $z 5%"), r#""$${x} %%{y} $z 5%""#);
        assert_eq!(quoted("a\nb\u{7}"), r#""a\nb\u0007""#);
        assert_eq!([label("Shop 1"), label("24.04")], ["shop_1", "_24_04"]);
    }

    #[test]
    fn what_follows_each_other_is_set_below_each_other() {
        let block =
            Block::resource("a", "b").text("name", "x").is("cpus", 2).texts("rights", ["r"]).is("longer_one", true);
        let block = block.with(Block::new("inner").is("a", 1));
        let wanted = "resource \"a\" \"b\" {\n  name = \"x\"\n  cpus = 2\n  rights = [\n    \"r\",\n  ]\n  longer_one = true\n\n  inner {\n    a = 1\n  }\n}";
        assert_eq!(block.to_string(), wanted);
    }

    #[test]
    fn an_id_is_joined_by_what_is_in_none_of_its_parts() {
        assert_eq!(import_id(&["acme", "prod"]), ("acme.prod".into(), "."));
        assert_eq!(import_id(&["acme", "24.04"]), ("acme::24.04".into(), "::"));
        assert_eq!(import_id(&["a.b", "c::d"]), ("a.b|c::d".into(), "|"));
    }
}
