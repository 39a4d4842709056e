//! What a request's path and method ask for.

use http::Method;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Target {
    /// `/api`, `/apis`, one group, or one version of a group.
    Groups {
        legacy: bool,
    },
    Group(String),
    GroupVersion(String, String),
    Resource(ResourcePath),
    /// Anything that is no API: health, version, metrics.
    Other,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ResourcePath {
    pub group: String,
    pub version: String,
    pub namespace: Option<String>,
    pub resource: String,
    pub name: Option<String>,
    pub subresource: Option<String>,
    /// What follows the subresource.
    pub rest: Vec<String>,
    /// The old form `/api/v1/watch/…`.
    pub watch: bool,
}

impl ResourcePath {
    /// The right that a request needs.
    pub(crate) fn verb(&self, method: &Method, watch: bool) -> &'static str {
        match (method.as_str(), &self.name) {
            ("GET" | "HEAD", None) if watch || self.watch => "watch",
            ("GET" | "HEAD", None) => "list",
            ("GET" | "HEAD", Some(_)) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", None) => "deletecollection",
            ("DELETE", Some(_)) => "delete",
            _ => "",
        }
    }
}

pub(crate) fn read(path: &str) -> Target {
    let trimmed = path.strip_suffix('/').filter(|trimmed| !trimmed.is_empty()).unwrap_or(path);
    let mut steps = trimmed
        .split('/')
        .skip(1)
        .map(|step| percent_encoding::percent_decode_str(step).decode_utf8_lossy().into_owned());
    let (group, version) = match (steps.next().as_deref(), steps.next()) {
        (Some("api"), None) => return Target::Groups { legacy: true },
        (Some("apis"), None) => return Target::Groups { legacy: false },
        (Some("api"), Some(version)) => (String::new(), version),
        (Some("apis"), Some(group)) => match steps.next() {
            None => return Target::Group(group),
            Some(version) => (group, version),
        },
        _ => return Target::Other,
    };
    let rest: Vec<String> = steps.collect();
    if rest.is_empty() {
        return Target::GroupVersion(group, version);
    }
    if rest.iter().any(String::is_empty) || version.is_empty() {
        return Target::Other;
    }
    resource(group, version, rest)
}

fn resource(group: String, version: String, mut steps: Vec<String>) -> Target {
    let mut path = ResourcePath { group, version, ..ResourcePath::default() };
    if path.group.is_empty() && steps[0] == "watch" && steps.len() > 1 {
        path.watch = true;
        steps.remove(0);
    }
    // a namespace's own subresources look like resources in it
    let own = matches!(steps.get(2).map(String::as_str), Some("status" | "finalize")) && steps.len() == 3;
    if steps[0] == "namespaces" && steps.len() > 2 && !(path.group.is_empty() && own) {
        path.namespace = Some(steps[1].clone());
        // an encoded slash cannot be part of a namespace
        if steps[1].contains('/') {
            return Target::Other;
        }
        steps.drain(..2);
    } else if path.group.is_empty() && steps[0] == "namespaces" && steps.len() > 1 {
        path.namespace = Some(steps[1].clone());
    }
    let mut steps = steps.into_iter();
    path.resource = steps.next().unwrap_or_default();
    let name = steps.next();
    // the real server sees a decoded path: what follows an encoded slash is a subresource
    let (name, inner) = match name.as_deref().and_then(|name| name.split_once('/')) {
        Some((name, inner)) => (Some(name.to_owned()), Some(inner.to_owned())),
        None => (name, None),
    };
    path.name = name;
    path.subresource = inner.or_else(|| steps.next());
    path.rest = steps.collect();
    Target::Resource(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> ResourcePath {
        match read(path) {
            Target::Resource(path) => path,
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn paths_of_objects_collections_and_subresources_are_told_apart() {
        let path = of("/apis/kubevirt.io/v1/namespaces/a/virtualmachines/vm-1/status");
        assert_eq!((path.group.as_str(), path.namespace.as_deref()), ("kubevirt.io", Some("a")));
        assert_eq!((path.name.as_deref(), path.subresource.as_deref()), (Some("vm-1"), Some("status")));
        let path = of("/api/v1/namespaces/a");
        assert_eq!((path.resource.as_str(), path.name.as_deref()), ("namespaces", Some("a")));
        let path = of("/api/v1/namespaces/a/status");
        assert_eq!((path.resource.as_str(), path.subresource.as_deref()), ("namespaces", Some("status")));
        assert_eq!(of("/api/v1/namespaces/a/secrets").name, None);
        assert!(of("/api/v1/watch/namespaces/a/secrets").watch);
    }

    #[test]
    fn discovery_and_other_paths_are_no_resources() {
        assert_eq!(read("/api"), Target::Groups { legacy: true });
        assert_eq!(read("/apis/kubevirt.io"), Target::Group("kubevirt.io".to_owned()));
        assert_eq!(read("/apis/kubevirt.io/v1"), Target::GroupVersion("kubevirt.io".to_owned(), "v1".to_owned()));
        assert_eq!(read("/healthz"), Target::Other);
        assert_eq!(read("//api/v1//namespaces"), Target::Other);
    }
}
