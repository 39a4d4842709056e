//! Values made up for template parameters, such as `[a-z0-9]{8}`.
use crate::actors::chance::Stream;

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
const SYMBOLS: &str = "~!@#$%^&*()-_+={}[]\\|<,>.?/\"';:`";

/// Replaces every `[ranges]{n}`; all else is literal, a range without its number too.
pub(crate) fn generate(from: &str, chance: &mut Stream) -> Result<String, String> {
    let mut made = String::new();
    let mut rest = from;
    while let Some(open) = rest.find('[') {
        let (before, at) = rest.split_at(open);
        made.push_str(before);
        match group(at) {
            Some((ranges, count, length)) => {
                if !(1..=255).contains(&count) {
                    return Err(format!("range must be within [1-255] characters ({count})"));
                }
                let alphabet = alphabet(ranges)?;
                made.extend((0..count).map(|_| alphabet[chance.below(alphabet.len())]));
                rest = &at[length..];
            }
            None => {
                made.push('[');
                rest = &at[1..];
            }
        }
    }
    made.push_str(rest);
    Ok(made)
}

/// `[ranges]{n}` at the beginning of the text: ranges, n, and how long it all is.
fn group(text: &str) -> Option<(&str, usize, usize)> {
    let close = text.find(']')?;
    let ranges = &text[1..close];
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '\\';
    if ranges.is_empty() || !ranges.chars().all(fits) {
        return None;
    }
    let number = text[close + 1..].strip_prefix('{')?;
    let end = number.find('}')?;
    let digits = &number[..end];
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((ranges, digits.parse().unwrap_or(usize::MAX), close + 1 + 1 + end + 1))
}

/// The characters of a range. The last one of `a-z` is not among them: that is how OpenShift does it.
fn alphabet(ranges: &str) -> Result<Vec<char>, String> {
    let order: Vec<char> = [LETTERS, DIGITS, SYMBOLS].concat().chars().collect();
    let text: Vec<char> = ranges.chars().collect();
    let mut all: Vec<char> = Vec::new();
    let mut i = 0;
    while i < text.len() {
        if text[i] == '\\' && i + 1 < text.len() {
            match text[i + 1] {
                'w' => all.extend(format!("{LETTERS}{DIGITS}_").chars()),
                'd' => all.extend(DIGITS.chars()),
                'a' => all.extend(format!("{LETTERS}{DIGITS}").chars()),
                'A' => all.extend(SYMBOLS.chars()),
                _ => return Err(format!("malformed expression syntax: {ranges}")),
            }
            i += 2;
        } else if i + 2 < text.len() && text[i + 1] == '-' {
            let place = |c: char| order.iter().position(|o| *o == c);
            match (place(text[i]), place(text[i + 2])) {
                (Some(first), Some(last)) if first < last => all.extend(&order[first..last]),
                _ => return Err(format!("invalid range specified: {ranges}")),
            }
            i += 3;
        } else {
            all.push(text[i]);
            i += 1;
        }
    }
    all.sort_unstable();
    all.dedup();
    if all.is_empty() { Err(format!("malformed expression syntax: {ranges}")) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::chance::Chance;

    fn made(from: &str) -> Result<String, String> {
        generate(from, &mut Chance::new(7).stream(&["test"]))
    }

    #[test]
    fn groups_are_replaced_and_the_rest_stays() {
        let name = made("fedora-[a-z0-9]{16}").unwrap();
        assert_eq!(name.len(), 23);
        assert!(name.starts_with("fedora-"));
        assert_eq!(made("[a-z]").unwrap(), "[a-z]");
        assert_eq!(made("plain").unwrap(), "plain");
        let word = made("[a-z0-9]{4}-[a-z0-9]{4}").unwrap();
        assert_eq!((word.len(), word.as_bytes()[4]), (9, b'-'));
    }

    #[test]
    fn the_last_character_of_a_range_never_comes() {
        assert!(!made("[0-9]{255}").unwrap().contains('9'));
        assert!(!made("[a-z]{255}").unwrap().contains('z'));
        assert!(made("[\\d]{255}").unwrap().contains('9'));
    }

    #[test]
    fn bad_ranges_and_lengths_say_so() {
        assert!(made("[z-a]{3}").unwrap_err().starts_with("invalid range specified"));
        for n in [0, 256] {
            assert_eq!(
                made(&format!("[a-z]{{{n}}}")).unwrap_err(),
                format!("range must be within [1-255] characters ({n})")
            );
        }
    }
}
