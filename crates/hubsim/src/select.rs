//! Label and field selectors: reading them with the real server's complaints, and matching.

use crate::{
    answer::{Refusal, Result},
    kinds::Kind,
    names,
};
use serde_json::Value;

/// Both selectors of a list or watch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<(String, bool, String)>,
}

#[derive(Debug, Clone, PartialEq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl Selector {
    pub(crate) fn read(kind: &Kind, labels: &str, fields: &str) -> Result<Self> {
        Ok(Self { labels: Parser::new(labels).all()?, fields: field_terms(kind, fields)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.labels.iter().all(|one| one.matches(&object["metadata"]["labels"]))
            && self.fields.iter().all(|(path, equal, wanted)| {
                let value = path.split('.').fold(object, |value, step| &value[step]);
                let text = match value {
                    Value::String(text) => text.clone(),
                    Value::Null => String::new(),
                    other => other.to_string(),
                };
                (text == *wanted) == *equal
            })
    }
}

/// Whether a selector as objects carry it (`matchLabels`, `matchExpressions`) matches labels.
impl Requirement {
    fn matches(&self, labels: &Value) -> bool {
        let value = labels.get(&self.key).and_then(Value::as_str);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.iter().any(|one| one == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|one| one != value)),
            Test::Greater(than) => number().is_some_and(|number| number > *than),
            Test::Less(than) => number().is_some_and(|number| number < *than),
        }
    }
}

fn field_terms(kind: &Kind, text: &str) -> Result<Vec<(String, bool, String)>> {
    let mut terms = Vec::new();
    for term in text.split(',').filter(|term| !term.is_empty()) {
        let (path, equal, value) = if let Some((path, value)) = term.split_once("!=") {
            (path, false, value)
        } else if let Some((path, value)) = term.split_once("==") {
            (path, true, value)
        } else if let Some((path, value)) = term.split_once('=') {
            (path, true, value)
        } else {
            return Err(Refusal::bad_request(format!("invalid selector: '{text}'; can't understand '{term}'")));
        };
        known_field(kind, path)?;
        terms.push((path.to_owned(), equal, value.to_owned()));
    }
    Ok(terms)
}

