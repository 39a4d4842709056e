//! Collections: numbered pages with links to their neighbours, filters and sorts by the names that CloudAPI has for things.
use crate::{answer::Answer, ask::Ask};
use axum::http::{StatusCode, header};
use model::{
    Error, Result,
    query::{Clause, Filter, Found, Numbered},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// A field as clients call it, and as the question behind it does.
pub(crate) type Fields = &'static [(&'static str, &'static str)];

/// The question of a request, with fields by their inner names. A field that is not among them is an error of the client's.
pub(crate) fn asked(ask: &Ask, fields: Fields) -> Result<Numbered> {
    let mut q = ask.params().fiql()?;
    rename(&mut q.filter, fields)?;
    if let Some((name, _)) = &mut q.sort {
        inner(fields, name)?.clone_into(name);
    }
    Ok(q)
}

fn rename(filter: &mut Filter, fields: Fields) -> Result<()> {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => parts.iter_mut().try_for_each(|part| rename(part, fields)),
        // says where to look, not what for; we look everywhere
        Filter::Is(clause) if clause.field == "_context" => {
            *filter = Filter::All(Vec::new());
            Ok(())
        }
        Filter::Is(clause) => {
            inner(fields, &clause.field)?.clone_into(&mut clause.field);
            Ok(())
        }
    }
}

fn inner(fields: Fields, name: &str) -> Result<&'static str> {
    fields.iter().find(|(outer, _)| *outer == name).map(|(_, inner)| *inner).ok_or_else(|| {
        let all: Vec<&str> = fields.iter().map(|(outer, _)| *outer).collect();
        let name: String = name.chars().take(64).collect();
        Error::BadRequest(format!("There is no field {name} to ask by. There are: {}.", all.join(", ")))
    })
}

/// 200 with a page, and `Link` headers to those around it.
pub(crate) fn page<T>(ask: &Ask, q: &Numbered, found: Found<T>, write: impl FnMut(T) -> Value) -> Answer {
    let values: Vec<Value> = found.items.into_iter().map(write).collect();
    let (size, last) = (i64::from(q.size), last_page(found.total, q.size));
    let body = json!({
        "resultTotal": found.total,
        "pageCount": (found.total + size - 1) / size,
        "page": q.page,
        "pageSize": q.size,
        "associations": null,
        "values": values,
    });
    let links = [
        ("firstPage", (q.page > 1).then_some(1)),
        ("previousPage", (q.page > 1).then_some(q.page - 1)),
        ("nextPage", (q.page < last).then_some(q.page + 1)),
        ("lastPage", (q.page < last).then_some(last)),
    ];
    links.into_iter().filter_map(|(rel, to)| Some((rel, to?))).fold(Answer::json(&body), |answer, (rel, to)| {
        let address = format!("{}{}?{}", ask.base().0, ask.open.at, ask.params().with_page(to));
        answer.with(header::LINK, format!("<{address}>;rel=\"{rel}\";type=\"application/json\""))
    })
}

fn last_page(total: i64, size: u32) -> u32 {
    u32::try_from((total + i64::from(size) - 1) / i64::from(size)).unwrap_or(u32::MAX).max(1)
}

/// A page of what is at hand already: filtered and sorted here, by the names of the values themselves.
pub(crate) fn at_hand(ask: &Ask, fields: Fields, values: Vec<Value>) -> Result<Answer> {
    let q = asked(ask, fields)?;
    let mut kept = Vec::new();
    for value in values {
        if q.filter.holds(&mut |clause| Ok(holds(clause, at(&value, &clause.field))))? {
            kept.push(value);
        }
    }
    if let Some((field, down)) = &q.sort {
        kept.sort_by_cached_key(|value| key(at(value, field)));
        if *down {
            kept.reverse();
        }
    }
    let total = i64::try_from(kept.len()).unwrap_or(i64::MAX);
    let from = usize::try_from(q.offset()).unwrap_or(usize::MAX);
    let items = kept.into_iter().skip(from).take(q.size as usize).collect();
    Ok(page(ask, &q, Found { items, total }, |value| value))
}

