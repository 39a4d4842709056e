//! Whether an answer is the wanted one. Wanted texts hold placeholders such as `<uid:1>`, bound at first sight.

use regex::Regex;
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashMap},
    sync::LazyLock,
};

static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"<(uid|rv|lrv|continue|gen|etag|token):([0-9A-Za-z_]+)>|<(time|rv|host|age|hash|protobuf|pem|text)>|<((?:ca\.crt|token) in base64)>",
    )
    .unwrap()
});

const TIME: &str = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z";

/// Lists whose order means nothing.
const UNORDERED: [&str; 9] = [
    "resources",
    "managedFields",
    "causes",
    "resourceRules",
    "nonResourceRules",
    "groups",
    "subresources",
    "shortNames",
    "categories",
];

fn pattern(kind: &str) -> &'static str {
    match kind {
        "uid" => "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "rv" | "lrv" => "[1-9][0-9]*",
        "continue" => "[0-9A-Za-z_=-]+",
        "gen" => "[bcdfghjklmnpqrstvwxz2456789]{5}",
        "etag" => "\"?[0-9A-Za-z_]+\"?",
        "token" => r"eyJ[0-9A-Za-z_.-]+",
        other => panic!("no pattern for {other}"),
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Bindings {
    pub values: HashMap<String, String>,
    seen: HashMap<(String, String), String>,
}

impl Bindings {
    /// Placeholders of a request become values.
    pub(crate) fn fill(&self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (self.fill_text(key), self.fill(value))).collect()
            }
            Value::Array(entries) => entries.iter().map(|entry| self.fill(entry)).collect(),
            Value::String(text) => self.fill_text(text).into(),
            other => other.clone(),
        }
    }

    pub(crate) fn fill_text(&self, text: &str) -> String {
        if let Some(rest) = text.strip_prefix("<repeat ").and_then(|rest| rest.strip_suffix('>')) {
            let (what, count) = rest.split_once(' ').unwrap();
            return what.repeat(count.parse().unwrap());
        }
        MARK.replace_all(text, |found: &regex::Captures<'_>| {
            self.values.get(&found[0]).cloned().unwrap_or_else(|| found[0].to_owned())
        })
        .into_owned()
    }

    pub(crate) fn matches(&mut self, want: &str, got: &str) -> bool {
        let (mut expression, mut names, mut at) = ("^(?s:".to_owned(), Vec::new(), 0);
        for found in MARK.captures_iter(want) {
            let whole = found.get(0).unwrap();
            expression.push_str(&regex::escape(&want[at..whole.start()]));
            at = whole.end();
            let mark = whole.as_str();
            let kind = (1..=4).filter(|at| *at != 2).find_map(|at| found.get(at)).unwrap().as_str();
            let bound = self.values.get(mark).filter(|_| kind != "lrv");
            match (kind, found.get(2), bound) {
                ("host", _, Some(bound)) | (_, Some(_), Some(bound)) => expression.push_str(&regex::escape(bound)),
                (kind, Some(_), None) => {
                    expression.push_str(&format!("({})", pattern(kind)));
                    names.push((kind.to_owned(), mark.to_owned()));
                }
                ("time", ..) => expression.push_str(TIME),
                ("rv", ..) => expression.push_str("[0-9]+"),
                _ => expression.push_str(".*"),
            }
        }
        expression.push_str(&regex::escape(&want[at..]));
        expression.push_str(")$");
        let matcher = regex::RegexBuilder::new(&expression).size_limit(100 << 20).build().unwrap();
        let Some(found) = matcher.captures(got) else { return false };
        for (index, (kind, mark)) in names.into_iter().enumerate() {
            let value = found.get(index + 1).unwrap().as_str().to_owned();
            let key = (kind.clone(), value.clone());
            if matches!(kind.as_str(), "uid" | "rv") && self.seen.get(&key).is_some_and(|known| *known != mark) {
                return false;
            }
            self.seen.insert(key, mark.clone());
            self.values.insert(mark, value);
        }
        true
    }

    /// Notes every difference. `subset`: more may be there than is wanted.
    pub(crate) fn compare(&mut self, want: &Value, got: &Value, path: &str, subset: bool, told: &mut Vec<String>) {
        match (want, got) {
            (Value::String(want), Value::String(got)) => {
                if several(want).is_some() && several(want) == several(got) || self.matches(want, got) {
                    return;
                }
                told.push(format!("{path}: want {} got {}", short(&self.fill_text(want)), short(got)));
            }
            (Value::Object(wanted), Value::Object(found)) => {
                let keys: BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
                for key in keys {
                    match (wanted.get(key), found.get(key)) {
                        (None, Some(_)) if subset || key == "managedFields" => {}
                        (None, Some(extra)) => {
                            told.push(format!("{path}.{key}: not wanted: {}", short(&extra.to_string())))
                        }
                        (Some(missing), None) => {
                            told.push(format!("{path}.{key}: missing, want {}", short(&missing.to_string())));
                        }
                        (Some(want), Some(got)) => self.compare(want, got, &format!("{path}.{key}"), subset, told),
                        (None, None) => {}
                    }
                }
            }
            (Value::Array(wanted), Value::Array(found)) => self.compare_lists(wanted, found, path, subset, told),
            _ if want == got => {}
            _ => told.push(format!("{path}: want {} got {}", short(&want.to_string()), short(&got.to_string()))),
        }
    }

    fn compare_lists(&mut self, wanted: &[Value], found: &[Value], path: &str, subset: bool, told: &mut Vec<String>) {
        let mut found = found.to_vec();
        let by_name = wanted.first().is_some_and(Value::is_string) && found.first().is_some_and(Value::is_object);
        if by_name {
            let name = |one: &Value| {
                if one["metadata"].is_object() { one["metadata"]["name"].clone() } else { one["name"].clone() }
            };
            found = found.iter().map(name).collect();
        }
        if subset || UNORDERED.contains(&path.rsplit('.').next().unwrap_or_default()) {
            for want in wanted {
                let mut at = None;
                for (index, got) in found.iter().enumerate() {
                    let before = self.clone();
                    let mut differences = Vec::new();
                    self.compare(want, got, path, subset, &mut differences);
                    if differences.is_empty() {
                        at = Some(index);
                        break;
                    }
                    *self = before;
                }
                match at {
                    Some(at) => drop(found.remove(at)),
                    None => told.push(format!("{path}: nothing like {}", short(&want.to_string()))),
                }
            }
            if !subset && !found.is_empty() {
                told.push(format!("{path}: not wanted {}", short(&Value::Array(found).to_string())));
            }
        } else if wanted.len() == found.len() {
            for (index, (want, got)) in wanted.iter().zip(&found).enumerate() {
                self.compare(want, got, &format!("{path}[{index}]"), subset, told);
            }
        } else {
            let shown = short(&Value::Array(found.clone()).to_string());
            told.push(format!("{path}: want {} entries, got {}: {shown}", wanted.len(), found.len()));
        }
    }
}

/// The parts of a message that lists several errors, which come in any order.
fn several(message: &str) -> Option<(&str, BTreeSet<&str>)> {
    let (head, tail) = message.split_once(" is invalid: [")?;
    Some((head, tail.trim_end_matches(']').split(", ").collect()))
}

fn short(text: &str) -> String {
    let cut: String = text.chars().take(400).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
