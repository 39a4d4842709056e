//! As much XML as people send us, into a small tree. No DOCTYPE, no entities but the five of the standard: nothing
//! can grow while it is read.
use crate::{
    fault::{Fault, Reason, Result, refuse, shown},
    text::allowed,
};

/// How much of a document is read. More is refused.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// What the document is called in messages: "descriptor".
    pub what: &'static str,
    pub bytes: usize,
    pub depth: usize,
    pub elements: usize,
    pub attributes: usize,
    pub name_bytes: usize,
    /// Prefixes that were never declared count as none: some clients send back parts of documents without their head.
    pub lenient: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    pub namespace: String,
    pub name: String,
    attributes: Vec<Attribute>,
    pub text: String,
    pub children: Vec<Element>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Attribute {
    namespace: String,
    name: String,
    value: String,
}

impl Element {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Element {
        Element { name: name.into(), text: text.into(), ..Element::default() }
    }

    /// An attribute of that namespace, or one without any, as many writers leave the prefix out.
    pub fn attribute(&self, namespace: &str, name: &str) -> Option<&str> {
        let of = |wanted: &str| self.attributes.iter().find(|a| a.name == name && a.namespace == wanted);
        of(namespace).or_else(|| of("")).map(|a| a.value.trim())
    }

    /// An attribute whatever its namespace.
    pub fn attr(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|a| a.name == name).map(|a| a.value.as_str())
    }

    pub fn set_attr(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.attributes.push(Attribute { namespace: String::new(), name: name.into(), value: value.into() });
    }

    /// All attributes: namespace, name and value.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.attributes.iter().map(|a| (a.namespace.as_str(), a.name.as_str(), a.value.as_str()))
    }

    /// All attributes, by their names alone.
    pub fn attrs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|a| (a.name.as_str(), a.value.as_str()))
    }

    pub fn child<'a>(&'a self, name: &'a str) -> Option<&'a Element> {
        self.all(name).next()
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |c| c.name == name)
    }

    /// Down through children, one name after the other.
    pub fn at<'a>(&'a self, path: &[&'a str]) -> Option<&'a Element> {
        path.iter().try_fold(self, |e, name| e.child(name))
    }

    /// The text of a child, without white space around it.
    pub fn text_of<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.child(name).map(|c| c.text.trim()).filter(|t| !t.is_empty())
    }
}

/// The one element of a document.
pub fn parse(text: &str, limits: &Limits) -> Result<Element> {
    if text.len() > limits.bytes {
        let most = limits.bytes >> 20;
        return refuse(Reason::TooLarge, "", format!("The {} is larger than {most} MiB.", limits.what));
    }
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    Reader { rest, open: vec![], scopes: vec![], elements: 0, limits: *limits }.document()
}

