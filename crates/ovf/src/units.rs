//! Sizes with units as descriptors write them: `byte * 2^20`, and the words that older writers use.
use crate::refused::{Reason, Result, refuse};

/// How many bytes one of the units is.
pub(crate) fn bytes_of(units: &str, at: &str) -> Result<u64> {
    let plain: String = units.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    let known = match plain.as_str() {
        "" | "byte" | "bytes" => Some(1),
        "kb" | "kilobyte" | "kilobytes" | "kib" => Some(1 << 10),
        "mb" | "megabyte" | "megabytes" | "mib" => Some(1 << 20),
        "gb" | "gigabyte" | "gigabytes" | "gib" => Some(1 << 30),
        "tb" | "terabyte" | "terabytes" | "tib" => Some(1 << 40),
        formula => formula.strip_prefix("byte*").and_then(power),
    };
    match known {
        Some(bytes) => Ok(bytes),
        None => refuse(Reason::Unknown, at, format!("The unit {:?} is not known.", crate::refused::shown(units))),
    }
}

/// `2^20`, `10^6`, or a plain number.
fn power(text: &str) -> Option<u64> {
    match text.split_once('^') {
        Some((base, exponent)) => {
            let base: u64 = base.parse().ok().filter(|b| matches!(b, 2 | 10))?;
            base.checked_pow(exponent.parse().ok()?)
        }
        None => text.parse().ok().filter(|n| *n > 0),
    }
}

/// So many of those units in bytes.
pub(crate) fn bytes(quantity: &str, units: &str, at: &str) -> Result<u64> {
    let count = number(quantity, at)?;
    match count.checked_mul(bytes_of(units, at)?) {
        Some(bytes) => Ok(bytes),
        None => refuse(Reason::Size, at, "That size is beyond everything."),
    }
}

pub(crate) fn number(text: &str, at: &str) -> Result<u64> {
    match text.trim().parse() {
        Ok(n) if text.trim().bytes().all(|b| b.is_ascii_digit()) => Ok(n),
        _ if text.contains("${") => {
            refuse(Reason::Unknown, at, "It takes its value from a property, which is not supported. Write the number.")
        }
        _ => refuse(Reason::Size, at, format!("{:?} is not a whole number.", crate::refused::shown(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_and_words_and_nothing_overflows() {
        assert_eq!(bytes("2", "byte * 2^30", "x"), Ok(2 << 30));
        assert_eq!(bytes("5", "MegaBytes", "x"), Ok(5 << 20));
        assert_eq!(bytes("7", "byte * 10^3", "x"), Ok(7000));
        for (quantity, units) in
            [("1", "parsec"), ("1", "byte * 2^64"), ("99999999999", "byte * 2^40"), ("-1", ""), ("+1", ""), ("1e9", "")]
        {
            assert!(bytes(quantity, units, "x").is_err(), "{quantity} {units}");
        }
    }
}
