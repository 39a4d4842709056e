//! Numbered pages of what fits a filter, for VCD's clients. Which field is which column is a table of each noun; what
//! clients write is always bound.
use crate::{
    Store,
    constraint::mapped,
    list::{Build, ListSql, needed},
};
use model::{
    Error, Result,
    decide::Scope,
    metadata::MetaType,
    query::{Clause, Filter, Found, Numbered, Op},
};
use sqlx::{FromRow, postgres::PgRow};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// A field that clients filter and sort by.
pub(crate) struct Field {
    pub name: &'static str,
    pub expr: &'static str,
    pub kind: FieldKind,
}

pub(crate) enum FieldKind {
    Text,
    /// A reference: by id, URN or address.
    Id,
    Number,
    Bool,
    Time,
    /// As the two above, of which there are several: a query with one column.
    TextAmong,
    IdAmong,
    /// VCD's words, and the condition that each stands for.
    Words(&'static [(&'static str, &'static str)]),
}

macro_rules! field_kinds {
    ($($make:ident $kind:ident),*) => {$(
        pub(crate) const fn $make(name: &'static str, expr: &'static str) -> Field {
            Field { name, expr, kind: FieldKind::$kind }
        }
    )*};
}
field_kinds!(text Text, id Id, number Number, bool Bool, time Time, text_among TextAmong, id_among IdAmong);

/// `expr` sorts them.
pub(crate) const fn words(
    name: &'static str,
    expr: &'static str,
    words: &'static [(&'static str, &'static str)],
) -> Field {
    Field { name, expr, kind: FieldKind::Words(words) }
}

/// What a noun can be asked by.
pub(crate) struct QuerySql {
    pub list: &'static ListSql,
    /// The tables that the fields are of: what only columns need is not counted along.
    pub count_from: &'static str,
    pub fields: &'static [Field],
    pub metadata: bool,
}

impl Store {
    pub(crate) async fn numbered<R, T>(
        &self,
        sql: &QuerySql,
        scope: Scope,
        q: &Numbered,
        read: fn(R) -> Result<T>,
    ) -> Result<Found<T>>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let place = (q.offset(), i64::from(q.size));
        let (items, total) = tokio::join!(self.rows(sql, scope, q, place, read), self.counted(sql, scope, q));
        Ok(Found { items: items?, total: total? })
    }

    /// So many of them from any row on, without the number of all.
    pub(crate) async fn rows<R, T>(
        &self,
        sql: &QuerySql,
        scope: Scope,
        q: &Numbered,
        (offset, limit): (i64, i64),
        read: fn(R) -> Result<T>,
    ) -> Result<Vec<T>>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let list = sql.list;
        let order = sql.order(q)?;
        let mut rows = Build::new(format!("select {} from {}", list.columns, list.from));
        // ids first, by what is asked for alone: the other columns are read for those on the page, and for no others
        let apart = sql.count_from != list.from;
        if apart {
            let from = sql.needed(scope, &q.filter, &order)?;
            rows.push(format_args!(" where t.id = any(array(select t.id from {from}"));
        }
        conditions(&mut rows, sql, scope, &q.filter)?;
        rows.push(format_args!(" order by {order} limit {limit} offset {offset}"));
        if apart {
            rows.push(format_args!(")) order by {order}"));
        }
        let rows = rows.build_query_as::<R>().fetch_all(&self.pool).await.map_err(mapped)?;
        rows.into_iter().map(read).collect()
    }

    pub(crate) async fn counted(&self, sql: &QuerySql, scope: Scope, q: &Numbered) -> Result<i64> {
        let mut count = Build::new(format!("select count(*) from {}", sql.needed(scope, &q.filter, "")?));
        conditions(&mut count, sql, scope, &q.filter)?;
        count.build_query_scalar().fetch_one(&self.pool).await.map_err(mapped)
    }
}

/// What lists of it keep to, and what the filter says.
pub(crate) fn conditions(b: &mut Build<'_>, sql: &QuerySql, scope: Scope, wanted: &Filter) -> Result<()> {
    b.push(format_args!(" where {}", sql.list.living));
    sql.list.within(b, scope);
    if !wanted.is_empty() {
        b.push(" and ");
        filter(b, sql, wanted)?;
    }
    Ok(())
}

