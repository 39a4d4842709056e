//! A moment: relative words in the text, the exact time in the title.
use super::plural;
use leptos::prelude::*;
use time::{Duration, OffsetDateTime, UtcOffset, macros::format_description};

/// "6 min ago", "in 4 h 59 min". `now` is the request's clock, so that one page speaks of one moment.
#[component]
pub fn Time(at: OffsetDateTime, now: OffsetDateTime) -> impl IntoView {
    let at = at.to_offset(UtcOffset::UTC);
    view! {
        <time datetime=machine(at) title=exact(at)>
            {relative(at, now)}
        </time>
    }
}

/// The time of day, for records that are read to the second; with the day, unless it is today's.
#[component]
pub fn Clock(at: OffsetDateTime, now: OffsetDateTime) -> impl IntoView {
    let at = at.to_offset(UtcOffset::UTC);
    view! {
        <time datetime=machine(at) title=exact(at)>
            {clock(at, now)}
        </time>
    }
}

/// The moment in full, where there is room for it.
#[component]
pub fn Exact(at: OffsetDateTime) -> impl IntoView {
    let at = at.to_offset(UtcOffset::UTC);
    view! { <time datetime=machine(at)>{exact(at)}</time> }
}

/// How long something took: "0.4 s", "3 min 5 s".
pub fn span(long: Duration) -> String {
    let seconds = long.whole_seconds().max(0);
    match seconds {
        0 if long < Duration::milliseconds(100) => format!("{} ms", long.whole_milliseconds().max(0)),
        0..10 => format!("{:.1} s", long.as_seconds_f64().max(0.0)),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} {} h", plural(seconds.unsigned_abs() / 86_400, "day", "days"), seconds / 3_600 % 24),
    }
}

fn clock(at: OffsetDateTime, now: OffsetDateTime) -> String {
    let of_day = at.format(format_description!("[hour]:[minute]:[second]")).unwrap_or_default();
    if at.date() == now.to_offset(UtcOffset::UTC).date() { of_day } else { format!("{}, {of_day}", date(at, now)) }
}

/// For files and machines: "2026-11-16T11:59:40Z".
pub fn machine(at: OffsetDateTime) -> String {
    at.format(format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z")).unwrap_or_default()
}

fn exact(at: OffsetDateTime) -> String {
    at.format(format_description!("[day padding:none] [month repr:short] [year], [hour]:[minute]:[second] UTC"))
        .unwrap_or_default()
}

fn relative(at: OffsetDateTime, now: OffsetDateTime) -> String {
    let seconds = (now - at).whole_seconds();
    let (amount, unit) = match seconds.unsigned_abs() {
        0..5 => return "now".to_owned(),
        s @ 5..5_184_000 if seconds < 0 => return format!("in {}", left(s)),
        s @ 5..60 => (s, "s"),
        s @ 60..3_600 => (s / 60, "min"),
        s @ 3_600..86_400 => (s / 3_600, "h"),
        s @ 86_400..172_800 => (s / 86_400, "day"),
        s @ 172_800..5_184_000 => (s / 86_400, "days"),
        _ => return date(at, now),
    };
    format!("{amount} {unit} ago")
}

/// How long there still is: two units at most, and to the nearest of the smaller one, so that a week that began a moment ago
/// is a week and not six days.
fn left(seconds: u64) -> String {
    let (minutes, hours) = ((seconds + 30) / 60, (seconds + 1_800) / 3_600);
    let (first, rest) = match () {
        () if seconds < 60 => (format!("{seconds} s"), None),
        () if minutes < 60 => (format!("{minutes} min"), None),
        () if minutes < 24 * 60 => (format!("{} h", minutes / 60), Some((minutes % 60, "min"))),
        () => (plural(hours / 24, "day", "days"), Some((hours % 24, "h"))),
    };
    match rest {
        Some((n, unit)) if n > 0 => format!("{first} {n} {unit}"),
        _ => first,
    }
}

fn date(at: OffsetDateTime, now: OffsetDateTime) -> String {
    let text = if at.year() == now.year() {
        at.format(format_description!("[day padding:none] [month repr:short]"))
    } else {
        at.format(format_description!("[day padding:none] [month repr:short] [year]"))
    };
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    const NOW: OffsetDateTime = datetime!(2026-11-16 12:00 UTC);

    #[test]
    fn near_moments_are_relative() {
        assert_eq!(relative(datetime!(2026-11-16 11:59:58 UTC), NOW), "now");
        assert_eq!(relative(datetime!(2026-11-16 11:59:40 UTC), NOW), "20 s ago");
        assert_eq!(relative(datetime!(2026-11-16 11:54 UTC), NOW), "6 min ago");
        assert_eq!(relative(datetime!(2026-11-16 03:00 UTC), NOW), "9 h ago");
        assert_eq!(relative(datetime!(2026-11-15 03:00 UTC), NOW), "1 day ago");
        assert_eq!(relative(datetime!(2026-10-06 12:00 UTC), NOW), "41 days ago");
    }

    #[test]
    fn what_is_left_has_two_units_and_is_not_cut_down() {
        let ahead = |seconds| relative(NOW + Duration::seconds(seconds), NOW);
        assert_eq!([ahead(20), ahead(89), ahead(119)], ["in 20 s", "in 1 min", "in 2 min"]);
        assert_eq!([ahead(4 * 3_600 + 59 * 60), ahead(5 * 3_600 - 1)], ["in 4 h 59 min", "in 5 h"]);
        assert_eq!([ahead(86_399), ahead(86_400 + 7_300)], ["in 1 day", "in 1 day 2 h"]);
        assert_eq!([ahead(7 * 86_400), ahead(7 * 86_400 - 2)], ["in 7 days", "in 7 days"]);
        assert_eq!(ahead(3 * 86_400 + 5 * 3_600), "in 3 days 5 h");
    }

    #[test]
    fn far_moments_are_dates() {
        assert_eq!(relative(datetime!(2026-09-04 10:00 UTC), NOW), "4 Sep");
        assert_eq!(relative(datetime!(2025-09-04 10:00 UTC), NOW), "4 Sep 2025");
    }

    #[test]
    fn records_have_the_time_of_day_and_older_ones_the_day() {
        assert_eq!(clock(datetime!(2026-11-16 08:30:19 UTC), NOW), "08:30:19");
        assert_eq!(clock(datetime!(2026-11-15 08:30:19 UTC), NOW), "15 Nov, 08:30:19");
        assert_eq!(clock(datetime!(2025-11-15 08:30:19 UTC), NOW), "15 Nov 2025, 08:30:19");
    }

    #[test]
    fn spans_have_two_units_at_most() {
        let spans =
            [Duration::milliseconds(412), Duration::seconds(59), Duration::seconds(185), Duration::minutes(125)];
        assert_eq!(spans.map(span), ["0.4 s", "59 s", "3 min 5 s", "2 h 5 min"].map(String::from));
        assert_eq!([span(Duration::milliseconds(7)), span(Duration::hours(50))], ["7 ms", "2 days 2 h"]);
    }

    #[test]
    fn the_title_is_exact_and_in_utc() {
        let at = datetime!(2026-11-16 11:20:14 +1).to_offset(UtcOffset::UTC);
        assert_eq!(exact(at), "16 Nov 2026, 10:20:14 UTC");
        assert_eq!(machine(at), "2026-11-16T10:20:14Z");
    }
}
