//! Why a document is not taken.
use std::fmt;

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

/// The kind of reason: a name for logs, counts and tests; people read the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    Malformed,
    /// DOCTYPE, or an entity of somebody's own.
    Entity,
    TooDeep,
    TooMany,
    TooLarge,
    Duplicate,
}

/// What is wrong and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub reason: Reason,
    /// The element it is about; empty: the whole.
    pub at: String,
    pub message: String,
}

impl Fault {
    pub(crate) fn new(reason: Reason, at: impl Into<String>, message: impl Into<String>) -> Fault {
        Fault { reason, at: shown(&at.into()), message: message.into() }
    }
}

pub(crate) fn refuse<T>(reason: Reason, at: impl Into<String>, message: impl Into<String>) -> Result<T> {
    Err(Fault::new(reason, at, message))
}

/// A name out of somebody's document, short and without what would spoil a page or a log.
pub(crate) fn shown(text: &str) -> String {
    let mut out: String = text.chars().take(80).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(80).is_some() {
        out.push('…');
    }
    out
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.as_str() {
            "" => f.write_str(&self.message),
            at => write!(f, "{at}: {}", self.message),
        }
    }
}

impl std::error::Error for Fault {}
