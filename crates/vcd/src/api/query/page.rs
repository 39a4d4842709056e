//! One page of a query: its root, links to other pages, and records in the form that was asked for.
use crate::{
    answer::Answer,
    ask::Ask,
    wire::{
        doc::{document, link},
        media,
        params::{Params, decode},
    },
};
use domain::metadata;
use model::{
    Error, Kind, Result,
    metadata::Kept,
    query::{Clause, Numbered, Op, last_uuid},
};
use std::{collections::HashMap, fmt::Display};
use uuid::Uuid;
use xml::Writer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Records,
    IdRecords,
    References,
}

impl Format {
    pub(super) const ALL: [Format; 3] = [Format::Records, Format::IdRecords, Format::References];

    pub(super) fn key(self) -> &'static str {
        match self {
            Format::Records => "records",
            Format::IdRecords => "idrecords",
            Format::References => "references",
        }
    }

    pub(super) fn media(self) -> &'static str {
        match self {
            Format::Records => media::QUERY_RECORDS,
            Format::IdRecords => media::QUERY_IDRECORDS,
            Format::References => media::QUERY_REFERENCES,
        }
    }

    pub(super) fn of(params: &Params) -> Result<Format> {
        let Some(word) = params.get("format")? else { return Ok(Format::Records) };
        Format::ALL.into_iter().find(|f| f.key() == word.trim().to_lowercase()).ok_or_else(|| {
            Error::BadRequest(format!("“{}” is no format: records, idrecords or references.", crate::ask::shown(&word)))
        })
    }
}

/// What was found: how many in all, whose metadata may be wanted, and how the ones on this page are written.
pub(super) struct Page {
    pub(super) total: i64,
    pub(super) ids: Vec<(Kind, Uuid)>,
    pub(super) fill: Box<dyn FnOnce(&mut Rows<'_>) + Send>,
}

impl Page {
    pub(super) fn new(
        total: i64,
        ids: impl IntoIterator<Item = (Kind, Uuid)>,
        fill: impl FnOnce(&mut Rows<'_>) + Send + 'static,
    ) -> Page {
        Page { total, ids: ids.into_iter().collect(), fill: Box::new(fill) }
    }

    /// There are none of that kind here.
    pub(super) fn none() -> Page {
        Page::new(0, [], |_| {})
    }
}

/// What a record is about.
pub(super) struct About<'a> {
    pub(super) href: &'a str,
    pub(super) urn: &'a str,
    pub(super) name: &'a str,
    /// Its media type.
    pub(super) kind: &'static str,
}

/// Where records are written to.
pub(super) struct Rows<'a> {
    w: &'a mut Writer,
    element: String,
    format: Format,
    /// None: all.
    fields: Option<Vec<String>>,
    metadata: HashMap<String, Vec<Kept>>,
}

impl Rows<'_> {
    /// The same attributes for each record of a page: clients make the columns of tables from the first.
    pub(super) fn add(&mut self, about: &About<'_>, attributes: &[(&str, &dyn Display)]) {
        if self.format == Format::References {
            return self.w.empty(
                &self.element,
                &[("href", &about.href), ("id", &about.urn), ("name", &about.name), ("type", &about.kind)],
            );
        }
        let mut all: Vec<(&str, &dyn Display)> = Vec::with_capacity(attributes.len() + 3);
        all.push(("name", &about.name));
        if self.format == Format::IdRecords {
            all.push(("id", &about.urn));
        }
        all.push(("href", &about.href));
        match &self.fields {
            None => all.extend_from_slice(attributes),
            Some(fields) => all.extend(attributes.iter().filter(|(name, _)| fields.iter().any(|f| f == name))),
        }
        match self.metadata.get(about.urn.rsplit(':').next().unwrap_or_default()) {
            None => self.w.empty(&self.element, &all),
            Some(entries) => self.w.el(&self.element, &all, |w| {
                let href = format!("{}/metadata", about.href);
                crate::api::metadata::within(w, &href, entries);
            }),
        }
    }
}

/// `path`: what was asked, below `/api/`. `name`: the type's, and `element` its records' without their ending.
pub(super) async fn answer(
    ask: &Ask,
    path: &str,
    (name, element): (&str, &str),
    q: &Numbered,
    page: Page,
) -> Result<Answer> {
    let (base, params) = (ask.base(), ask.params());
    let format = Format::of(params)?;
    let fields = fields(params)?;
    let metadata = wanted_metadata(ask, fields.as_deref(), &page.ids).await?;
    let root = match format {
        Format::References => format!("{element}References"),
        _ => "QueryResultRecords".to_owned(),
    };
    let ending = if format == Format::References { "Reference" } else { "Record" };
    let href = |page: u32| base.api(format_args!("{path}?{}", params.with_page(page)));
    let last = u32::try_from((page.total + i64::from(q.size) - 1) / i64::from(q.size)).unwrap_or(u32::MAX).max(1);
    let own = href(q.page);
    let attributes: [(&str, &dyn Display); 6] = [
        ("total", &page.total),
        ("page", &q.page),
        ("pageSize", &q.size),
        ("name", &name),
        ("type", &format.media()),
        ("href", &own),
    ];
    let text = document(&root, &attributes, |w| {
        if q.page > 1 {
            link(w, "firstPage", href(1), format.media());
            link(w, "previousPage", href((q.page - 1).min(last)), format.media());
        }
        if q.page < last {
            link(w, "nextPage", href(q.page + 1), format.media());
            link(w, "lastPage", href(last), format.media());
        }
        let mut rows = Rows { w, element: format!("{element}{ending}"), format, fields, metadata };
        (page.fill)(&mut rows);
    });
    Ok(Answer::xml(format.media(), text))
}

