//! The one error type below HTTP. Each face maps it once.
use crate::{Action, Kind, Right, share::Access};
use std::fmt;
use time::OffsetDateTime;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A message says what happened, to what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Nobody is signed in, or the session ended.
    SignInNeeded,
    /// Sign-in failed; which part was wrong is not said.
    BadCredentials,
    /// The identity provider's word was not enough to sign in; the text says why and what to do.
    SignInRefused(String),
    /// Too many failed tries, or too much at once: come back after so many seconds.
    TooMany { message: String, retry_after_s: u64 },
    /// Missing, deleted or another organization's: one answer for all three.
    NotFound(Kind),
    /// May be seen, may not be done.
    Forbidden { action: Action, right: Option<Right> },
    /// It is shared with whoever asks, and not that far.
    NotShared { action: Action, needed: Access },
    /// Fields that need another value.
    Invalid(Vec<FieldError>),
    /// A name that another living object has.
    Taken(FieldError),
    /// Somebody else saved in between.
    Conflict(Box<Conflict>),
    /// The object's state does not allow it now.
    NotNow(String),
    /// A limit would be passed by what stands in that field; the field is empty where there is none for it.
    OverQuota(FieldError),
    /// A request we cannot read: a malformed id, filter or cursor.
    BadRequest(String),
    /// The database does not answer.
    Unavailable(String),
    /// Our own mistake. The text is for the log, never for the page.
    Internal(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    pub field: &'static str,
    pub message: String,
}

/// Both sides of two edits that met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub kind: Kind,
    pub name: String,
    pub changed_by: String,
    pub changed_at: OffsetDateTime,
    /// The version to send along when saving over it.
    pub version: i64,
    pub fields: Vec<ConflictField>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictField {
    pub field: &'static str,
    pub theirs: String,
    pub yours: String,
}

impl Error {
    pub fn field(field: &'static str, message: impl Into<String>) -> Error {
        Error::Invalid(vec![FieldError { field, message: message.into() }])
    }

    /// The same about fields of other names, as where a form is part of a larger one.
    pub fn rename(self, name: fn(&'static str) -> &'static str) -> Error {
        let renamed = |e: FieldError| FieldError { field: name(e.field), ..e };
        match self {
            Error::Invalid(list) => Error::Invalid(list.into_iter().map(renamed).collect()),
            Error::Taken(one) => Error::Taken(renamed(one)),
            Error::OverQuota(one) => Error::OverQuota(renamed(one)),
            e => e,
        }
    }

    /// The errors to show beside fields.
    pub fn fields(&self) -> &[FieldError] {
        match self {
            Error::Invalid(list) => list,
            Error::Taken(one) => std::slice::from_ref(one),
            Error::OverQuota(one) if !one.field.is_empty() => std::slice::from_ref(one),
            _ => &[],
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::SignInNeeded => f.write_str("Nobody is signed in. Sign in and try again."),
            Error::BadCredentials => f.write_str(
                "Organization, user name or password is wrong; we do not say which, so that nobody can guess.",
            ),
            Error::TooMany { message, .. } => f.write_str(message),
            Error::NotFound(kind) => write!(f, "There is no such {}.", kind.word()),
            Error::Forbidden { action, right: Some(right) } => {
                write!(
                    f,
                    "To {} takes the right \u{201c}{}\u{201d}, and your role has not got it.",
                    action.phrase(),
                    right.name()
                )
            }
            Error::NotShared { action, needed } => write!(
                f,
                "To {} takes \u{201c}{}\u{201d} access, and it is not shared with you that far. Ask its owner.",
                action.phrase(),
                needed.label()
            ),
            Error::Forbidden { action, right: None } => write!(f, "Only the provider can {}.", action.phrase()),
            Error::Invalid(list) => {
                for (i, e) in list.iter().enumerate() {
                    write!(f, "{}{}: {}", if i > 0 { " " } else { "" }, e.field, e.message)?;
                }
                Ok(())
            }
            Error::Taken(e) | Error::OverQuota(e) => f.write_str(&e.message),
            Error::Conflict(c) => {
                write!(f, "{} changed {} while you edited it. Nothing was saved yet.", c.changed_by, c.name)
            }
            Error::SignInRefused(m) | Error::NotNow(m) | Error::BadRequest(m) | Error::Unavailable(m) => f.write_str(m),
            Error::Internal(_) => f.write_str("Something went wrong on our side. It was logged; nothing was changed."),
        }
    }
}

impl std::error::Error for Error {}

/// Collects what is wrong with a form, so that all of it is said at once.
#[derive(Debug, Default)]
pub struct Problems(Vec<FieldError>);

impl Problems {
    pub fn add(&mut self, field: &'static str, message: impl Into<String>) {
        self.0.push(FieldError { field, message: message.into() });
    }

    /// The value of a check, or the default and a problem noted under `field`.
    pub fn take<T: Default>(&mut self, field: &'static str, checked: Result<T, String>) -> T {
        checked.unwrap_or_else(|message| {
            self.add(field, message);
            T::default()
        })
    }

    /// What another check found goes with the rest, with `whose` before it unless that is empty; nothing is said twice.
    /// None: it found something.
    pub fn gather<T>(&mut self, whose: &str, checked: Result<T>) -> Option<T> {
        let found = match checked {
            Ok(good) => return Some(good),
            Err(e) if e.fields().is_empty() => vec![FieldError { field: "", message: e.to_string() }],
            Err(e) => e.fields().to_vec(),
        };
        for FieldError { field, message } in found {
            let message = if whose.is_empty() { message } else { format!("{whose}: {message}") };
            if !self.0.iter().any(|known| known.field == field && known.message == message) {
                self.add(field, message);
            }
        }
        None
    }

    pub fn done(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::Invalid(self.0)) }
    }
}
