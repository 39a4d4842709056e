//! XML as far as we need it: a reader that trusts nothing, and a writer that puts a document straight into its buffer.
mod fault;
mod read;
mod text;
mod write;

pub use fault::{Fault, Reason};
pub use read::{Element, Limits, parse};
pub use text::allowed;
pub use write::{Writer, again};