struct Reader<'a> {
    rest: &'a str,
    /// Open elements, the innermost last, each with its name as written and how many prefixes were known before it.
    open: Vec<(Element, &'a str, usize)>,
    scopes: Vec<(&'a str, String)>,
    elements: usize,
    limits: Limits,
}

const XML: &str = "http://www.w3.org/XML/1998/namespace";

impl<'a> Reader<'a> {
    fn document(mut self) -> Result<Element> {
        if let Some(rest) = self.rest.strip_prefix("<?xml") {
            let Some((declaration, rest)) = rest.split_once("?>") else {
                return refuse(Reason::Malformed, "<?xml", "The XML declaration has no end.");
            };
            let lower = declaration.to_ascii_lowercase();
            if lower.contains("encoding") && !lower.contains("utf-8") && !lower.contains("us-ascii") {
                return refuse(
                    Reason::Malformed,
                    "<?xml",
                    format!("Only UTF-8 is read. Send the {} as UTF-8.", self.limits.what),
                );
            }
            self.rest = rest;
        }
        loop {
            let Some(start) = self.rest.find('<') else {
                let at = self.open.last().map_or("", |o| o.1);
                return refuse(
                    Reason::Malformed,
                    at,
                    format!("The {} ends in the middle of an element.", self.limits.what),
                );
            };
            let (text, rest) = self.rest.split_at(start);
            self.rest = rest;
            self.text(text)?;
            if let Some(rest) = self.rest.strip_prefix("<!--") {
                self.rest = after(rest, "-->", "A comment")?.1;
            } else if let Some(rest) = self.rest.strip_prefix("<![CDATA[") {
                let (inner, rest) = after(rest, "]]>", "A CDATA section")?;
                self.rest = rest;
                match self.open.last_mut() {
                    Some((element, ..)) => element.text.push_str(characters(inner)?),
                    None => return refuse(Reason::Malformed, "", "There is text outside of the root."),
                }
            } else if self.rest.starts_with("<!") {
                return refuse(
                    Reason::Entity,
                    "<!",
                    "It has a DOCTYPE or entity declaration. These are never read: remove it.",
                );
            } else if let Some(rest) = self.rest.strip_prefix("<?") {
                self.rest = after(rest, "?>", "A processing instruction")?.1;
            } else if let Some(rest) = self.rest.strip_prefix("</") {
                let (name, rest) = after(rest, ">", "An end tag")?;
                self.rest = rest;
                if let Some(root) = self.close(name.trim_end())? {
                    return self.end(root);
                }
            } else if let Some(root) = self.start()? {
                return self.end(root);
            }
        }
    }

    /// After the last end tag nothing but comments may come.
    fn end(&self, root: Element) -> Result<Element> {
        let mut rest = self.rest.trim_start();
        while let Some(comment) = rest.strip_prefix("<!--") {
            rest = after(comment, "-->", "A comment")?.1.trim_start();
        }
        match rest.trim_end_matches(['\0', '\n', '\r', ' ', '\t']).is_empty() {
            true => Ok(root),
            false => refuse(Reason::Malformed, "", "There is something after the end of the root."),
        }
    }

    fn text(&mut self, text: &str) -> Result<()> {
        match self.open.last_mut() {
            Some((element, ..)) => element.text.push_str(&decoded(text)?),
            None if text.trim().is_empty() => {}
            None => return refuse(Reason::Malformed, text.trim(), "It is not XML: there is text before it."),
        }
        Ok(())
    }

    /// Gives the root back when it was the last one open.
    fn close(&mut self, name: &str) -> Result<Option<Element>> {
        let Some((element, opened, known)) = self.open.pop() else {
            return refuse(Reason::Malformed, name, "An end tag without its start.");
        };
        if opened != name {
            let message = format!("</{}> stands where </{}> belongs.", shown(name), shown(opened));
            return refuse(Reason::Malformed, name, message);
        }
        self.scopes.truncate(known);
        match self.open.last_mut() {
            Some((parent, ..)) => {
                parent.children.push(element);
                Ok(None)
            }
            None => Ok(Some(element)),
        }
    }

    fn start(&mut self) -> Result<Option<Element>> {
        let rest = &self.rest[1..];
        let end = rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/')).unwrap_or(rest.len());
        let (written, mut rest) = rest.split_at(end);
        if !is_name(written, self.limits.name_bytes) {
            return refuse(Reason::Malformed, written, "That is no name of an element.");
        }
        self.elements += 1;
        if self.elements > self.limits.elements {
            return refuse(Reason::TooMany, written, format!("There are more than {} elements.", self.limits.elements));
        }
        if self.open.len() >= self.limits.depth {
            return refuse(Reason::TooDeep, written, format!("Elements are nested deeper than {}.", self.limits.depth));
        }
        let known = self.scopes.len();
        let mut raw: Vec<(&'a str, String)> = vec![];
        let empty = loop {
            let next = rest.trim_start();
            if let Some(after) = next.strip_prefix("/>") {
                self.rest = after;
                break true;
            }
            if let Some(after) = next.strip_prefix('>') {
                self.rest = after;
                break false;
            }
            if next.len() == rest.len() {
                return refuse(Reason::Malformed, written, "Its start tag can't be read.");
            }
            let (name, value, after) = attribute(written, next, self.limits.name_bytes)?;
            if raw.len() >= self.limits.attributes {
                return refuse(Reason::TooMany, written, format!("More than {} attributes.", self.limits.attributes));
            }
            match name.strip_prefix("xmlns:").or((name == "xmlns").then_some("")) {
                // every name is looked up in them
                Some(_) if self.scopes.len() >= self.limits.attributes => {
                    let most = self.limits.attributes;
                    return refuse(Reason::TooMany, written, format!("More than {most} namespaces are declared."));
                }
                Some(prefix) => self.scopes.push((prefix, value)),
                None if name.ends_with(":xmlns") => {
                    return refuse(Reason::Malformed, written, "An attribute can't be called xmlns.");
                }
                None => raw.push((name, value)),
            }
            rest = after;
        };
        let (namespace, name) = self.resolve(written, true)?;
        let mut attributes: Vec<Attribute> = vec![];
        for (written, value) in raw {
            let (namespace, name) = self.resolve(written, false)?;
            if attributes.iter().any(|a| a.name == name && a.namespace == namespace) {
                return refuse(Reason::Duplicate, written, "The same attribute stands twice.");
            }
            attributes.push(Attribute { namespace, name, value });
        }
        self.open.push((Element { namespace, name, attributes, ..Element::default() }, written, known));
        if empty { self.close(written) } else { Ok(None) }
    }

    /// Only elements have a namespace by default.
    fn resolve(&self, written: &str, element: bool) -> Result<(String, String)> {
        let (prefix, name) = written.split_once(':').unwrap_or(("", written));
        if prefix == "xml" {
            return Ok((XML.to_owned(), name.to_owned()));
        }
        match self.scopes.iter().rev().find(|(p, _)| *p == prefix) {
            _ if prefix.is_empty() && !element => Ok((String::new(), name.to_owned())),
            Some((_, namespace)) => Ok((namespace.clone(), name.to_owned())),
            None if prefix.is_empty() || self.limits.lenient => Ok((String::new(), name.to_owned())),
            None => refuse(Reason::Malformed, written, "Its prefix was never declared."),
        }
    }
}

fn after<'a>(text: &'a str, end: &str, what: &str) -> Result<(&'a str, &'a str)> {
    match text.split_once(end) {
        Some(found) => Ok(found),
        None => refuse(Reason::Malformed, "", format!("{what} has no end.")),
    }
}

fn attribute<'a>(element: &str, text: &'a str, longest: usize) -> Result<(&'a str, String, &'a str)> {
    let wrong = || Fault::new(Reason::Malformed, element, "An attribute can't be read.");
    let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
    let (name, rest) = (name.trim_end(), rest.trim_start());
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or_else(wrong)?;
    let (value, rest) = rest[1..].split_once(quote).ok_or_else(wrong)?;
    if !is_name(name, longest) || value.contains('<') {
        return Err(wrong());
    }
    Ok((name, decoded(value)?, rest))
}

