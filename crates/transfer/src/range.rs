//! `Content-Range` of a part that is sent: `bytes 0-1023/4096`.
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub start: u64,
    /// How many bytes come.
    pub length: u64,
    /// How long the whole file is.
    pub total: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRange;

impl fmt::Display for BadRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The Content-Range can't be read. It looks like: bytes 0-1023/4096")
    }
}

impl std::error::Error for BadRange {}

impl Range {
    /// A whole file at once.
    pub fn whole(length: u64) -> Range {
        Range { start: 0, length, total: length }
    }

    pub fn parse(text: &str) -> Result<Range, BadRange> {
        let number = |t: &str| t.parse::<u64>().ok().filter(|_| t.bytes().all(|b| b.is_ascii_digit())).ok_or(BadRange);
        let text = text.trim();
        let text = text.strip_prefix("bytes").ok_or(BadRange)?.trim_start_matches([' ', '=']);
        let (range, total) = text.split_once('/').ok_or(BadRange)?;
        let (start, last) = range.split_once('-').ok_or(BadRange)?;
        let (start, last, total) = (number(start)?, number(last)?, number(total)?);
        match last.checked_sub(start).and_then(|n| n.checked_add(1)) {
            Some(length) if last < total => Ok(Range { start, length, total }),
            _ => Err(BadRange),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_lies_within_its_file() {
        assert_eq!(Range::parse("bytes 10-19/100"), Ok(Range { start: 10, length: 10, total: 100 }));
        for bad in [
            "",
            "bytes",
            "bytes 0-9",
            "bytes 9-0/10",
            "bytes 0-10/10",
            "bytes -1-2/3",
            "bytes 0-9/*",
            "items 0-9/10",
            "bytes 0-18446744073709551615/18446744073709551615",
        ] {
            assert_eq!(Range::parse(bad), Err(BadRange), "{bad}");
        }
    }
}