/// `ownerRef.id` is within `ownerRef`.
fn at<'v>(value: &'v Value, field: &str) -> &'v Value {
    field.split('.').fold(value, |value, part| value.get(part).unwrap_or(&Value::Null))
}

/// Numbers before texts, and each among its own kind.
fn key(value: &Value) -> (i64, String) {
    match value {
        Value::Number(n) => (n.as_i64().unwrap_or(i64::MAX), n.to_string()),
        other => (i64::MAX, text(other)),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn holds(clause: &Clause, value: &Value) -> bool {
    use model::query::Op;
    let (have, wanted) = (text(value), clause.value.text());
    match (clause.op, value, wanted.parse::<i64>()) {
        (Op::Is, ..) => clause.value.fits(&have),
        (Op::IsNot, ..) => !clause.value.fits(&have),
        (op, Value::Number(n), Ok(wanted)) => n.as_i64().is_some_and(|n| op.holds(&n, &wanted)),
        (op, ..) => op.holds(&have, &wanted),
    }
}

/// `{name, id}` as clients send it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct EntityRef {
    pub(crate) name: Option<String>,
    pub(crate) id: Option<String>,
}

/// `{values: […]}` as clients send it.
#[derive(Debug, Deserialize)]
pub(crate) struct Values<T> {
    pub(crate) values: Vec<T>,
}

/// With the version of what is answered: who sends it back as `If-Match` is told when somebody else was faster.
pub(crate) fn tagged(answer: Answer, version: i64) -> Answer {
    answer.with(header::ETAG, format!("\"{version}\""))
}

/// The version that a change is meant for: the one of `If-Match`, or the one that is there.
pub(crate) fn version(ask: &Ask, current: i64) -> Result<i64> {
    match ask.open.header("if-match").map(|tag| tag.trim_start_matches("W/").trim_matches('"')) {
        None | Some("*") => Ok(current),
        Some(tag) => tag.parse().map_err(|_| Error::BadRequest("If-Match is an ETag that you were given here.".into())),
    }
}

/// 403 for something that is only here: clients take that for missing.
pub(crate) fn missing(what: &str) -> Answer {
    let message = format!("There is no such {what}: it does not exist, or it is not yours to see.");
    let body = json!({"minorErrorCode": "ACCESS_TO_RESOURCE_IS_FORBIDDEN", "message": message, "stackTrace": null});
    Answer::json(&body).status(StatusCode::FORBIDDEN)
}

/// `{name, id}`
pub(crate) fn reference(name: &str, id: impl Into<Value>) -> Value {
    json!({"name": name, "id": id.into()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_known_by_the_names_clients_have_for_them() {
        let fields: Fields = &[("ownerRef.id", "vdc"), ("name", "name")];
        let mut filter = Filter::parse("(ownerRef.id==x;_context==includeAccessible),name==y").expect("readable");
        rename(&mut filter, fields).expect("known");
        let names: Vec<&str> = filter.clauses().iter().map(|c| c.field.as_str()).collect();
        assert_eq!(names, ["vdc", "name"]);
        assert!(rename(&mut Filter::parse("vdc==x").expect("readable"), fields).is_err());
        assert_eq!((last_page(0, 25), last_page(25, 25), last_page(26, 25)), (1, 1, 2));
    }

    #[test]
    fn values_at_hand_are_compared_as_what_they_are() {
        let value = json!({"name": "a b", "n": 10, "on": true, "ref": {"id": "x"}});
        for (filter, fits) in
            [("name==a*", true), ("n=gt=9", true), ("n=lt=9", false), ("on==true", true), ("ref.id!=x", false)]
        {
            let filter = Filter::parse(filter).expect(filter);
            let held = filter.holds(&mut |c| Ok(holds(c, at(&value, &c.field))));
            assert_eq!(held, Ok(fits), "{filter:?}");
        }
    }
}
