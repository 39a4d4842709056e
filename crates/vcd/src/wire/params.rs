//! The part of an address after `?`, as clients really write it: `&` first, filters that are not encoded, `links=true;`.
use model::{
    Error, Result,
    query::{Filter, MOST_ON_PAGE, Numbered, ON_PAGE},
};
use percent_encoding::percent_decode_str;

/// Names and values as they were sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    /// Split at `&` and the first `=` and nowhere else: filters are full of both.
    pub(crate) fn read(query: Option<&str>) -> Params {
        let pairs = query.unwrap_or_default().split('&').filter(|p| !p.is_empty());
        Params(pairs.map(|p| p.split_once('=').unwrap_or((p, ""))).map(|(k, v)| (k.to_owned(), v.to_owned())).collect())
    }

    pub(crate) fn raw(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == name).map(|(_, v)| v.as_str()).filter(|v| !v.is_empty())
    }

    pub(crate) fn get(&self, name: &str) -> Result<Option<String>> {
        self.raw(name).map(decode).transpose()
    }

    /// `true`, `True` and `1` are true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|v| v.trim_end_matches(';').eq_ignore_ascii_case("true") || v == "1")
    }

    fn number(&self, name: &str, otherwise: u32) -> Result<u32> {
        match self.raw(name) {
            None => Ok(otherwise),
            Some(text) => text.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
                Error::BadRequest(format!(
                    "{name} is a number from 1 on, and not “{}”.",
                    text.chars().take(32).collect::<String>()
                ))
            }),
        }
    }

    /// The question of the legacy query service. Values in its filter are encoded one by one, or all of it as a whole.
    pub(crate) fn query(&self) -> Result<Numbered> {
        let raw = self.raw("filter").unwrap_or_default();
        let plain = ["==", "!=", "=gt=", "=ge=", "=lt=", "=le="].iter().any(|op| raw.contains(op));
        let filter = match plain || raw.is_empty() {
            true => Filter::parse_encoded(raw, decode)?,
            // what was encoded as a whole may have been so within, one by one; a plus is one by then
            false => Filter::parse_encoded(&decode(raw)?, percent_decode)?,
        };
        self.numbered(filter, ON_PAGE)
    }

    /// The question of CloudAPI: the filter is encoded as any other value.
    pub(crate) fn fiql(&self) -> Result<Numbered> {
        let filter = Filter::parse(&self.get("filter")?.unwrap_or_default())?;
        self.numbered(filter, ON_PAGE)
    }

    fn numbered(&self, filter: Filter, size: u32) -> Result<Numbered> {
        let sort = match (self.get("sortAsc")?, self.get("sortDesc")?) {
            (Some(field), _) => Some((field, false)),
            (None, Some(field)) => Some((field, true)),
            (None, None) => None,
        };
        let (page, size) = (self.number("page", 1)?, self.number("pageSize", size)?.min(MOST_ON_PAGE));
        if page > 1_000_000 {
            return Err(Error::BadRequest("There is no such page.".into()));
        }
        Ok(Numbered { filter, sort, page, size })
    }

    /// The same address with another page, for links to it.
    pub(crate) fn with_page(&self, page: u32) -> String {
        let mut out: Vec<String> =
            self.0.iter().filter(|(k, _)| k != "page").map(|(k, v)| format!("{k}={v}")).collect();
        out.push(format!("page={page}"));
        out.join("&")
    }
}

/// A value as people meant it.
pub(crate) fn decode(text: &str) -> Result<String> {
    percent_decode(&text.replace('+', " "))
}

fn percent_decode(text: &str) -> Result<String> {
    match percent_decode_str(text).decode_utf8() {
        Ok(text) if !text.contains('\0') => Ok(text.into_owned()),
        _ => Err(Error::BadRequest("The address holds something that is no text.".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::query::Op;

    #[test]
    fn filters_are_read_however_they_are_encoded() {
        for query in [
            "&type=vApp&filter=vdc==http%3A//h%3A8080/api/vdc/x;name==a%20b&filterEncoded=true",
            "type=vApp&filter=vdc==http://h:8080/api/vdc/x;name==a+b",
            "filter=vdc%3D%3Dhttp%253A%2F%2Fh%253A8080%2Fapi%2Fvdc%2Fx%3Bname%3D%3Da%2520b&type=vApp",
        ] {
            let q = Params::read(Some(query)).query().expect(query);
            let all: Vec<_> = q.filter.clauses().iter().map(|c| (c.field.clone(), c.op, c.value.text())).collect();
            let wanted = [("vdc", "http://h:8080/api/vdc/x"), ("name", "a b")];
            assert_eq!(all, wanted.map(|(f, v)| (f.to_owned(), Op::Is, v.to_owned())), "{query}");
        }
        let value = |query: &str| {
            let q = Params::read(Some(query)).query().expect(query);
            q.filter.clauses()[0].value.text()
        };
        for (query, wanted) in [
            ("filter=name%3D%3Da%2Bb", "a+b"),
            ("filter=name%3D%3Da+b", "a b"),
            ("filter=name%3D%3Da%2520b", "a b"),
            ("filter=name==a%2Bb", "a+b"),
            ("filter=name%3D%3D50%25", "50%"),
        ] {
            assert_eq!(value(query), wanted, "{query}");
        }
        let q = Params::read(Some("filter=name%3D%3DvApp+Author%3Bid!%3Dx&pageSize=500&page=2&sortDesc=name")).fiql();
        let q = q.expect("readable");
        assert_eq!(q.filter.clauses()[0].value.text(), "vApp Author");
        assert_eq!((q.page, q.size, q.sort), (2, 128, Some(("name".into(), true))));
        assert!(Params::read(Some("page=0")).query().is_err());
        assert!(Params::read(Some("links=true;")).flag("links"));
        assert_eq!(Params::read(Some("a=1&page=3&filter=x==1")).with_page(4), "a=1&filter=x==1&page=4");
    }
}
