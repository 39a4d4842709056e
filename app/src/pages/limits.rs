//! Limits and what is used of them, the same for an organization, a VDC and a user.
use crate::{
    parts::{CellMeter, Meter, NumberField, Width},
    portal::Fill,
};
use leptos::prelude::*;
use model::quota::{Amount, Limits, Measure};

/// A bar for each measure.
pub(super) fn meters(used: &Amount, limits: &Limits) -> impl IntoView + use<> {
    Measure::ALL
        .map(|m| {
            let (used, limit) = (whole(used.get(m)), limits.get(m).map(whole));
            view! { <Meter label=m.label() used limit unit=m.unit() per=whole(m.per_unit()) /> }
        })
        .collect_view()
}

/// The same with what the request on this page would add.
pub(super) fn asked_meters(used: &Amount, limits: &Limits, asked: &Amount) -> impl IntoView + use<> {
    Measure::ALL
        .map(|m| {
            let (used, limit, asked) = (whole(used.get(m)), limits.get(m).map(whole), whole(asked.get(m)));
            view! { <Meter label=m.label() used limit unit=m.unit() per=whole(m.per_unit()) asked /> }
        })
        .collect_view()
}

/// The bar of one measure in a table.
pub(super) fn cell_meter(m: Measure, used: &Amount, limits: &Limits) -> impl IntoView + use<> {
    let (used, limit) = (whole(used.get(m)), limits.get(m).map(whole));
    view! { <CellMeter used limit unit=m.unit() per=whole(m.per_unit()) /> }
}

/// A field for each measure; empty is no limit.
pub(super) fn limit_fields(fill: &Fill, limits: &Limits) -> impl IntoView + use<> {
    hinted_limit_fields(fill, limits, |_| String::new())
}

/// `hint` says what else bounds a measure.
pub(super) fn hinted_limit_fields(fill: &Fill, limits: &Limits, hint: impl Fn(Measure) -> String) -> AnyView {
    Measure::ALL
        .map(|m| {
            let (value, error) = (fill.limit(m, limits), fill.error(m.field()));
            view! {
                <NumberField
                    name=m.field()
                    label=m.label()
                    value
                    unit=if m.unit() == m.label() { "" } else { m.unit() }
                    error
                    hint=hint(m)
                    optional=true
                    width=Width::Third
                />
            }
        })
        .collect_view()
        .into_any()
}

/// Amounts are never negative.
pub(super) fn whole(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