fn is_name(text: &str, longest: usize) -> bool {
    let mut parts = text.split(':');
    let one = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    text.len() <= longest && parts.next().is_some_and(one) && parts.next().is_none_or(one) && parts.next().is_none()
}

/// Text without its five entities and numbered characters; any other entity is refused.
fn decoded(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let entity = &rest[at + 1..];
        let Some(end) = entity.as_bytes().iter().take(12).position(|b| *b == b';') else {
            return refuse(Reason::Entity, "&", "A lone & in the text. Write &amp; instead.");
        };
        let name = &entity[..end];
        out.push(match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            _ => match numbered(name) {
                Some(c) => c,
                None => {
                    let message = "Only the five entities of XML and numbered characters are read.";
                    return refuse(Reason::Entity, format!("&{name};"), message);
                }
            },
        });
        rest = &entity[end + 1..];
    }
    out.push_str(rest);
    characters(&out)?;
    Ok(out)
}

/// The text, if XML can carry all of it.
fn characters(text: &str) -> Result<&str> {
    match text.chars().all(allowed) {
        true => Ok(text),
        false => refuse(Reason::Malformed, "", "There are control characters in the text."),
    }
}

fn numbered(name: &str) -> Option<char> {
    let digits = name.strip_prefix('#')?;
    let code = match digits.strip_prefix('x') {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    char::from_u32(code).filter(|c| allowed(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { what: "test", bytes: 1 << 20, depth: 8, elements: 100, attributes: 8, name_bytes: 40, lenient: false };

    #[test]
    fn names_are_resolved_texts_are_decoded_and_comments_are_left_out() {
        let root = parse(
            "<?xml version='1.0' encoding='UTF-8'?><!-- a --><a xmlns='urn:a' xmlns:b='urn:b'>\n<b:c b:x='1' y=\"&lt;&#65;\">\
             t<!-- no --><![CDATA[<&]]></b:c><d/></a>\n<!-- b -->",
            &LIMITS,
        )
        .expect("well formed");
        assert_eq!((root.namespace.as_str(), root.name.as_str()), ("urn:a", "a"));
        let c = root.child("c").expect("c");
        assert_eq!((c.namespace.as_str(), c.text.as_str()), ("urn:b", "t<&"));
        assert_eq!((c.attribute("urn:b", "x"), c.attribute("urn:b", "y")), (Some("1"), Some("<A")));
        assert_eq!(root.child("d").map(|d| d.namespace.as_str()), Some("urn:a"));
    }

    #[test]
    fn what_is_too_much_or_hostile_is_refused_by_name() {
        let deep = format!("{}{}", "<a>".repeat(9), "</a>".repeat(9));
        let many = format!("<a>{}</a>", "<b/>".repeat(100));
        let long = format!("<a {}/>", (0..9).map(|n| format!("x{n}='1' ")).collect::<String>());
        let spaces = format!("<a {}/>", (0..9).map(|n| format!("xmlns:x{n}='1' ")).collect::<String>());
        for (text, reason) in [
            ("<!DOCTYPE a><a/>", Reason::Entity),
            ("<a>&lol;</a>", Reason::Entity),
            ("<a>", Reason::Malformed),
            ("<a></b>", Reason::Malformed),
            ("<a/><b/>", Reason::Malformed),
            ("<x:a/>", Reason::Malformed),
            ("<a b='1' b='2'/>", Reason::Duplicate),
            (&deep, Reason::TooDeep),
            (&many, Reason::TooMany),
            (&long, Reason::TooMany),
            (&spaces, Reason::TooMany),
            ("<a>\u{1}</a>", Reason::Malformed),
            ("<a><![CDATA[\u{1}]]></a>", Reason::Malformed),
            ("<a b='\u{ffff}'/>", Reason::Malformed),
            ("<a>&#x1;</a>", Reason::Entity),
            ("<a xmlns:b='b' b:xmlns='c'/>", Reason::Malformed),
        ] {
            assert_eq!(parse(text, &LIMITS).expect_err(text).reason, reason, "{text}");
        }
        assert!(parse("<x:a/>", &Limits { lenient: true, ..LIMITS }).is_ok());
    }
}
