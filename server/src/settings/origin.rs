//! A site as browsers name it: scheme, host and port, nothing else.

use http::Uri;
use std::{fmt, str::FromStr};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub scheme: &'static str,
    /// The host in lower case, with the port unless it is the scheme's own.
    pub host: String,
}

impl Origin {
    /// From a scheme and the value of a Host header. None when that is no host.
    pub fn new(https: bool, authority: &str) -> Option<Origin> {
        let authority: http::uri::Authority = authority.parse().ok()?;
        let (scheme, own_port) = if https { ("https", 443) } else { ("http", 80) };
        // a name and password before the host make this fail too
        let port = authority.as_str().strip_prefix(authority.host()).filter(|_| !authority.host().is_empty())?;
        let host = authority.host().to_ascii_lowercase();
        let host = match port.strip_prefix(':') {
            None => host,
            Some(port) => match port.parse::<u16>().ok()? {
                port if port == own_port => host,
                port => format!("{host}:{port}"),
            },
        };
        Some(Origin { scheme, host })
    }

    pub fn is_https(&self) -> bool {
        self.scheme == "https"
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("is `{text}`, which is not a site such as https://cloud.example.com (scheme and host, no path)");
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        let bare = uri.path().trim_matches('/').is_empty() && uri.query().is_none();
        uri.authority().filter(|_| bare).and_then(|a| Origin::new(https, a.as_str())).ok_or_else(wrong)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_for_one_site() {
        for (text, shown) in [
            ("https://Cloud.Example.com", "https://cloud.example.com"),
            ("https://cloud.example.com:443/", "https://cloud.example.com"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://[::1]:80", "http://[::1]"),
        ] {
            assert_eq!(text.parse::<Origin>().map(|o| o.to_string()), Ok(shown.to_owned()));
        }
        for text in [
            "",
            "null",
            "example.com",
            "ftp://x",
            "https://",
            "https://x/path",
            "https://u@x",
            "https://x:",
            "https://x:99999",
        ] {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
    }
}
