//! OpenShift templates and what is made from them.
mod expression;
pub(crate) mod instance;
mod process;

pub use process::{TemplateError, process};
