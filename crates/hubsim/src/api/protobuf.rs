//! Bodies in Kubernetes' protobuf, which kubectl and other typed clients send for built-in kinds. Answers stay JSON: who
//! sends protobuf takes both. Strict: a field that is not in the table is refused, since dropping it would change the object.

use crate::{
    answer::{Refusal, Result},
    kinds::Kind,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use std::{collections::HashMap, sync::LazyLock};

pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";
/// Before every body; then comes a message that names the type and holds the object.
const MAGIC: &[u8] = b"k8s\0";

/// Messages by name, their fields by number: `s` text, `i` number, `b` yes or no (left out while empty, unless there is a
/// `?`), `bytes`, `time`, `quantity`, `port` (a number or a name), another message; `[x]` a list, `{x}` a map by text.
const TABLE: &str = "
Unknown: 1 typeMeta TypeMeta, 2 raw bytes, 3 contentEncoding s, 4 contentType s
TypeMeta: 1 apiVersion s, 2 kind s
ObjectMeta: 1 name s, 2 generateName s, 3 namespace s, 4 selfLink s, 5 uid s, 6 resourceVersion s, 7 generation i, 8 creationTimestamp time, 9 deletionTimestamp time, 10 deletionGracePeriodSeconds i?, 11 labels {s}, 12 annotations {s}, 13 ownerReferences [OwnerReference], 14 finalizers [s]
OwnerReference: 1 kind s, 3 name s, 4 uid s, 5 apiVersion s, 6 controller b?, 7 blockOwnerDeletion b?
Namespace: 1 metadata ObjectMeta, 2 spec NamespaceSpec, 3 status NamespaceStatus
NamespaceSpec: 1 finalizers [s]
NamespaceStatus: 1 phase s
ConfigMap: 1 metadata ObjectMeta, 2 data {s}, 3 binaryData {bytes}, 4 immutable b?
Secret: 1 metadata ObjectMeta, 2 data {bytes}, 3 type s, 4 stringData {s}, 5 immutable b?
ResourceQuota: 1 metadata ObjectMeta, 2 spec ResourceQuotaSpec, 3 status ResourceQuotaStatus
ResourceQuotaSpec: 1 hard {quantity}, 2 scopes [s], 3 scopeSelector ScopeSelector
ResourceQuotaStatus: 1 hard {quantity}, 2 used {quantity}
ScopeSelector: 1 matchExpressions [ScopeRequirement]
ScopeRequirement: 1 scopeName s, 2 operator s, 3 values [s]
ServiceAccount: 1 metadata ObjectMeta, 2 secrets [ObjectReference], 3 imagePullSecrets [LocalObjectReference], 4 automountServiceAccountToken b?
ObjectReference: 1 kind s, 2 namespace s, 3 name s, 4 uid s, 5 apiVersion s, 6 resourceVersion s, 7 fieldPath s
LocalObjectReference: 1 name s
Service: 1 metadata ObjectMeta, 2 spec ServiceSpec, 3 status ServiceStatus
ServiceSpec: 1 ports [ServicePort], 2 selector {s}, 3 clusterIP s, 4 type s, 5 externalIPs [s], 7 sessionAffinity s, 8 loadBalancerIP s, 9 loadBalancerSourceRanges [s], 10 externalName s, 11 externalTrafficPolicy s, 12 healthCheckNodePort i, 13 publishNotReadyAddresses b, 17 ipFamilyPolicy s?, 18 clusterIPs [s], 19 ipFamilies [s], 20 allocateLoadBalancerNodePorts b?, 21 loadBalancerClass s?, 22 internalTrafficPolicy s?, 23 trafficDistribution s?
ServicePort: 1 name s, 2 protocol s, 3 port i, 4 targetPort port, 5 nodePort i, 6 appProtocol s?
ServiceStatus: 1 loadBalancer LoadBalancerStatus
LoadBalancerStatus:
Role: 1 metadata ObjectMeta, 2 rules [PolicyRule]
ClusterRole: 1 metadata ObjectMeta, 2 rules [PolicyRule]
PolicyRule: 1 verbs [s], 2 apiGroups [s], 3 resources [s], 4 resourceNames [s], 5 nonResourceURLs [s]
RoleBinding: 1 metadata ObjectMeta, 2 subjects [Subject], 3 roleRef RoleRef
ClusterRoleBinding: 1 metadata ObjectMeta, 2 subjects [Subject], 3 roleRef RoleRef
Subject: 1 kind s, 2 apiGroup s, 3 name s, 4 namespace s
RoleRef: 1 apiGroup s, 2 kind s, 3 name s
SelfSubjectAccessReview: 1 metadata ObjectMeta, 2 spec AccessReviewSpec, 3 status AccessReviewStatus
AccessReviewSpec: 1 resourceAttributes ResourceAttributes, 2 nonResourceAttributes NonResourceAttributes
ResourceAttributes: 1 namespace s, 2 verb s, 3 group s, 4 version s, 5 resource s, 6 subresource s, 7 name s
NonResourceAttributes: 1 path s, 2 verb s
AccessReviewStatus: 1 allowed b, 2 reason s, 3 evaluationError s, 4 denied b
SelfSubjectRulesReview: 1 metadata ObjectMeta, 2 spec RulesReviewSpec, 3 status RulesReviewStatus
RulesReviewSpec: 1 namespace s
RulesReviewStatus: 3 incomplete b, 4 evaluationError s
SelfSubjectReview: 1 metadata ObjectMeta, 2 status SelfSubjectReviewStatus
SelfSubjectReviewStatus: 1 userInfo UserInfo
UserInfo: 1 username s, 2 uid s, 3 groups [s]
DeleteOptions: 1 gracePeriodSeconds i?, 2 preconditions Preconditions, 3 orphanDependents b?, 4 propagationPolicy s?, 5 dryRun [s]
Preconditions: 1 uid s?, 2 resourceVersion s?
Quantity: 1 string s
Time: 1 seconds i, 2 nanos i
IntOrString: 1 type i, 2 intVal i, 3 strVal s
";

struct Field {
    name: &'static str,
    form: &'static str,
}

type Messages = HashMap<&'static str, HashMap<u64, Field>>;

static MESSAGES: LazyLock<Messages> = LazyLock::new(|| {
    let lines = TABLE.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, fields)| (name, fields.split(',').filter_map(field).collect())).collect()
});

