//! Who is asking, and what they may do: tokens, and the roles stored in the hub.

use crate::{api::Api, meta, store::State};
use http::{HeaderMap, header};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    /// The id of the token they came with.
    pub credential: Option<String>,
}

impl User {
    pub(crate) fn admin() -> Self {
        Self::in_groups("admin", "admin-uid", &["system:masters", "system:authenticated"])
    }

    /// The hub's own actors.
    pub(crate) fn inside() -> Self {
        Self::in_groups("system:inside", "inside-uid", &["system:masters", "system:authenticated"])
    }

    pub(crate) fn anonymous() -> Self {
        Self::in_groups("system:anonymous", "", &["system:unauthenticated"])
    }

    fn in_groups(name: &str, uid: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Self { name: name.to_owned(), uid: uid.to_owned(), groups, credential: None }
    }

    fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let all = format!("system:serviceaccounts:{namespace}");
        Self::in_groups(
            &format!("system:serviceaccount:{namespace}:{name}"),
            uid,
            &["system:serviceaccounts", &all, "system:authenticated"],
        )
    }

    fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|one| one == group)
    }
}

/// Something somebody wants to do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Action<'a> {
    pub verb: &'a str,
    pub group: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    /// A path that is no resource.
    pub path: Option<&'a str>,
}

/// The user of a request. `None`: the token is not good.
pub(crate) fn authenticate(api: &Api, state: &State, headers: &HeaderMap) -> Option<User> {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => of_token(api, state, token.trim()),
        _ => Some(User::anonymous()),
    }
}

pub(crate) fn of_token(api: &Api, state: &State, token: &str) -> Option<User> {
    if token == api.identity.token {
        return Some(User::admin());
    }
    let claims = api.identity.verify(token, api.clock.now().unix_timestamp())?;
    let bound = &claims["kubernetes.io"];
    let namespace = bound["namespace"].as_str()?;
    let (name, uid) = (bound["serviceaccount"]["name"].as_str()?, bound["serviceaccount"]["uid"].as_str()?);
    let account = state.by_name("", "serviceaccounts", namespace, name)?;
    let credential = claims["jti"].as_str().map(str::to_owned);
    (meta::uid(&account) == uid).then(|| User { credential, ..User::service_account(namespace, name, uid) })
}

pub(crate) fn allowed(state: &State, user: &User, action: &Action<'_>) -> bool {
    user.is_in("system:masters") || rules_for(state, user, action.namespace).iter().any(|rule| permits(rule, action))
}

/// Why an allowed action is allowed, as access reviews tell it.
pub(crate) fn reason(state: &State, user: &User, action: &Action<'_>) -> Option<String> {
    if user.is_in("system:masters") {
        return None;
    }
    bindings(state, user, action.namespace)
        .into_iter()
        .find_map(|bound| bound.rules.iter().any(|rule| permits(rule, action)).then(|| bound.reason.clone()))
}

pub(crate) fn rules_for(state: &State, user: &User, namespace: &str) -> Vec<Value> {
    bindings(state, user, namespace).into_iter().flat_map(|bound| bound.rules).collect()
}

struct Bound {
    rules: Vec<Value>,
    reason: String,
}

