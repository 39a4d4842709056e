//! Limits and what is used of them, the same for an organization, a VDC and a user.
use crate::{
    parts::{Meter, NumberField, Width},
    portal::Fill,
};
use leptos::prelude::*;
use model::quota::{Amount, Limits, Measure};

/// A bar for each measure.
pub(super) fn meters(used: &Amount, limits: &Limits) -> impl IntoView + use<> {
    Measure::ALL
        .map(|m| {
            let (used, limit) = (shown(m, used.get(m)), limits.get(m).map(|l| shown(m, l)));
            view! { <Meter label=m.label() used limit unit=m.unit() /> }
        })
        .collect_view()
}

/// A field for each measure; empty is no limit.
pub(super) fn limit_fields(fill: &Fill, limits: &Limits) -> impl IntoView + use<> {
    Measure::ALL
        .map(|m| {
            let (value, error) = (fill.limit(m, limits), fill.error(m.field()));
            view! {
                <NumberField
                    name=m.field()
                    label=m.label()
                    value
                    unit=m.unit()
                    error
                    optional=true
                    width=Width::Third
                />
            }
        })
        .collect_view()
}

/// In the unit people read.
fn shown(m: Measure, stored: i64) -> u64 {
    u64::try_from(stored / m.per_unit()).unwrap_or(0)
}
