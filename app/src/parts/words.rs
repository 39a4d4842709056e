//! Numbers as people read them.

/// 1204 is "1,204".
pub fn num(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "1 user", "1,204 users".
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", num(number), if number == 1 { one } else { many })
}

/// "1 of 1 VM runs", "2 of 3 VMs run": some of all, and what they do.
pub fn some_of(some: u64, all: u64, (one, many): (&str, &str), (does, they_do): (&str, &str)) -> String {
    let verb = if some == 1 || all == 1 { does } else { they_do };
    format!("{} of {} {verb}", num(some), plural(all, one, many))
}

/// With a capital first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// "a, b and c"; None for an empty list.
pub fn listed(mut words: Vec<String>) -> Option<String> {
    let last = words.pop()?;
    Some(if words.is_empty() { last } else { format!("{} and {last}", words.join(", ")) })
}

/// An id's ends, for where the whole would be too long: "0192c3b0…0d92".
pub fn short(id: &str) -> String {
    match (id.get(..8), id.len().checked_sub(4).and_then(|at| id.get(at..))) {
        (Some(first), Some(last)) if id.len() > 14 => format!("{first}…{last}"),
        _ => id.to_owned(),
    }
}

/// Small numbers at the start of a sentence.
pub(super) fn spelled(number: usize) -> String {
    const WORDS: [&str; 10] = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    WORDS.get(number).map_or_else(|| num(number as u64), |word| (*word).to_owned())
}

/// "Show deleted" becomes "show-deleted": ids made from headings.
pub(super) fn slug(text: &str) -> String {
    let words: Vec<String> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_get_commas() {
        assert_eq!(
            ["0", "999", "1,204", "12,000", "1,234,567"].map(String::from),
            [0, 999, 1204, 12_000, 1_234_567].map(num)
        );
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(plural(1, "user", "users"), "1 user");
        assert_eq!(plural(1204, "user", "users"), "1,204 users");
    }

    #[test]
    fn the_verb_goes_with_the_number() {
        let run = |some, all| some_of(some, all, ("VM", "VMs"), ("runs", "run"));
        assert_eq!([run(1, 1), run(0, 1), run(1, 3)], ["1 of 1 VM runs", "0 of 1 VM runs", "1 of 3 VMs runs"]);
        assert_eq!([run(0, 3), run(2, 3)], ["0 of 3 VMs run", "2 of 3 VMs run"]);
    }

    #[test]
    fn a_list_reads_as_a_sentence() {
        let words = |n: usize| listed(["a", "b", "c"].map(String::from)[..n].to_vec());
        assert_eq!([words(0), words(1), words(3)], [None, Some("a".to_owned()), Some("a, b and c".to_owned())]);
    }

    #[test]
    fn slugs_are_plain_words() {
        assert_eq!(slug("Users and roles of “acme”"), "users-and-roles-of-acme");
    }
}