/// A field to sort by, in a type that is the same for every noun that has it.
pub(crate) fn sort_key(sql: &QuerySql, name: &str) -> Result<String> {
    let field = sql.field(name)?;
    let cast = match field.kind {
        FieldKind::Id => "uuid",
        FieldKind::Number => "numeric",
        FieldKind::Bool => "boolean",
        FieldKind::Time => "timestamptz",
        _ => "text",
    };
    Ok(format!("({})::{cast}", field.sortable().unwrap_or("null")))
}

impl QuerySql {
    /// The tables that a question needs.
    fn needed(&self, scope: Scope, wanted: &Filter, order: &str) -> Result<String> {
        let mut asked = Build::new(order);
        conditions(&mut asked, self, scope, wanted)?;
        Ok(needed(self.count_from, asked.sql()))
    }

    /// As it is asked for; what is alike stands by id.
    fn order(&self, q: &Numbered) -> Result<String> {
        let Some((name, down)) = &q.sort else { return Ok("t.id asc".to_owned()) };
        let way = if *down { "desc" } else { "asc" };
        Ok(match self.field(name)?.sortable()? {
            // PostgreSQL takes a constant here for a mistake, or for the number of a column
            constant if !constant.contains('.') || constant.starts_with('\'') => {
                format!("(select {constant}) {way}, t.id {way}")
            }
            expr => format!("{expr} {way}, t.id {way}"),
        })
    }

    fn field(&self, name: &str) -> Result<&'static Field> {
        self.fields.iter().find(|f| f.name == name).ok_or_else(|| {
            let all: Vec<&str> = self.fields.iter().map(|f| f.name).collect();
            Error::BadRequest(format!(
                "There is no field {} to ask by. There are: {}.",
                name.chars().take(64).collect::<String>(),
                all.join(", ")
            ))
        })
    }
}

impl Field {
    fn sortable(&self) -> Result<&'static str> {
        match self.kind {
            FieldKind::TextAmong | FieldKind::IdAmong => {
                Err(Error::BadRequest(format!("There may be several of {}: it is nothing to sort by.", self.name)))
            }
            _ => Ok(self.expr),
        }
    }
}

fn filter(b: &mut Build<'_>, sql: &QuerySql, f: &Filter) -> Result<()> {
    let (parts, join) = match f {
        Filter::Is(clause) => return one(b, sql, clause),
        Filter::All(parts) => (parts, " and "),
        Filter::Any(parts) => (parts, " or "),
    };
    if parts.is_empty() {
        b.push("true");
        return Ok(());
    }
    b.push("(");
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            b.push(join);
        }
        filter(b, sql, part)?;
    }
    b.push(")");
    Ok(())
}

