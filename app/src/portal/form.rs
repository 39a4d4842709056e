//! What came in with a form, and what its fields show when it comes back.
use model::{
    Error, FieldError, Problems, Result,
    quota::{Limits, Measure},
};

/// The fields of a form, as typed. A name may come several times.
#[derive(Clone, Debug, Default)]
pub struct Values(Vec<(String, String)>);

impl Values {
    /// From `application/x-www-form-urlencoded`.
    pub fn read(bytes: &[u8]) -> Values {
        Values(serde_urlencoded::from_bytes(bytes).unwrap_or_default())
    }

    pub fn from_pairs<const N: usize>(pairs: [(&str, String); N]) -> Values {
        Values(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
    }

    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(k, _)| k == name).map_or("", |(_, v)| v)
    }

    pub fn text(&self, name: &str) -> String {
        self.get(name).to_owned()
    }

    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(k, _)| k == name).map(|(_, v)| v.as_str())
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(k, _)| k == name)
    }

    pub fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }

    /// Without secrets: what may be shown again or kept over a sign-in.
    pub fn shown(&self) -> impl Iterator<Item = (&str, &str)> {
        let secret = |k: &str| {
            let k = k.to_ascii_lowercase();
            ["password", "kubeconfig", "secret", "token"].iter().any(|word| k.contains(word))
        };
        self.0.iter().filter(move |(k, _)| !secret(k)).map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// The version of what was edited, which the form carries along.
    pub fn version(&self) -> Result<i64> {
        self.get("version")
            .parse()
            .map_err(|_| Error::BadRequest("The form is incomplete. Open the page again.".into()))
    }

    /// A whole number in units of `per`, or nothing.
    pub fn number(&self, field: &'static str, per: i64, problems: &mut Problems) -> Option<i64> {
        let typed = self.get(field).trim().replace([',', ' '], "");
        if typed.is_empty() {
            return None;
        }
        match typed.parse::<i64>().ok().and_then(|n| n.checked_mul(per)) {
            Some(n) => Some(n),
            None => {
                problems.add(field, "A whole number, or empty for no limit.");
                None
            }
        }
    }

    pub fn limits(&self, problems: &mut Problems) -> Limits {
        let mut limits = Limits::default();
        for m in Measure::ALL {
            limits.set(m, self.number(m.field(), m.per_unit(), problems));
        }
        limits
    }
}

/// Joins what could not be read with what the operation found, so that all of it is said at once.
pub fn with_problems<T>(problems: Problems, checked: Result<T>) -> Result<T> {
    match (problems.done(), checked) {
        (Ok(()), checked) => checked,
        (Err(Error::Invalid(mut a)), Err(Error::Invalid(b))) => {
            a.extend(b.into_iter().filter(|e| !a.iter().any(|x| x.field == e.field)).collect::<Vec<FieldError>>());
            Err(Error::Invalid(a))
        }
        (Err(e), _) => Err(e),
    }
}

/// A form on its way back to its page.
#[derive(Clone, Debug)]
pub struct FormState {
    pub values: Values,
    pub error: Option<Error>,
}

/// What a form's page shows in its fields: what was typed, else what is stored.
#[derive(Clone, Debug)]
pub struct Fill(Option<FormState>);

impl Fill {
    pub(super) fn new(state: Option<FormState>) -> Fill {
        Fill(state)
    }

    /// What was typed; nothing, if the form was not sent yet.
    pub fn typed(&self) -> Values {
        self.0.as_ref().map(|s| s.values.clone()).unwrap_or_default()
    }

    /// Was the form sent and did it come back?
    pub fn returned(&self) -> bool {
        self.0.is_some()
    }

    pub fn value(&self, name: &str, stored: impl Into<String>) -> String {
        match &self.0 {
            Some(s) => s.values.text(name),
            None => stored.into(),
        }
    }

    pub fn checked(&self, name: &str, value: &str, stored: bool) -> bool {
        match &self.0 {
            Some(s) => s.values.all(name).any(|v| v == value),
            None => stored,
        }
    }

    pub fn error(&self, name: &str) -> Option<String> {
        let errors = self.0.as_ref()?.error.as_ref()?.fields();
        errors.iter().find(|e| e.field == name).map(|e| e.message.clone())
    }

    /// All that is said of a field that stands on the page several times.
    pub fn errors(&self, name: &str) -> impl Iterator<Item = &str> {
        let errors = self.0.as_ref().and_then(|s| s.error.as_ref()).map_or(&[][..], Error::fields);
        errors.iter().filter(move |e| e.field == name).map(|e| e.message.as_str())
    }

    pub fn failure(&self) -> Option<&Error> {
        self.0.as_ref()?.error.as_ref()
    }

    /// The version to send along: after a conflict the newer one, so that saving again is done knowingly.
    pub fn version(&self, stored: i64) -> i64 {
        match self.failure() {
            Some(Error::Conflict(c)) => c.version,
            _ => stored,
        }
    }

    /// A limit's field: the number in its shown unit.
    pub fn limit(&self, m: Measure, limits: &Limits) -> String {
        self.value(m.field(), limits.get(m).map(|v| (v / m.per_unit()).to_string()).unwrap_or_default())
    }
}
