//! Rules for names, labels and annotations, with the real server's explanations.

const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// Why a text cannot be a DNS subdomain, the form of most names.
pub(crate) fn subdomain(text: &str) -> Option<String> {
    if text.len() > 253 {
        return Some("must be no more than 253 characters".to_owned());
    }
    (!text.split('.').all(is_label)).then(|| SUBDOMAIN.to_owned())
}

/// Why a text cannot be a DNS label, the form of namespaces and services.
pub(crate) fn label(text: &str) -> Option<String> {
    if text.len() > 63 {
        return Some("must be no more than 63 characters".to_owned());
    }
    if text.contains('.') {
        return Some("must not contain dots".to_owned());
    }
    (!is_label(text)).then(|| LABEL.to_owned())
}

fn is_label(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inside) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_qualified(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.chars().all(inside) && edge(text.chars().next()) && edge(text.chars().last())
}

/// Why a text cannot be the key of a label or annotation.
pub(crate) fn label_key(key: &str) -> Option<String> {
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            return Some(format!(
                "a valid label key {QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ));
        }
        Some(("", _)) => return Some("prefix part must be non-empty".to_owned()),
        Some((prefix, name)) => match subdomain(prefix) {
            Some(why) => return Some(format!("prefix part {why}")),
            None => name,
        },
    };
    if name.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    if name.len() > 63 {
        return Some("name part must be no more than 63 bytes".to_owned());
    }
    (!is_qualified(name)).then(|| format!("name part {QUALIFIED}"))
}

/// Why a text cannot be the value of a label.
pub(crate) fn label_value(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some("must be no more than 63 bytes".to_owned());
    }
    (!value.is_empty() && !is_qualified(value)).then(|| {
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_kubernetes_takes_are_taken() {
        assert_eq!(subdomain("web-1.example"), None);
        assert_eq!(label("vdc-acme-prod"), None);
        assert_eq!(label_key("ssvirt.io/vm-id"), None);
        assert_eq!(label_value(""), None);
    }

    #[test]
    fn names_that_kubernetes_refuses_are_refused() {
        assert!(subdomain("Web_1").is_some());
        assert!(label("a.b").is_some_and(|why| why == "must not contain dots"));
        assert!(label_key("a/b/c").is_some());
        assert!(label_value("urn:vcloud:vm:1").is_some());
    }
}
