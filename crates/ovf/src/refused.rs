//! Why something is not taken.
use std::fmt;

pub type Result<T, E = Refused> = std::result::Result<T, E>;

/// The kind of reason: a name for logs, counts and tests; people read the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Not XML, or XML that means nothing.
    Malformed,
    /// DOCTYPE, or an entity of somebody's own.
    Entity,
    TooDeep,
    TooMany,
    TooLarge,
    /// An element or value that the standard asks for is not there.
    Missing,
    /// Something points to what is not there.
    Dangling,
    Duplicate,
    /// Must be understood, and is not.
    Unknown,
    /// A path that leaves its place, or is no plain file name.
    Path,
    /// A link, a device, a folder: no plain file.
    NotAFile,
    /// What is said of a size is not so.
    Size,
    Checksum,
    /// gzip and its kin: how much would come out is not known before.
    Compressed,
    /// An image that would read other files.
    Backing,
    /// An image of a kind that is not taken.
    Format,
    /// It ends in the middle.
    Truncated,
    /// The file itself can't be read.
    Io,
}

/// What is not taken, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub reason: Reason,
    /// The file or element it is about; empty: the whole.
    pub at: String,
    pub message: String,
}

impl Refused {
    pub(crate) fn new(reason: Reason, at: impl Into<String>, message: impl Into<String>) -> Refused {
        Refused { reason, at: shown(&at.into()), message: message.into() }
    }
}

pub(crate) fn refuse<T>(reason: Reason, at: impl Into<String>, message: impl Into<String>) -> Result<T> {
    Err(Refused::new(reason, at, message))
}

/// A name out of somebody's file, short and without what would spoil a page or a log.
pub(crate) fn shown(text: &str) -> String {
    let mut out: String = text.chars().take(80).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(80).is_some() {
        out.push('…');
    }
    out
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.as_str() {
            "" => f.write_str(&self.message),
            at => write!(f, "{at}: {}", self.message),
        }
    }
}

impl std::error::Error for Refused {}

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Refused {
        let reason = if error.kind() == std::io::ErrorKind::UnexpectedEof { Reason::Truncated } else { Reason::Io };
        Refused::new(reason, "", format!("It could not be read: {error}."))
    }
}
