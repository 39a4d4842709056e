//! A list's address: its path and what stands behind the question mark. Filters, sorting and paging are links made from it.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    path: String,
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Empty values are left out: an unset filter does not stand in the address.
    pub fn new(path: impl Into<String>, pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Query { path: path.into(), pairs: pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect() }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The same list with `name` set to `value`.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut query = self.without(&[name]);
        query.pairs.push((name.to_owned(), value.to_owned()));
        query
    }

    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let pairs = self.pairs.iter().filter(|(key, _)| !names.contains(&key.as_str())).cloned();
        Query { path: self.path.clone(), pairs: pairs.collect() }
    }

    pub fn href(&self) -> String {
        let pairs: Vec<String> =
            self.pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        if pairs.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, pairs.join("&")) }
    }
}

/// As a browser encodes the fields of a form.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => encoded.push(byte.into()),
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query() -> Query {
        Query::new(
            "/users",
            [("q", "a b&c"), ("role", ""), ("sort", "name")].map(|(k, v)| (k.to_owned(), v.to_owned())),
        )
    }

    #[test]
    fn the_address_is_encoded_and_leaves_out_what_is_empty() {
        assert_eq!(query().href(), "/users?q=a+b%26c&sort=name");
        assert_eq!(query().with("q", "ä").href(), "/users?sort=name&q=%C3%A4");
    }

    #[test]
    fn a_filter_can_be_taken_away() {
        assert_eq!(query().without(&["q", "sort"]).href(), "/users");
    }
}
