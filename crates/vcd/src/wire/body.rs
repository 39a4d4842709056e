//! What clients send on `/api`: XML within limits, or JSON that says the same.
use model::{Error, Result, query::last_uuid};
use serde_json::Value;
use uuid::Uuid;
use xml::{Element, Limits};

const LIMITS: Limits = Limits {
    what: "request",
    bytes: 4 << 20,
    depth: 64,
    elements: 20_000,
    attributes: 128,
    name_bytes: 255,
    lenient: true,
};

/// The document's root.
pub(crate) fn xml(bytes: &[u8]) -> Result<Element> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::BadRequest("The request is not UTF-8.".into()))?;
    if text.trim().is_empty() {
        return Err(Error::BadRequest("The request has no body, and one is needed.".into()));
    }
    xml::parse(text, &LIMITS).map_err(|fault| Error::BadRequest(format!("The request can't be read. {fault}")))
}

/// JSON in the form of `/api`: a property is an attribute or a child, whichever is looked for.
pub(crate) fn json(bytes: &[u8], root: &str) -> Result<Element> {
    let value: Value =
        serde_json::from_slice(bytes).map_err(|e| Error::BadRequest(format!("The request is no JSON: {e}.")))?;
    Ok(element(root, &value))
}

fn element(name: &str, value: &Value) -> Element {
    let mut out = Element::new(name, "");
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = capital(key);
                match value {
                    Value::Array(all) => out.children.extend(all.iter().map(|one| element(&name, one))),
                    Value::Object(_) => out.children.push(element(&name, value)),
                    Value::Null => {}
                    scalar => {
                        out.set_attr(key.clone(), text(scalar));
                        out.children.push(Element::new(name, text(scalar)));
                    }
                }
            }
        }
        scalar => out.text = text(scalar),
    }
    out
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn capital(key: &str) -> String {
    let mut chars = key.chars();
    chars.next().map(|c| c.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

/// What handlers look for in a body. What is missing or empty is None; what can't be read is an error that names it.
pub(crate) trait Read {
    fn word(&self, name: &str) -> Option<&str>;
    fn need(&self, name: &'static str) -> Result<&str>;
    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>>;
    fn flag(&self, name: &str) -> Result<Option<bool>>;
    fn on(&self, name: &str) -> Result<bool>;
    fn id(&self) -> Option<Uuid>;
    fn id_of(&self, name: &str) -> Option<Uuid>;
}

impl Read for Element {
    /// The text of a child, or an attribute of that name.
    fn word(&self, name: &str) -> Option<&str> {
        let child = self.child_named(name).map(|c| c.text.trim());
        child.or_else(|| self.attr(name).map(str::trim)).filter(|t| !t.is_empty())
    }

    fn need(&self, name: &'static str) -> Result<&str> {
        self.word(name).ok_or_else(|| Error::BadRequest(format!("{} needs {name}.", self.name)))
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.word(name) else { return Ok(None) };
        // some clients write whole numbers with a point
        let whole = text.strip_suffix(".0").unwrap_or(text);
        whole.parse().map(Some).map_err(|_| odd(&self.name, name, text, "a whole number"))
    }

    /// `true`, `True`, `1` and their opposites.
    fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.word(name).map(|t| (t, t.to_ascii_lowercase())) {
            None => Ok(None),
            Some((_, t)) if matches!(t.as_str(), "true" | "1") => Ok(Some(true)),
            Some((_, t)) if matches!(t.as_str(), "false" | "0") => Ok(Some(false)),
            Some((text, _)) => Err(odd(&self.name, name, text, "true or false")),
        }
    }

    /// Some clients leave out what is false.
    fn on(&self, name: &str) -> Result<bool> {
        Ok(self.flag(name)?.unwrap_or(false))
    }

    /// Of a reference: the id in its address, or its own.
    fn id(&self) -> Option<Uuid> {
        self.attr("href").and_then(last_uuid).or_else(|| self.attr("id").and_then(last_uuid))
    }

    fn id_of(&self, name: &str) -> Option<Uuid> {
        self.child_named(name).and_then(Read::id)
    }
}

trait Named {
    fn child_named(&self, name: &str) -> Option<&Element>;
}

impl Named for Element {
    fn child_named(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|c| c.name == name)
    }
}

fn odd(element: &str, name: &str, text: &str, wanted: &str) -> Error {
    let shown: String = text.chars().take(64).collect();
    Error::BadRequest(format!("{name} of {element} is {wanted}, and not “{shown}”."))
}