fn field(text: &'static str) -> Option<(u64, Field)> {
    let mut words = text.split_whitespace();
    Some((words.next()?.parse().ok()?, Field { name: words.next()?, form: words.next()? }))
}

/// Can objects of that kind be read?
pub(crate) fn knows(kind: &Kind) -> bool {
    !kind.custom && MESSAGES.contains_key(kind.kind.as_str())
}

pub(crate) fn is_protobuf(body: &[u8]) -> bool {
    body.starts_with(MAGIC)
}

/// The object in a body, with the type that the body names.
pub(crate) fn object(kind: &str, body: &[u8]) -> Result<Value> {
    let refused = |why: String| {
        Refusal::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why}"))
    };
    let Some(rest) = body.strip_prefix(MAGIC) else {
        return Err(refused(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".to_owned(),
        ));
    };
    let read = || -> std::result::Result<Value, String> {
        let unknown = message("Unknown", rest)?;
        let raw = BASE64_STANDARD.decode(unknown["raw"].as_str().unwrap_or_default()).map_err(|e| e.to_string())?;
        let of = &unknown["typeMeta"];
        // another type's message would be read as this one's
        if of["kind"].as_str().is_some_and(|named| named != kind) {
            return Ok(json!({"apiVersion": of["apiVersion"], "kind": of["kind"]}));
        }
        let mut object = message(kind, &raw)?;
        for key in ["apiVersion", "kind"] {
            if let Some(text) = of[key].as_str() {
                object[key] = text.into();
            }
        }
        Ok(object)
    };
    read().map_err(refused)
}

