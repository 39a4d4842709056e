//! Amounts as Kubernetes writes them, in whole units.
use crate::quantity;
use serde_json::Value;

/// An amount in thousandths, or none if it is not one.
pub(crate) fn millis(text: &str) -> Option<i128> {
    quantity::parse(&Value::from(text))
}

/// The amount in a JSON value, text or number, rounded up.
pub(crate) fn whole(value: &Value) -> Option<i128> {
    quantity::parse(value).map(|m| m.div_euclid(1000) + i128::from(m.rem_euclid(1000) > 0))
}

/// Bytes in the largest binary unit that fits without a rest.
pub(crate) fn bytes(amount: i128) -> String {
    quantity::write(amount.saturating_mul(1000), true)
}