fn one(b: &mut Build<'_>, sql: &QuerySql, c: &Clause) -> Result<()> {
    if let Some(key) = c.field.strip_prefix("metadata") {
        return metadata(b, sql, key, c);
    }
    let field = sql.field(&c.field)?;
    let (expr, op) = (field.expr, c.op.sql());
    let text = c.value.text();
    let odd = |what: &str| {
        let shown: String = text.chars().take(64).collect();
        Error::BadRequest(format!("{} takes {what}, and not “{shown}”.", field.name))
    };
    match &field.kind {
        // no column holds it, and PostgreSQL takes it in no text
        _ if text.contains('\0') => return Err(odd("text")),
        FieldKind::Text if c.value.has_stars() => {
            let not = if c.op == Op::IsNot { "not " } else { "" };
            b.push(format_args!("coalesce({expr}, '') {not}like ")).push_bind(c.value.pattern());
        }
        FieldKind::Text => {
            b.push(format_args!("coalesce({expr}, '') {op} ")).push_bind(text);
        }
        FieldKind::Id => {
            let same = match c.op {
                Op::Is => "is not distinct from",
                Op::IsNot => "is distinct from",
                _ => return Err(odd("only == and !=")),
            };
            match c.value.id() {
                Some(id) => b.push(format_args!("{expr} {same} ")).push_bind(id),
                // what names nothing is nothing
                None => b.push(if c.op == Op::Is { "false" } else { "true" }),
            };
        }
        FieldKind::TextAmong | FieldKind::IdAmong => {
            let not = match c.op {
                Op::Is => "",
                Op::IsNot => "not ",
                _ => return Err(odd("only == and !=")),
            };
            b.push(format_args!("{not}exists (select from ({expr}) among (one) where among.one "));
            match (&field.kind, c.value.id()) {
                (FieldKind::TextAmong, _) if c.value.has_stars() => b.push("like ").push_bind(c.value.pattern()),
                (FieldKind::TextAmong, _) => b.push("= ").push_bind(text),
                (_, Some(id)) => b.push("= ").push_bind(id),
                (_, None) => b.push("is null"),
            };
            b.push(")");
        }
        FieldKind::Number => {
            let n: i64 = text.trim().parse().map_err(|_| odd("a whole number"))?;
            b.push(format_args!("{expr} {op} ")).push_bind(n);
        }
        FieldKind::Bool => {
            let wanted = match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return Err(odd("true or false")),
            };
            b.push(format_args!("({expr}) {op} ")).push_bind(wanted);
        }
        FieldKind::Time => {
            let at =
                OffsetDateTime::parse(text.trim(), &Rfc3339).map_err(|_| odd("a time such as 2026-01-31T12:00:00Z"))?;
            b.push(format_args!("{expr} {op} ")).push_bind(at);
        }
        FieldKind::Words(known) => {
            let not = match c.op {
                Op::Is => "",
                Op::IsNot => "not ",
                _ => return Err(odd("only == and !=")),
            };
            // `PRE_RUNNING` and `preRunning` are one word
            let plain = |w: &str| w.replace('_', "").to_lowercase();
            let found = known.iter().find(|(word, _)| plain(word) == plain(text.trim()));
            // a state that nothing here is ever in
            b.push(format_args!("{not}({})", found.map_or("false", |(_, condition)| condition)));
        }
    }
    Ok(())
}

/// `metadata:key==STRING:value`, `metadata@SYSTEM:key==NUMBER:5`.
fn metadata(b: &mut Build<'_>, sql: &QuerySql, key: &str, c: &Clause) -> Result<()> {
    let (domain, key) = match key.strip_prefix('@') {
        Some(rest) => rest.split_once(':').unwrap_or((rest, "")),
        None => ("GENERAL", key.strip_prefix(':').unwrap_or("")),
    };
    if !sql.metadata || key.is_empty() {
        return Err(Error::BadRequest("Metadata is asked for as metadata:key==STRING:value.".into()));
    }
    let text = c.value.text();
    let (kind, value) = match text.split_once(':').map(|(kind, value)| (MetaType::parse(&kind.to_lowercase()), value)) {
        Some((Some(kind), value)) => (kind, value.to_owned()),
        _ => (MetaType::String, text),
    };
    if value.contains('\0') || key.contains('\0') {
        return Err(Error::BadRequest("Metadata has no such character.".into()));
    }
    // in the form that it is kept in: `007` is the number 7, and a time is that time in any zone
    let value = match c.value.has_stars() {
        true => value,
        false => kind.canonical(&value).map_err(|why| {
            let shown: String = value.chars().take(64).collect();
            Error::BadRequest(format!("The metadata {key} is asked for with “{shown}”. {why}"))
        })?,
    };
    b.push(if c.op == Op::IsNot { "not " } else { "" });
    b.push("exists (select from metadata m where m.object_id = t.id and m.domain = ");
    b.push_bind(domain.to_lowercase()).push(" and m.visibility <> 'private' and m.key = ").push_bind(key.to_owned());
    b.push(" and m.type = ").push_bind(kind.key());
    match (c.value.has_stars(), c.op) {
        (true, _) => {
            let pattern = c.value.pattern();
            let pattern = pattern.split_once(':').map_or(pattern.clone(), |(_, p)| p.to_owned());
            b.push(" and m.value like ").push_bind(pattern);
        }
        (false, Op::Is | Op::IsNot) => {
            b.push(" and m.value = ").push_bind(value);
        }
        // a cast is safe under its type alone, and conditions have no order
        (false, op) => {
            let cast = match kind {
                MetaType::Number => "bigint",
                MetaType::DateTime => "timestamptz",
                MetaType::String | MetaType::Boolean => "text",
            };
            b.push(format_args!(" and case when m.type = '{}' then m.value::{cast} {} ", kind.key(), op.sql()));
            b.push_bind(value).push(format_args!("::{cast} end"));
        }
    }
    b.push(")");
    Ok(())
}