type Read<T> = std::result::Result<T, String>;

fn message(name: &str, bytes: &[u8]) -> Read<Value> {
    let fields = MESSAGES.get(name).ok_or_else(|| format!("{name} is not known"))?;
    let mut object = Map::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (number, wire) = next(&mut rest)?;
        let Some(field) = fields.get(&number) else {
            return Err(format!("{name} has field {number}, which is not known here"));
        };
        let wrong = || format!("{name}.{} is not what it should be", field.name);
        if let Some(form) = inside(field.form, '[', ']') {
            let list = object.entry(field.name).or_insert_with(|| json!([]));
            list.as_array_mut().ok_or_else(wrong)?.push(value(form, &wire, true)?.ok_or_else(wrong)?);
        } else if let Some(form) = inside(field.form, '{', '}') {
            let (key, entry) = entry(form, wire.bytes().ok_or_else(wrong)?)?;
            let map = object.entry(field.name).or_insert_with(|| json!({}));
            map.as_object_mut().ok_or_else(wrong)?.insert(key, entry);
        } else if let Some(value) = value(field.form.trim_end_matches('?'), &wire, field.form.ends_with('?'))? {
            object.insert(field.name.to_owned(), value);
        }
    }
    Ok(Value::Object(object))
}

fn inside(form: &'static str, open: char, close: char) -> Option<&'static str> {
    form.strip_prefix(open)?.strip_suffix(close)
}

/// One entry of a map: field 1 is the key, field 2 the value.
fn entry(form: &'static str, bytes: &[u8]) -> Read<(String, Value)> {
    let (mut key, mut found) = (String::new(), None);
    let mut rest = bytes;
    while !rest.is_empty() {
        match next(&mut rest)? {
            (1, wire) => key = wire.text()?.to_owned(),
            (2, wire) => found = value(form, &wire, true)?,
            (n, _) => return Err(format!("a map's entry has field {n}")),
        }
    }
    let empty = || value(form, &Wire::Bytes(&[]), true);
    Ok((key, found.map_or_else(empty, |v| Ok(Some(v)))?.unwrap_or_default()))
}

/// None: empty, and left out. `kept`: then too.
fn value(form: &'static str, wire: &Wire<'_>, kept: bool) -> Read<Option<Value>> {
    let number = || wire.number().ok_or_else(|| format!("a {form} is not a number"));
    let bytes = || wire.bytes().ok_or_else(|| format!("a {form} has no length"));
    Ok(match form {
        "s" => Some(wire.text()?).filter(|text| kept || !text.is_empty()).map(Value::from),
        "i" => Some(number()?).filter(|n| kept || *n != 0).map(Value::from),
        "b" => Some(number()? != 0).filter(|yes| kept || *yes).map(Value::from),
        "bytes" => Some(BASE64_STANDARD.encode(bytes()?).into()),
        "quantity" => Some(message("Quantity", bytes()?)?["string"].as_str().unwrap_or("0").into()),
        "time" => time(&message("Time", bytes()?)?)?,
        "port" => {
            let port = message("IntOrString", bytes()?)?;
            match port["type"].as_i64() {
                Some(1) => Some(port["strVal"].as_str().unwrap_or_default().into()),
                _ => port.get("intVal").cloned(),
            }
        }
        name => Some(message(name, bytes()?)?),
    })
}

/// The zero time is none.
fn time(parts: &Value) -> Read<Option<Value>> {
    let Some(seconds) = parts["seconds"].as_i64() else { return Ok(None) };
    let at = time::OffsetDateTime::from_unix_timestamp(seconds).map_err(|e| e.to_string())?;
    let text = at.format(&time::format_description::well_known::Rfc3339).map_err(|e| e.to_string())?;
    Ok(Some(text.into()))
}

enum Wire<'a> {
    Number(i64),
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    fn number(&self) -> Option<i64> {
        match self {
            Wire::Number(n) => Some(*n),
            Wire::Bytes(_) => None,
        }
    }

    fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Wire::Number(_) => None,
            Wire::Bytes(bytes) => Some(bytes),
        }
    }

    fn text(&self) -> Read<&'a str> {
        let bytes = self.bytes().ok_or("a text has no length")?;
        std::str::from_utf8(bytes).map_err(|_| "a text is not UTF-8".to_owned())
    }
}

