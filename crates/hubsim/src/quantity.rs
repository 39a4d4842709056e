//! Quantities such as `2`, `500m` and `4Gi`, counted in thousandths.

use serde_json::Value;

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const DECIMAL: [(&str, i128); 6] = [
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000),
];

/// In thousandths, rounded up. `None`: not a quantity.
pub(crate) fn parse(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => parse_text(&number.to_string()),
        Value::String(text) => parse_text(text),
        _ => None,
    }
}

fn parse_text(text: &str) -> Option<i128> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    if let Some((_, power)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return scaled(number, 1000_i128 << power);
    }
    if let Some((_, factor)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return scaled(number, factor * 1000);
    }
    match suffix {
        "" => scaled(number, 1000),
        "m" => scaled(number, 1),
        "u" => scaled(number, 1).map(|thousandths| thousandths.div_euclid(1000) + i128::from(thousandths % 1000 != 0)),
        _ => {
            let exponent: u32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            scaled(number, 1000 * 10_i128.checked_pow(exponent)?)
        }
    }
}

fn scaled(number: &str, factor: i128) -> Option<i128> {
    let negative = number.starts_with('-');
    let digits = number.trim_start_matches(['+', '-']);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && part.is_empty() || part.len() > 18 {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(factor)?;
    if !part.is_empty() {
        let unit = 10_i128.pow(u32::try_from(part.len()).ok()?);
        let numerator = part.parse::<i128>().ok()?.checked_mul(factor)?;
        total += numerator / unit + i128::from(numerator % unit != 0);
    }
    Some(if negative { -total } else { total })
}

/// The canonical text, in powers of 1024 if the example is.
pub(crate) fn write_like(example: &Value, thousandths: i128) -> String {
    let binary = example.as_str().is_some_and(|text| text.ends_with('i'));
    write(thousandths, binary)
}

pub(crate) fn write(thousandths: i128, binary: bool) -> String {
    if thousandths % 1000 != 0 {
        return format!("{thousandths}m");
    }
    let whole = thousandths / 1000;
    if whole == 0 {
        return "0".to_owned();
    }
    if binary {
        let unit = BINARY.iter().rev().find(|(_, power)| whole % (1 << power) == 0);
        return unit.map_or_else(|| whole.to_string(), |(name, power)| format!("{}{name}", whole >> power));
    }
    let unit = DECIMAL.iter().rev().find(|(_, factor)| whole % factor == 0);
    unit.map_or_else(|| whole.to_string(), |(name, factor)| format!("{}{name}", whole / factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_and_written_back_in_their_shortest_form() {
        for (text, thousandths, back) in [
            ("2", 2000, "2"),
            ("500m", 500, "500m"),
            ("1.5", 1500, "1500m"),
            ("0.5Gi", (1 << 29) * 1000, "512Mi"),
            ("1024Mi", (1 << 30) * 1000, "1Gi"),
            ("2000", 2_000_000, "2k"),
            ("1e3", 1_000_000, "1k"),
            ("0", 0, "0"),
        ] {
            let value = Value::from(text);
            assert_eq!(parse(&value), Some(thousandths), "{text}");
            assert_eq!(write_like(&value, thousandths), back, "{text}");
        }
        assert_eq!(parse(&"lots".into()), None);
    }
}