fn known_field(kind: &Kind, path: &str) -> Result<()> {
    let more: &[&str] = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => &["status.phase"],
        ("", "pods") => {
            &["spec.nodeName", "status.phase", "status.podIP", "spec.serviceAccountName", "spec.schedulerName"]
        }
        ("", "nodes") => &["spec.unschedulable"],
        ("", "secrets") => &["type"],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        _ => &[],
    };
    if matches!(path, "metadata.name" | "metadata.namespace") || more.contains(&path) {
        return Ok(());
    }
    Err(Refusal::bad_request(if kind.custom {
        format!("field label not supported: {path}")
    } else {
        format!("\"{path}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    }))
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(text) => text,
            Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

/// Reads label selectors. The order of checks is the real server's, so that its complaints come out.
struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn new(text: &str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if first.is_whitespace() {
                rest = &rest[first.len_utf8()..];
                continue;
            }
            let symbol = ["==", "!=", "=", "!", ",", "(", ")", "<", ">"].into_iter().find(|one| rest.starts_with(one));
            if let Some(symbol) = symbol {
                tokens.push(Token::Symbol(symbol));
                rest = &rest[symbol.len()..];
            } else {
                let end = rest.find(|c: char| c.is_whitespace() || "=!,()<>".contains(c)).unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..end].to_owned()));
                rest = &rest[end..];
            }
        }
        tokens.push(Token::End);
        Self { tokens, at: 0 }
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn all(mut self) -> Result<Vec<Requirement>> {
        let mut found = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(found),
                Token::Word(_) | Token::Symbol("!") => {
                    let requirement = self
                        .one()
                        .map_err(|why| Refusal::bad_request(format!("unable to parse requirement: {why}")))?;
                    found.push(requirement);
                    match self.next() {
                        Token::End => return Ok(found),
                        Token::Symbol(",") => match self.peek() {
                            Token::Word(_) | Token::Symbol("!") => {}
                            other => {
                                return Err(Refusal::bad_request(format!(
                                    "found '{}', expected: identifier after ','",
                                    other.text()
                                )));
                            }
                        },
                        other => {
                            return Err(Refusal::bad_request(format!(
                                "found '{}', expected: ',' or 'end of string'",
                                other.text()
                            )));
                        }
                    }
                }
                other => {
                    return Err(Refusal::bad_request(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    )));
                }
            }
        }
    }

    fn one(&mut self) -> std::result::Result<Requirement, String> {
        let absent = *self.peek() == Token::Symbol("!");
        if absent {
            self.next();
        }
        let Token::Word(key) = self.next() else { return Err("found '', expected: identifier".to_owned()) };
        check_key(&key)?;
        if absent {
            return Ok(Requirement { key, test: Test::Absent });
        }
        let test = match self.peek().clone() {
            Token::Symbol("=" | "==") => {
                self.next();
                Test::In(vec![self.value()])
            }
            Token::Symbol("!=") => {
                self.next();
                Test::NotIn(vec![self.value()])
            }
            Token::Symbol(sign @ ("<" | ">")) => {
                self.next();
                let value = self.value();
                let number = value.parse().map_err(|_| {
                    format!("values[0][{key}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer")
                })?;
                if sign == ">" { Test::Greater(number) } else { Test::Less(number) }
            }
            Token::Word(word) if word == "in" || word == "notin" => {
                self.next();
                let values = self.values()?;
                if word == "in" { Test::In(values) } else { Test::NotIn(values) }
            }
            Token::Symbol(",") | Token::End => Test::Exists,
            other => {
                return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text()));
            }
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            for (index, value) in values.iter().enumerate() {
                if let Some(why) = names::label_value(value) {
                    return Err(format!("values[{index}][{key}]: Invalid value: \"{value}\": {why}"));
                }
            }
        }
        Ok(Requirement { key, test })
    }

    fn value(&mut self) -> String {
        match self.peek().clone() {
            Token::Word(word) => {
                self.next();
                word
            }
            _ => String::new(),
        }
    }

    fn values(&mut self) -> std::result::Result<Vec<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = Vec::new();
        loop {
            values.push(self.value());
            match self.next() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(values),
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

fn check_key(key: &str) -> std::result::Result<(), String> {
    match names::label_key(key) {
        Some(why) => Err(format!("<nil>: Invalid value: \"{key}\": {why}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn matching(selector: &str) -> Vec<&'static str> {
        let requirements = Parser::new(selector).all().unwrap();
        [("web", json!({"app": "web", "n": "5"})), ("db", json!({"app": "db", "n": "1"})), ("bare", json!({}))]
            .into_iter()
            .filter(|(_, labels)| requirements.iter().all(|one| one.matches(labels)))
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn every_operator_selects_what_it_says() {
        assert_eq!(matching("app=web"), ["web"]);
        assert_eq!(matching("app!=web"), ["db", "bare"]);
        assert_eq!(matching("app in (web, db),n>3"), ["web"]);
        assert_eq!(matching("app notin (web)"), ["db", "bare"]);
        assert_eq!(matching("!app"), ["bare"]);
        assert_eq!(matching("n<3"), ["db"]);
        assert_eq!(matching(""), ["web", "db", "bare"]);
    }

    #[test]
    fn bad_selectors_are_refused_in_the_servers_words() {
        let told = |text: &str| Parser::new(text).all().unwrap_err().message;
        assert_eq!(told("a=b=c"), "found '=', expected: ',' or 'end of string'");
        assert_eq!(told("app in web"), "unable to parse requirement: found 'web' expected: '('");
        assert_eq!(told("=x"), "found '=', expected: !, identifier, or 'end of string'");
    }
}