/// The next field's number and what it holds.
fn next<'a>(rest: &mut &'a [u8]) -> Read<(u64, Wire<'a>)> {
    let tag = varint(rest)?;
    let wire = match tag & 7 {
        0 => Wire::Number(varint(rest)?.cast_signed()),
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|e| e.to_string())?;
            let (bytes, after) = rest.split_at_checked(length).ok_or("unexpected EOF")?;
            *rest = after;
            Wire::Bytes(bytes)
        }
        other => return Err(format!("proto: illegal wireType {other}")),
    };
    Ok((tag >> 3, wire))
}

fn varint(rest: &mut &[u8]) -> Read<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first().ok_or("unexpected EOF")?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("proto: integer overflow".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with a length.
    fn part(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
    }

    fn body(kind: &str, raw: &[u8]) -> Vec<u8> {
        let of = part(1, &[part(1, b"v1"), part(2, kind.as_bytes())].concat());
        [MAGIC.to_vec(), of, part(2, raw), part(3, b""), part(4, b"")].concat()
    }

    #[test]
    fn every_form_in_the_table_is_known() {
        for (name, fields) in MESSAGES.iter() {
            for field in fields.values() {
                let form = field.form.trim_matches(['[', ']', '{', '}', '?']);
                let plain = ["s", "i", "b", "bytes", "time", "quantity", "port"].contains(&form);
                assert!(plain || MESSAGES.contains_key(form), "{name}.{}: {form}", field.name);
            }
        }
        assert_eq!(MESSAGES["ObjectMeta"].len(), 14);
    }

    #[test]
    fn an_object_is_read_as_its_json_would_be() {
        let labels = part(11, &[part(1, b"a"), part(2, b"")].concat());
        let meta = [part(1, b"x"), part(2, b""), vec![7 << 3, 0], part(8, b""), labels].concat();
        let data = part(2, &[part(1, b"k"), part(2, b"v")].concat());
        let raw = [part(1, &meta), data, part(3, b"Opaque"), vec![5 << 3, 0]].concat();
        let read = object("Secret", &body("Secret", &raw)).unwrap();
        let expected = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x", "labels": {"a": ""}},
            "data": {"k": "dg=="}, "type": "Opaque", "immutable": false,
        });
        assert_eq!(read, expected);
        let hard = part(1, &[part(1, b"cpu"), part(2, &part(1, b"2"))].concat());
        let read = object("ResourceQuota", &body("ResourceQuota", &part(2, &hard))).unwrap();
        assert_eq!(read["spec"]["hard"]["cpu"], "2");
    }

    #[test]
    fn what_is_cut_changed_or_unknown_is_refused_and_nothing_panics() {
        let good = body("Namespace", &part(1, &part(1, b"x")));
        assert!(object("Namespace", &good).is_ok());
        // the last four bytes are two empty fields, and before them comes the object
        for end in good.len() - 8..good.len() - 4 {
            assert!(object("Namespace", &good[..end]).is_err(), "{end} bytes");
        }
        for at in 0..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 0xff;
            let _ = object("Namespace", &changed);
        }
        let unknown = body("Namespace", &part(15, b"?"));
        let refused = object("Namespace", &unknown).unwrap_err();
        assert!(format!("{refused:?}").contains("field 15"), "{refused:?}");
        assert!(object("Namespace", b"{}").is_err());
    }
}
