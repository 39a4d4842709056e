//! Kubernetes quantities: `4Gi`, `1500m`, `2`, `1e3`, `0.5`.

/// In thousandths, so that `100m` of a CPU stays exact. None: not a quantity, or too large to count.
pub fn milli(text: &str) -> Option<i128> {
    let text = text.trim();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || whole.len() + fraction.len() > 30 {
        return None;
    }
    // multiplier in nano-units, to keep n and u exact until the end
    let nano: i128 = match suffix {
        "n" => 1,
        "u" => 1_000,
        "m" => 1_000_000,
        "" => 1_000_000_000,
        "k" => 10i128.pow(12),
        "M" => 10i128.pow(15),
        "G" => 10i128.pow(18),
        "T" => 10i128.pow(21),
        "P" => 10i128.pow(24),
        "E" => 10i128.pow(27),
        "Ki" => 1_000_000_000 << 10,
        "Mi" => 1_000_000_000 << 20,
        "Gi" => 1_000_000_000 << 30,
        "Ti" => 1_000_000_000 << 40,
        "Pi" => 1_000_000_000 << 50,
        "Ei" => 1_000_000_000 << 60,
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            10i128.checked_pow(u32::try_from(exponent.checked_add(9)?).ok()?)?
        }
    };
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let total = digits.checked_mul(nano)?;
    // rounded up to thousandths, as Kubernetes does
    let per_milli = scale.checked_mul(1_000_000)?;
    Some(sign * (total.checked_add(per_milli - 1)? / per_milli))
}

/// Whole units, rounded up: bytes, counts.
pub fn whole(text: &str) -> Option<i64> {
    i64::try_from((milli(text)? + 999).div_euclid(1000)).ok()
}

/// MiB, rounded up.
pub fn mib(text: &str) -> Option<i64> {
    whole(text).map(|bytes| bytes.div_euclid(1 << 20) + i64::from(bytes.rem_euclid(1 << 20) > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_exactly() {
        for (text, expected) in [
            ("4Gi", 4_294_967_296_000),
            ("1500m", 1500),
            ("2", 2000),
            ("0.5", 500),
            (".5", 500),
            ("1.", 1000),
            ("1e3", 1_000_000),
            ("1E3", 1_000_000),
            ("12e-1", 1200),
            ("1k", 1_000_000),
            ("1M", 1_000_000_000),
            ("100n", 1),
            ("1u", 1),
            ("-2", -2000),
            ("+3", 3000),
            ("0", 0),
            ("1.5Gi", 1_610_612_736_000),
            ("8Ei", 9_223_372_036_854_775_808_000),
        ] {
            assert_eq!(milli(text), Some(expected), "{text}");
        }
        for odd in [
            "",
            "Gi",
            "4 Gi",
            "4gi",
            "1.2.3",
            "0x10",
            "--1",
            "1e",
            "1e99",
            "∞",
            ".",
            "9999999999999999999999999999999999",
            "1Ei1",
        ] {
            assert_eq!(milli(odd), None, "{odd}");
        }
    }

    #[test]
    fn bytes_become_mib_rounded_up() {
        assert_eq!(mib("1Gi"), Some(1024));
        assert_eq!(mib("1"), Some(1));
        assert_eq!(mib("1G"), Some(954));
        assert_eq!(mib("0"), Some(0));
        assert_eq!(whole("1500m"), Some(2));
        assert_eq!(whole("9Ei"), None);
    }
}
