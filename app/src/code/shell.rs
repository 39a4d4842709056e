//! Words and commands for a POSIX shell.

/// A word as it is where that is safe, else in single quotes.
pub(super) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A command of vcd-cli.
pub(super) fn vcd<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().fold("vcd".to_owned(), |line, w| line + " " + &word(w))
}

/// Options that are left out where they say nothing: `("-d", description)`.
pub(super) fn with(line: String, options: &[(&str, &str)]) -> String {
    let given = options.iter().filter(|(_, value)| !value.is_empty());
    given.fold(line, |line, (option, value)| format!("{line} {option} {}", word(value)))
}

/// For a here-document in which variables are set in: what is text stays text.
pub(super) fn still(text: &str) -> String {
    text.replace('\\', r"\\").replace('$', r"\$").replace('`', r"\`")
}

/// The value of a variable within a JSON string of a here-document.
pub(super) fn json_of(variable: &str) -> String {
    format!(r#"$(printf %s "${variable}" | sed 's/["\\]/\\&/g')"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_more_into_them() {
        assert_eq!(word("acme-prod_1.2"), "acme-prod_1.2");
        assert_eq!(word("Bob's $HOME; ls"), r"'Bob'\''s $HOME; ls'");
        assert_eq!(word(""), "''");
        assert_eq!(word("~x"), "'~x'");
        assert_eq!(with("vcd x".into(), &[("-d", ""), ("-n", "a b")]), "vcd x -n 'a b'");
        assert_eq!(still(r"a$b`c\d"), r"a\$b\`c\\d");
    }

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for text in ["plain", "it's", "a\nb", "$(id)`id`\"\\", "'; exit 1; '", "ünï côdé", "* ? [a]"] {
            let said =
                std::process::Command::new("sh").arg("-c").arg(format!("printf %s {}", word(text))).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), text);
            let here = format!("cat <<EOF\n{}\nEOF", still(text));
            let said = std::process::Command::new("sh").arg("-c").arg(here).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), format!("{text}\n"));
        }
    }
}
