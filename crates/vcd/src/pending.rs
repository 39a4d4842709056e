//! How long an answer waits for a task: clients look at once and then every few seconds, so an answer that comes when the task
//! has ended saves them most of the waiting.
use std::time::Duration;

/// Shorter than any client's patience, longer than most operations.
pub(crate) const AT_MOST: Duration = Duration::from_millis(2500);
