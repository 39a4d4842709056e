//! What a disk is filled from first. It is kept as one text, which stands beside the disk in templates and machines.
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// Nothing is on it, and nothing is meant to be.
    Nothing,
    /// `image/ID`: one that was uploaded or captured here.
    Stored(Uuid),
    /// `datasource/NAMESPACE/NAME`: one that a hub keeps ready.
    Source { namespace: String, name: String },
    /// `claim/NAMESPACE/NAME`: another disk.
    Claim { namespace: String, name: String },
    /// `snapshot/NAMESPACE/NAME`: a VolumeSnapshot.
    Snapshot { namespace: String, name: String },
    /// `docker://…`
    Registry(String),
    /// `https://…` or `http://…`
    Web(String),
}

impl Image {
    /// What is not understood is an error, and never an empty disk: nobody would be told that a system is missing.
    pub fn parse(text: &str) -> Result<Image, String> {
        let unknown = || format!("It is not known how a disk is filled from {}.", shown(text));
        match text.split_once('/').unwrap_or_default() {
            _ if text.is_empty() => Ok(Image::Nothing),
            ("image", id) => id.parse().map(Image::Stored).map_err(|_| unknown()),
            ("datasource", of) => object(of).map(|(namespace, name)| Image::Source { namespace, name }),
            ("claim", of) => object(of).map(|(namespace, name)| Image::Claim { namespace, name }),
            ("snapshot", of) => object(of).map(|(namespace, name)| Image::Snapshot { namespace, name }),
            ("docker:", _) => address(text, "docker://").map(Image::Registry).ok_or_else(unknown),
            ("https:", _) => address(text, "https://").map(Image::Web).ok_or_else(unknown),
            ("http:", _) => address(text, "http://").map(Image::Web).ok_or_else(unknown),
            _ => Err(unknown()),
        }
    }
}

/// Namespace and name. Both come apart at the first slash, so that a name leads into no other namespace.
fn object(text: &str) -> Result<(String, String), String> {
    let (namespace, name) = text.split_once('/').unwrap_or((text, ""));
    match [namespace, name].into_iter().find(|part| !is_name(part)) {
        Some(odd) => Err(format!("{} is no name of something on a hub.", shown(odd))),
        None => Ok((namespace.to_owned(), name.to_owned())),
    }
}

/// Can something on a hub be called so?
pub fn is_name(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 253
        && text.starts_with(edge)
        && text.ends_with(edge)
        && text.chars().all(|c| edge(c) || matches!(c, '-' | '.'))
}

fn address(text: &str, scheme: &str) -> Option<String> {
    let rest = text.strip_prefix(scheme)?;
    let plain = rest.chars().all(|c| c.is_ascii_graphic() && c != '$');
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    (plain && !host.is_empty()).then(|| text.to_owned())
}

/// In a sentence: as it is, and not too long.
fn shown(text: &str) -> String {
    match text.chars().count() {
        0 => "an empty name".to_owned(),
        1..=100 => text.to_owned(),
        _ => format!("{}…", text.chars().take(100).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_understood_is_read_and_nothing_else_is_an_empty_disk() {
        let pair = || ("images".to_owned(), "fedora-43.1".to_owned());
        let (namespace, name) = pair();
        assert_eq!(Image::parse("datasource/images/fedora-43.1"), Ok(Image::Source { namespace, name }));
        let (namespace, name) = pair();
        assert_eq!(Image::parse("claim/images/fedora-43.1"), Ok(Image::Claim { namespace, name }));
        let (namespace, name) = pair();
        assert_eq!(Image::parse("snapshot/images/fedora-43.1"), Ok(Image::Snapshot { namespace, name }));
        for url in ["https://example.org/x.img", "http://10.0.0.1:8080/x?y=z"] {
            assert_eq!(Image::parse(url), Ok(Image::Web(url.to_owned())));
        }
        let registry = "docker://quay.io/example/x:1@sha256:00";
        assert_eq!(Image::parse(registry), Ok(Image::Registry(registry.to_owned())));
        assert_eq!(Image::parse(""), Ok(Image::Nothing));
        assert!(matches!(Image::parse(&format!("image/{}", Uuid::nil())), Ok(Image::Stored(_))));
        for odd in [
            "${IMAGE_URL}",
            "https://${HOST}/x",
            "https:///x",
            "docker://",
            "ftp://example.org/x",
            "s3://bucket/x",
            "datasource/images/${NAME}",
            "datasource//fedora",
            "datasource/images/",
            "claim/images",
            // out of its namespace
            "claim/images/../acme/root",
            "claim/acme/images/root",
            "image/1",
            "fedora",
            " ",
        ] {
            assert!(Image::parse(odd).is_err(), "{odd}");
        }
    }
}
