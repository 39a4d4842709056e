//! An answer, read to its end, and what a reader finds on its page.
use http::{HeaderMap, StatusCode};

#[derive(Debug)]
pub(crate) struct Answer {
    /// Method and address, for messages.
    pub(crate) asked: String,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// Fails the test with the page's words unless the status is this.
    #[track_caller]
    pub(crate) fn must(self, status: u16) -> Answer {
        assert_eq!(self.status.as_u16(), status, "{}\n{}", self.asked, self.text());
        let twice = self.ids_that_stand_twice();
        assert!(twice.is_empty(), "{}: labels and links can't tell these ids apart: {twice:?}", self.asked);
        self
    }

    fn ids_that_stand_twice(&self) -> Vec<String> {
        if !self.header("content-type").starts_with("text/html") {
            return Vec::new();
        }
        let tags = self.body.split('<').filter_map(|rest| rest.split('>').next());
        let mut ids: Vec<String> = tags.filter_map(|tag| attribute(tag, "id")).collect();
        ids.sort();
        ids.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(|same| same[0].clone()).collect()
    }

    /// Fails the test unless the page shows this.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Answer {
        let text = self.text();
        assert!(text.contains(words), "{} does not say “{words}”:\n{text}", self.asked);
        self
    }

    #[track_caller]
    pub(crate) fn says_not(self, words: &str) -> Answer {
        let text = self.text();
        assert!(!text.contains(words), "{} says “{words}”:\n{text}", self.asked);
        self
    }

    /// A header as text; empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn location(&self) -> &str {
        self.header("location")
    }

    pub(crate) fn request_id(&self) -> &str {
        self.header("x-request-id")
    }

    /// What the answer sets a cookie to, with its attributes.
    pub(crate) fn set_cookie(&self, name: &str) -> Option<String> {
        let all = self.headers.get_all("set-cookie").iter().map(|v| v.to_str().unwrap());
        all.filter_map(|set| set.strip_prefix(name)?.strip_prefix('=')).next_back().map(str::to_owned)
    }

    /// What a reader sees: no tags, no scripts, single spaces.
    pub(crate) fn text(&self) -> String {
        words(&self.body)
    }

    /// The page's own form as a browser would send it. The layout's forms, as for signing out, are others.
    #[track_caller]
    pub(crate) fn form(&self) -> Vec<(String, String)> {
        let is_main =
            |tag: &str| ["\"form\"", "\"confirm\""].iter().any(|class| tag.contains(&format!("class={class}")));
        let forms = self.body.split("<form").skip(1);
        let form = forms.into_iter().find(|rest| rest.split('>').next().is_some_and(is_main));
        let form = form.and_then(|rest| rest.split("</form>").next());
        fields(form.unwrap_or_else(|| panic!("{} has no form:\n{}", self.asked, self.text())))
    }

    /// What stands in a field; None when there is no such field.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        fields(&self.body).into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The values that a field of choices offers.
    pub(crate) fn choices(&self, name: &str) -> Vec<String> {
        let Some(at) = self.body.find(&format!(" name=\"{name}\"")) else { return vec![] };
        let options = self.body[at..].split("</select>").next().unwrap_or_default();
        options.split("<option").skip(1).filter_map(|o| attribute(o.split('>').next()?, "value")).collect()
    }

    /// What is said beside a field.
    pub(crate) fn error_of(&self, field: &str) -> Option<String> {
        let at = self.body.find(&format!("id=\"{field}-error\""))?;
        let inside = &self.body[at + self.body[at..].find('>')? + 1..];
        Some(words(&inside[..inside.find("</p>")?]))
    }

    /// The addresses that links with these words lead to.
    pub(crate) fn link(&self, label: &str) -> Option<String> {
        self.body.split("<a ").skip(1).find_map(|rest| {
            let (tag, inside) = rest.split_once('>')?;
            let inside = inside.split("</a>").next()?;
            (words(inside) == label).then(|| attribute(&format!(" {tag}"), "href")).flatten()
        })
    }

    /// The body without what differs between any two answers: the request's id, its path and the nonce.
    pub(crate) fn apart_from(&self, paths: &[&str]) -> String {
        let mut body = self.body.replace(self.request_id(), "REQUEST");
        for path in paths {
            body = body.replace(path, "PATH");
        }
        let nonce =
            self.header("content-security-policy").split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next());
        match nonce {
            Some(nonce) => body.replace(nonce, "NONCE"),
            None => body,
        }
    }
}

/// Names and values as a browser sends them: boxes only where they are ticked.
fn fields(html: &str) -> Vec<(String, String)> {
    let mut found = vec![];
    for rest in html.split('<').skip(1) {
        let Some((tag, inside)) = rest.split_once('>') else { continue };
        let Some(name) = attribute(tag, "name") else { continue };
        let after = &html[rest.as_ptr() as usize - html.as_ptr() as usize..];
        let value = match tag.split_whitespace().next() {
            Some("input") if tag.contains("type=\"radio\"") || tag.contains("type=\"checkbox\"") => {
                if !tag.contains(" checked") {
                    continue;
                }
                attribute(tag, "value").unwrap_or_else(|| "on".into())
            }
            Some("input") => attribute(tag, "value").unwrap_or_default(),
            Some("textarea") => decoded(inside).trim().to_owned(),
            Some("select") => {
                let options = after.split("</select>").next().unwrap_or_default();
                let mut tags = options.split("<option").skip(1).filter_map(|o| o.split('>').next());
                let first = tags.clone().next();
                let chosen = tags.find(|tag| tag.contains(" selected")).or(first);
                chosen.and_then(|tag| attribute(tag, "value")).unwrap_or_default()
            }
            _ => continue,
        };
        found.push((name, value));
    }
    found
}

fn words(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = match rest {
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<script") => "</script>",
            _ if rest.starts_with("<style") => "</style>",
            _ => ">",
        };
        // words go on through these; leptos separates texts by comments
        const WITHIN: [&str; 9] = ["<!", "<b>", "</b>", "<code>", "</code>", "<a ", "</a>", "<time", "</time>"];
        if !WITHIN.iter().any(|tag| rest.starts_with(tag)) {
            text.push(' ');
        }
        rest = rest.find(end).map_or("", |at| &rest[at + end.len()..]);
    }
    text.push_str(rest);
    decoded(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let at = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    Some(decoded(&tag[at..at + tag[at..].find('"')?]))
}

fn decoded(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