fn fields(params: &Params) -> Result<Option<Vec<String>>> {
    let Some(text) = params.raw("fields").map(decode).transpose()? else { return Ok(None) };
    let all: Vec<String> = text.split(',').map(|f| f.trim().to_owned()).filter(|f| !f.is_empty()).collect();
    Ok(Some(all).filter(|all| !all.is_empty()))
}

/// `metadata:key` and `metadata@SYSTEM:key` among the fields.
async fn wanted_metadata(
    ask: &Ask,
    fields: Option<&[String]>,
    ids: &[(Kind, Uuid)],
) -> Result<HashMap<String, Vec<Kept>>> {
    let keys: Vec<(&str, &str)> = fields
        .unwrap_or_default()
        .iter()
        .filter_map(|f| f.strip_prefix("metadata"))
        .filter_map(|f| match f.strip_prefix('@') {
            Some(rest) => rest.split_once(':'),
            None => f.strip_prefix(':').map(|key| ("GENERAL", key)),
        })
        .collect();
    let mut found = HashMap::new();
    if keys.is_empty() {
        return Ok(found);
    }
    for (kind, id) in ids {
        let (_, mut all) = metadata::list(ask.d(), &ask.actor, *kind, *id).await?;
        all.retain(|kept| {
            let domain = kept.entry.audience.domain();
            keys.iter().any(|(d, key)| domain.eq_ignore_ascii_case(d) && *key == kept.entry.key)
        });
        found.insert(id.to_string(), all);
    }
    Ok(found)
}

/// A record of a kind of which there are few: what they are filtered and sorted by are its attributes.
pub(super) struct Small {
    pub(super) href: String,
    pub(super) urn: String,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) attributes: Vec<(&'static str, String)>,
}

impl Small {
    fn get(&self, field: &str) -> Option<&str> {
        match field {
            "id" => Some(&self.urn),
            "href" => Some(&self.href),
            "name" => Some(&self.name),
            field => self.attributes.iter().find(|(name, _)| *name == field).map(|(_, value)| value.as_str()),
        }
    }
}

/// Those of few that fit, on the page that was asked for.
pub(super) fn of_few(all: Vec<Small>, q: &Numbered) -> Result<Page> {
    let mut fitting = Vec::new();
    for one in all {
        if q.filter.holds(&mut |clause| holds(&one, clause))? {
            fitting.push(one);
        }
    }
    if let Some((field, down)) = &q.sort {
        let key = |one: &Small| {
            let text = one.get(field).unwrap_or_default().to_owned();
            (text.parse::<i64>().unwrap_or(i64::MAX), text)
        };
        fitting.sort_by_cached_key(key);
        if *down {
            fitting.reverse();
        }
    }
    let total = i64::try_from(fitting.len()).unwrap_or(i64::MAX);
    let first = usize::try_from(q.offset()).unwrap_or(usize::MAX);
    let page: Vec<Small> = fitting.into_iter().skip(first).take(q.size as usize).collect();
    Ok(Page::new(total, [], move |rows| {
        for one in &page {
            let attributes: Vec<(&str, &dyn Display)> =
                one.attributes.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
            rows.add(&About { href: &one.href, urn: &one.urn, name: &one.name, kind: one.kind }, &attributes);
        }
    }))
}

fn holds(one: &Small, c: &Clause) -> Result<bool> {
    let Some(value) = one.get(&c.field) else {
        let all: Vec<&str> = one.attributes.iter().map(|(name, _)| *name).collect();
        return Err(Error::BadRequest(format!(
            "There is no field {} to ask by. There are: id, href, name, {}.",
            crate::ask::shown(&c.field),
            all.join(", ")
        )));
    };
    let wanted = c.value.text();
    let number = |text: &str| text.trim().parse::<i64>().ok();
    Ok(match (c.op, last_uuid(value).zip(last_uuid(&wanted))) {
        (Op::Is, Some((a, b))) => a == b,
        (Op::IsNot, Some((a, b))) => a != b,
        (Op::Is, None) => c.value.fits(value) || wanted.eq_ignore_ascii_case(value) && is_flag(value),
        (Op::IsNot, None) => !c.value.fits(value),
        (op, _) => match number(value).zip(number(&wanted)) {
            Some((a, b)) => op.holds(&a, &b),
            None => op.holds(&value, &wanted.as_str()),
        },
    })
}

fn is_flag(text: &str) -> bool {
    matches!(text, "true" | "false")
}