fn bindings(state: &State, user: &User, namespace: &str) -> Vec<Bound> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let mut found = Vec::new();
    let mut add = |binding: &Value, kind: &str, scope: &str| {
        let subject = binding["subjects"].as_array().into_iter().flatten().find(|subject| is_subject(subject, user));
        let Some(subject) = subject else { return };
        let role = &binding["roleRef"];
        let (role_kind, name) = (role["kind"].as_str().unwrap_or_default(), role["name"].as_str().unwrap_or_default());
        let (plural, at) = if role_kind == "Role" { ("roles", scope) } else { ("clusterroles", "") };
        let Some(stored) = state.by_name(RBAC, plural, at, name) else { return };
        let who = match subject["kind"].as_str() {
            Some("ServiceAccount") => {
                let text = |key: &str| subject[key].as_str().unwrap_or_default();
                format!("ServiceAccount \"{}/{}\"", text("name"), text("namespace"))
            }
            kind => format!("{} \"{}\"", kind.unwrap_or_default(), subject["name"].as_str().unwrap_or_default()),
        };
        let binding_name = meta::name(binding);
        let at = if scope.is_empty() { String::new() } else { format!("/{scope}") };
        found.push(Bound {
            rules: stored["rules"].as_array().cloned().unwrap_or_default(),
            reason: format!("RBAC: allowed by {kind} \"{binding_name}{at}\" of {role_kind} \"{name}\" to {who}"),
        });
    };
    if let Some(id) = state.find(RBAC, "clusterrolebindings") {
        state.list(id, None).for_each(|binding| add(binding, "ClusterRoleBinding", ""));
    }
    if let (false, Some(id)) = (namespace.is_empty(), state.find(RBAC, "rolebindings")) {
        state.list(id, Some(namespace)).for_each(|binding| add(binding, "RoleBinding", namespace));
    }
    found
}

fn is_subject(subject: &Value, user: &User) -> bool {
    let name = subject["name"].as_str().unwrap_or_default();
    match subject["kind"].as_str() {
        Some("ServiceAccount") => {
            user.name == format!("system:serviceaccount:{}:{name}", subject["namespace"].as_str().unwrap_or_default())
        }
        Some("User") => user.name == name,
        Some("Group") => user.is_in(name),
        _ => false,
    }
}

fn permits(rule: &Value, action: &Action<'_>) -> bool {
    let has =
        |key: &str, wanted: &str| rule[key].as_array().into_iter().flatten().any(|one| one == "*" || one == wanted);
    if !has("verbs", action.verb) {
        return false;
    }
    if let Some(path) = action.path {
        return meta::strings(&rule["nonResourceURLs"])
            .iter()
            .any(|one| *one == path || one.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix)));
    }
    let resource = if action.subresource.is_empty() {
        action.resource.to_owned()
    } else {
        format!("{}/{}", action.resource, action.subresource)
    };
    let any = format!("*/{}", action.subresource);
    let names = meta::strings(&rule["resourceNames"]);
    has("apiGroups", action.group)
        && (has("resources", &resource) || !action.subresource.is_empty() && has("resources", &any))
        && (names.is_empty() || names.contains(&action.name))
}

/// The roles of a fresh cluster: the rights that everybody has, and the role that has them all.
pub(crate) fn roles() -> Vec<(&'static str, &'static str, Value)> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let everybody: &[&str] = &["system:authenticated", "system:unauthenticated"];
    let known: &[&str] = &["system:authenticated"];
    let health = json!(["/healthz", "/livez", "/readyz", "/version", "/version/"]);
    let discovery = json!([
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/openapi",
        "/openapi/*",
        "/readyz",
        "/version",
        "/version/",
    ]);
    let issuer = json!([
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/",
        "/openid/v1/jwks",
        "/openid/v1/jwks/",
    ]);
    let reviews = json!([
        {"apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], "verbs": ["create"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]},
    ]);
    let paths = |list: Value| json!([{"nonResourceURLs": list, "verbs": ["get"]}]);
    let all = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]);
    let table = [
        ("system:public-info-viewer", paths(health), everybody),
        ("system:discovery", paths(discovery), known),
        ("system:service-account-issuer-discovery", paths(issuer), &["system:serviceaccounts"]),
        ("system:basic-user", reviews, known),
        ("cluster-admin", all, &["system:masters"]),
    ];
    let mut objects = Vec::new();
    for (name, rules, groups) in table {
        let subjects: Vec<Value> =
            groups.iter().map(|group| json!({"apiGroup": RBAC, "kind": "Group", "name": group})).collect();
        let api_version = format!("{RBAC}/v1");
        let role = json!({
            "apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules,
        });
        let binding = json!({
            "apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": name}, "subjects": subjects,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        });
        objects.extend([(RBAC, "clusterroles", role), (RBAC, "clusterrolebindings", binding)]);
    }
    objects
}
