//! Bars: solid is in use, hatched is asked for. The numbers are text; the bar only repeats them.
use super::num;
use leptos::prelude::*;

/// How much of a limit is used. `limit` None is "no limit": words, no bar. Amounts are in what `per` of make one `unit`.
#[component]
pub fn Meter(
    #[prop(into)] label: String,
    used: u64,
    limit: Option<u64>,
    #[prop(optional, into)] unit: String,
    #[prop(default = 1)] per: u64,
    /// What the request on this page would add.
    #[prop(optional)]
    asked: u64,
) -> impl IntoView {
    let bar = Bar { used, limit, asked, per, unit: spaced(&unit) };
    let unit = &bar.unit;
    let amount = match limit {
        Some(limit) => format!("{} of {}{unit}", bar.num(used), bar.num(limit)),
        None => format!("{}{unit}, no limit", bar.num(used)),
    };
    view! {
        <div class=format!("m {}", bar.class())>
            <span>
                <b>{label}</b>
                <span>{amount}</span>
            </span>
            {bar.svg()}
            {bar.remark().map(|text| view! { <small>{text}</small> })}
        </div>
    }
}

/// The short form for a table cell: what is left is said only where it is little.
#[component]
pub fn CellMeter(
    used: u64,
    limit: Option<u64>,
    #[prop(optional, into)] unit: String,
    #[prop(default = 1)] per: u64,
) -> impl IntoView {
    let bar = Bar { used, limit, asked: 0, per, unit: spaced(&unit) };
    let unit = &bar.unit;
    let end = match limit {
        Some(limit) => format!("of {}{unit}", bar.num(limit)),
        None if unit.is_empty() => "no limit".to_owned(),
        None => format!("{}, no limit", unit.trim_start()),
    };
    let remark = bar.remark().filter(|_| !bar.class().is_empty());
    view! {
        <div class=format!("m {}", bar.class())>
            <span class="at">{bar.num(used)} " " <span>{end}</span></span>
            {bar.svg()}
            {remark.map(|text| view! { <small>{text}</small> })}
        </div>
    }
}

/// The patterns that hatched bars and the poster are filled with. Once on every page; the shell does it.
#[component]
pub fn Hatches() -> impl IntoView {
    let pattern = |id: &'static str| {
        view! {
            <pattern id=id width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <rect width="1.9" height="4" fill="currentColor" />
            </pattern>
        }
    };
    view! {
        <svg class="hatches" width="0" height="0" aria-hidden="true">
            <defs>{pattern("hatch-busy")} {pattern("hatch-bad")}</defs>
        </svg>
    }
}

fn spaced(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}

#[derive(Default)]
struct Bar {
    used: u64,
    limit: Option<u64>,
    asked: u64,
    per: u64,
    unit: String,
}

impl Bar {
    fn class(&self) -> &'static str {
        match self.limit {
            Some(limit) if self.used > limit => "full over",
            Some(limit) if self.used.saturating_add(self.asked) > limit => "over",
            Some(limit) if self.used >= limit && limit > 0 => "full",
            Some(limit) if self.used.saturating_mul(10) >= limit.saturating_mul(9) && limit > 0 => "high",
            _ => "",
        }
    }

    /// In the shown unit, with a decimal where it is not whole.
    fn num(&self, amount: u64) -> String {
        let per = self.per.max(1);
        if amount.is_multiple_of(per) {
            return num(amount / per);
        }
        let tenths = (amount.saturating_mul(10) + per / 2) / per;
        format!("{}.{}", num(tenths / 10), tenths % 10)
    }

    fn remark(&self) -> Option<String> {
        let (limit, unit) = (self.limit?, &self.unit);
        let after = self.used.saturating_add(self.asked);
        let rest = if after > limit {
            format!("{}{unit} too many", self.num(after - limit))
        } else {
            format!("{}{unit} left", self.num(limit - after))
        };
        match self.asked {
            0 => Some(rest),
            _ => Some(format!("{} after this, {rest}", self.num(after))),
        }
    }

    /// No viewBox: widths are percentages, so that the hatching stays even.
    fn svg(&self) -> Option<AnyView> {
        let limit = self.limit?;
        let whole = limit.max(self.used.saturating_add(self.asked)).max(1);
        let percent = |part: u64| format!("{:.2}%", part as f64 * 100.0 / whole as f64);
        let (used, asked, end) = (percent(self.used), percent(self.asked), percent(limit));
        Some(
            view! {
                <svg class="track" height="6" aria-hidden="true">
                    <rect class="lim" width=end.clone() height="6" />
                    <rect class="use" width=used.clone() height="6" />
                    {(self.asked > 0).then(|| view! { <rect class="ask" x=used width=asked height="6" /> })}
                    {(whole > limit && limit > 0)
                        .then(|| view! { <line class="end" x1=end.clone() x2=end y1="-3" y2="9" /> })}
                </svg>
            }
            .into_any(),
        )
    }
}

/// A task's progress as a bar, under words that say the same.
pub(super) fn progress(percent: u8, words: String) -> impl IntoView {
    let percent = percent.min(100);
    let bar = Bar { used: percent.into(), limit: Some(100), ..Bar::default() };
    view! {
        <div
            class="progress"
            role="progressbar"
            aria-valuenow=percent.to_string()
            aria-valuemin="0"
            aria-valuemax="100"
            aria-label=words.clone()
        >
            {bar.svg()}
            <span>{format!("{percent} % · {words}")}</span>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remark_says_what_is_left() {
        let remark =
            |used, limit, asked| Bar { used, limit: Some(limit), asked, ..Bar::default() }.remark().unwrap_or_default();
        assert_eq!(remark(18, 32, 0), "14 left");
        assert_eq!(remark(29, 32, 0), "3 left");
        assert_eq!(remark(18, 32, 6), "24 after this, 8 left");
        assert_eq!(remark(28, 32, 8), "36 after this, 4 too many");
        assert_eq!(remark(33, 32, 0), "1 too many");
        let memory = Bar { used: 1536, limit: Some(4096), per: 1024, unit: " GB".into(), ..Bar::default() };
        assert_eq!((memory.num(1536), memory.remark()), ("1.5".to_owned(), Some("2.5 GB left".to_owned())));
    }

    #[test]
    fn colour_comes_with_fullness() {
        let class = |used, limit| Bar { used, limit, ..Bar::default() }.class();
        assert_eq!(
            ["", "high", "full", "full over", "", ""],
            [
                class(18, Some(32)),
                class(29, Some(32)),
                class(32, Some(32)),
                class(33, Some(32)),
                class(5, None),
                class(0, Some(0))
            ]
        );
    }
}
