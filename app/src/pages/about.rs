//! What the margin says of everything: when it was made, who changed it last, its id.
use crate::{
    parts::{Copy, Fact, Time, short},
    portal::Visit,
};
use leptos::prelude::*;
use time::OffsetDateTime;

/// `times`: created, changed, and by whom.
pub(super) fn about_facts(
    visit: &Visit,
    times: (OffsetDateTime, OffsetDateTime, &str),
    urn: String,
) -> impl IntoView + use<> {
    let ((created, changed, by), now) = (times, visit.now);
    let by = if by.is_empty() { String::new() } else { format!(" by {by}") };
    let show = short(urn.rsplit(':').next().unwrap_or(&urn));
    view! {
        <Fact name="Created">
            <Time at=created now />
        </Fact>
        <Fact name="Changed">
            <Time at=changed now />
            {by}
        </Fact>
        <Fact name="Id">
            <Copy value=urn what="id" show />
        </Fact>
    }
}
