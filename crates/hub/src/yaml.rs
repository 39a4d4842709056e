//! YAML that came from people, read without surprises: one document, no anchors, no merge keys, no key twice, small.
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Error, MergeKeyPolicy, budget::BudgetBreach};

/// What is wrong with a text; never quotes it, since it may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadYaml {
    /// The key that stands there twice, if that is what is wrong.
    pub(crate) key: Option<String>,
    pub(crate) message: String,
}

/// Reads YAML, and so JSON too.
pub(crate) fn parse(text: &str) -> Result<Value, BadYaml> {
    read(text, 0, MergeKeyPolicy::Error)
}

/// The same with anchors, aliases and merge keys, as far as they stay small: for texts that are only looked at.
pub(crate) fn parse_with_anchors(text: &str) -> Result<Value, BadYaml> {
    read(text, 100, MergeKeyPolicy::Merge)
}

fn read(text: &str, anchors: usize, merge_keys: MergeKeyPolicy) -> Result<Value, BadYaml> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_aliases: anchors,
            max_anchors: anchors,
            max_depth: 64,
            max_nodes: 10_000,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: merge_keys,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|e| explain(&e))
}

fn explain(error: &Error) -> BadYaml {
    let at = match error.location() {
        Some(l) if l.line() > 0 => format!(" (line {}, column {})", l.line(), l.column()),
        _ => String::new(),
    };
    let (key, message) = match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => return explain(error),
        Error::DuplicateMappingKey { key, .. } => {
            (key.clone(), format!("stands there twice{at}. Keep the one that is meant."))
        }
        Error::MergeKeyNotAllowed { .. } => {
            (None, format!("uses a merge key (<<){at}. Write the fields out where they belong."))
        }
        Error::Budget { breach: BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. }, .. } => {
            (None, format!("uses anchors or aliases (& and *){at}. Write the values out where they belong."))
        }
        Error::Budget { .. } | Error::AliasReplayLimitExceeded { .. } => {
            (None, format!("is nested too deep or has too many parts{at}."))
        }
        Error::UnsupportedTag { .. } => (None, format!("uses a tag (!) that nobody here knows{at}. Leave it out.")),
        Error::MultipleDocuments { .. } => (None, format!("holds several documents{at}. Keep one.")),
        _ => (None, format!("is not valid YAML or JSON{at}. Check the indentation and the quotes.")),
    };
    BadYaml { key, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_yaml_and_numbers_stay_numbers() {
        assert_eq!(parse(r#"{"a": [1, "x", true]}"#), Ok(serde_json::json!({"a": [1, "x", true]})));
        assert_eq!(parse("a: yes\nb: 'true'\n"), Ok(serde_json::json!({"a": "yes", "b": "true"})));
    }

    #[test]
    fn what_could_surprise_is_refused_with_its_reason() {
        for (text, says) in [
            ("a: 1\na: 2\n", "twice"),
            ("a: &x 1\nb: *x\n", "anchors"),
            ("a: &x {b: 1}\n", "anchors"),
            ("a: 1\n---\nb: 2\n", "documents"),
            ("a: {<<: {b: 1}}\n", "merge key"),
            ("a: [1\n", "not valid"),
            ("a: !!python/object/apply:os.system [x]\n", "uses a tag"),
            ("a: !mine x\n", "uses a tag"),
            (&format!("{}{}", "[".repeat(100), "]".repeat(100)), "nested too deep"),
        ] {
            let e = parse(text).expect_err(text);
            assert!(e.message.contains(says), "{text:?}: {}", e.message);
        }
        assert_eq!(parse("a: 1\na: 2\n").expect_err("twice").key.as_deref(), Some("a"));
    }

    #[test]
    fn anchors_are_followed_where_they_may_be_and_bombs_are_not() {
        let good = "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n";
        assert_eq!(
            parse_with_anchors(good),
            Ok(serde_json::json!({"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 2}}))
        );
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..12 {
            bomb += &format!("a{i}: &a{i} [*a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}]\n", i - 1);
        }
        assert!(parse_with_anchors(&bomb).is_err());
    }

    #[test]
    fn an_error_never_quotes_the_text() {
        let e = parse("token: \"s3cr3t\n").expect_err("open quote");
        assert!(!e.message.contains("s3cr3t"), "{}", e.message);
    }
}
