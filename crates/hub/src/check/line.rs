//! A check as it is stored and shown.
use super::{Check, State};
use model::hub::{CheckState, HubCheck};

impl From<&Check> for HubCheck {
    fn from(c: &Check) -> HubCheck {
        HubCheck {
            key: c.key.clone(),
            title: c.title.clone(),
            state: match c.state {
                State::Ok => CheckState::Ok,
                State::Warning => CheckState::Warning,
                State::Failed => CheckState::Failed,
                State::Skipped => CheckState::Skipped,
            },
            detail: c.detail.clone(),
            what_to_do: c.what_to_do.clone(),
        }
    }
}
