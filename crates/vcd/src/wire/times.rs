//! Times as VCD writes them: `2026-01-31T12:00:00.000Z`.
use time::{OffsetDateTime, UtcOffset, macros::format_description};

pub(crate) fn stamp(at: OffsetDateTime) -> String {
    let form = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    at.to_offset(UtcOffset::UTC).format(&form).unwrap_or_default()
}
