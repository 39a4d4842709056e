//! Keyset pages. The shape of a list's SQL is put together here from constants; what people type is always bound.
use crate::{Store, constraint::mapped};
use model::{
    Action, OrgId, Result, RoleId, UserId,
    decide::Scope,
    list::{COUNT_TO, Cursor, ListQuery, MAX_LIMIT, ORGANIZATION, Page, Total},
};
use sqlx::{FromRow, Postgres, QueryBuilder, postgres::PgRow};
use uuid::Uuid;

/// How one noun is listed. `t` is the alias of its table.
pub(crate) struct ListSql {
    pub columns: &'static str,
    pub from: &'static str,
    /// The joins that filters and search need, for counting. Left joins: PostgreSQL leaves out those that nothing asks for.
    pub count_from: &'static str,
    /// What always holds, as `t.deleted_at is null`.
    pub living: &'static str,
    pub sorts: &'static [Sort],
    /// Expressions that search looks into.
    pub search: &'static [&'static str],
    /// The column with an action's key, found by the words people read for it; empty without one.
    pub action: &'static str,
    /// The columns of organization and owner, for the scope. Where a column is not enough, a condition with `{}` for the
    /// organization, and `{user}`, `{org}` and `{role}` for whoever owns.
    pub org: &'static str,
    pub owner: &'static str,
}

pub(crate) struct Sort {
    pub key: &'static str,
    pub expr: &'static str,
    /// The SQL type a cursor's value is cast to.
    pub cast: &'static str,
}

pub(crate) const fn sort(key: &'static str, expr: &'static str, cast: &'static str) -> Sort {
    Sort { key, expr, cast }
}

/// Columns that say whether the thing a row is about, and its organization (joined as `o`), are still there.
macro_rules! living_columns {
    () => {
        ", case t.object_kind
             when 'org' then exists (select from organizations x where x.id = t.object_id and x.deleted_at is null)
             when 'user' then exists (select from users x where x.id = t.object_id and x.deleted_at is null)
             when 'session' then exists (select from users x where x.id = t.object_id and x.deleted_at is null)
             when 'role' then exists (select from roles x where x.id = t.object_id and x.deleted_at is null)
             when 'vdc' then exists (select from vdcs x where x.id = t.object_id and x.deleted_at is null)
             when 'vapp' then exists (select from vapps x where x.id = t.object_id and x.gone_at is null)
             when 'vm' then exists (select from vms x where x.id = t.object_id and x.gone_at is null)
             when 'network' then exists (select from networks x where x.id = t.object_id and x.gone_at is null and x.vapp_id is null)
             when 'disk' then exists (select from disks x where x.id = t.object_id and x.gone_at is null)
             when 'storageprofile' then exists (select from storage_policies x where x.id = t.object_id and x.deleted_at is null)
             when 'catalog' then exists (select from catalogs x where x.id = t.object_id and x.deleted_at is null)
             when 'hub' then exists (select from hubs x where x.uid = t.object_id)
             else false
           end as object_lives, o.id is not null and o.deleted_at is null as org_lives"
    };
}
pub(crate) use living_columns;

/// Is the thing that a row is about a disc of a catalog? Rows say of templates and discs alike that they are templates.
macro_rules! medium_column {
    () => {
        ", t.object_kind = 'vapptemplate' and exists (select from templates x where x.id = t.object_id and x.kind = 'media') as medium"
    };
}
pub(crate) use medium_column;

pub(crate) type Build<'q> = QueryBuilder<'q, Postgres>;

/// Adds a filter's condition: the filter's key and the value asked for.
pub(crate) type FilterSql = for<'q> fn(&mut Build<'q>, &str, &str);

/// The filter every list of happenings has.
pub(crate) fn since(b: &mut Build<'_>, column: &str, value: &str) {
    let interval = match value {
        "hour" => "1 hour",
        "day" => "24 hours",
        "week" => "7 days",
        _ => "30 days",
    };
    b.push(format_args!(" and {column} > now() - interval '{interval}'"));
}

#[derive(FromRow)]
struct Keyed<Inner> {
    #[sqlx(flatten)]
    row: Inner,
    cursor_value: String,
    cursor_id: Uuid,
}

impl Store {
    pub(crate) async fn page<R, T>(
        &self,
        sql: &ListSql,
        scope: Scope,
        q: &ListQuery,
        filter: FilterSql,
        read: fn(R) -> Result<T>,
    ) -> Result<Page<T>>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let by = sql.sorts.iter().find(|s| s.key == q.sort).unwrap_or(&sql.sorts[0]);
        let back = q.cursor.as_ref().is_some_and(|c| c.back);
        let descending = q.descending != back;

        let mut b = Build::new(format!(
            "select {}, ({})::text as cursor_value, t.id as cursor_id from {}",
            sql.columns, by.expr, sql.from
        ));
        conditions(&mut b, sql, scope, q, filter);
        if let Some(c) = &q.cursor {
            let sign = if descending { "<" } else { ">" };
            b.push(format_args!(" and ({}, t.id) {sign} (", by.expr));
            b.push_bind(c.value.clone()).push(format_args!("::{}, ", by.cast)).push_bind(c.id).push(")");
        }
        let way = if descending { "desc" } else { "asc" };
        b.push(format_args!(" order by {} {way}, t.id {way} limit {}", by.expr, q.limit + 1));
        // what is read whole, as into a file, is not counted for every part of it
        let count = async {
            match q.limit > MAX_LIMIT {
                true => Ok(Total { rows: 0, more: true }),
                false => self.count(sql, scope, q, filter).await,
            }
        };
        let (rows, total) = tokio::join!(b.build_query_as().fetch_all(&self.pool), count);
        let mut rows: Vec<Keyed<R>> = match rows {
            Ok(rows) => rows,
            // a cursor whose value does not fit the sort it is used with
            Err(sqlx::Error::Database(e)) if q.cursor.is_some() && e.code().is_some_and(|c| c.starts_with("22")) => {
                return Err(model::Error::BadRequest(
                    "That page's address is damaged. Go to the first page of the list.".into(),
                ));
            }
            Err(e) => return Err(mapped(e)),
        };
        let more = rows.len() > q.limit as usize;
        rows.truncate(q.limit as usize);
        if back {
            rows.reverse();
        }
        let at =
            |r: Option<&Keyed<R>>, back| r.map(|r| Cursor { back, value: r.cursor_value.clone(), id: r.cursor_id });
        let before = if if back { more } else { q.cursor.is_some() } { at(rows.first(), true) } else { None };
        let after = if back || more { at(rows.last(), false) } else { None };
        let items = rows.into_iter().map(|k| read(k.row)).collect::<Result<_>>()?;
        Ok(Page { items, total: total?, before, after })
    }

    /// A few rows without paging: `more` adds conditions, the order and the limit.
    pub(crate) async fn few<R, T>(
        &self,
        sql: &ListSql,
        scope: Scope,
        more: impl FnOnce(&mut Build<'_>),
        read: fn(R) -> Result<T>,
    ) -> Result<Vec<T>>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let mut b = Build::new(format!("select {} from {} where {}", sql.columns, sql.from, sql.living));
        sql.within(&mut b, scope);
        more(&mut b);
        let rows: Vec<R> = b.build_query_as().fetch_all(&self.pool).await.map_err(mapped)?;
        rows.into_iter().map(read).collect()
    }

    /// Ids and names of all that fit, by name: for lists of references.
    pub(crate) async fn named(
        &self,
        sql: &ListSql,
        scope: Scope,
        more: impl FnOnce(&mut Build<'_>),
    ) -> Result<Vec<(Uuid, String)>> {
        let mut b = Build::new(format!("select t.id, t.name from {} where {}", sql.count_from, sql.living));
        sql.within(&mut b, scope);
        more(&mut b);
        b.push(" order by lower(t.name), t.id");
        b.build_query_as().fetch_all(&self.pool).await.map_err(mapped)
    }

    async fn count(&self, sql: &ListSql, scope: Scope, q: &ListQuery, filter: FilterSql) -> Result<Total> {
        let mut asked = Build::new("");
        conditions(&mut asked, sql, scope, q, filter);
        let mut b = Build::new(format!("select count(*) from (select 1 from {}", needed(sql.count_from, asked.sql())));
        conditions(&mut b, sql, scope, q, filter);
        b.push(format_args!(" limit {}) as c", COUNT_TO + 1));
        let rows: i64 = b.build_query_scalar().fetch_one(&self.pool).await.map_err(mapped)?;
        Ok(Total { rows: rows.min(COUNT_TO), more: rows > COUNT_TO })
    }
}

/// These tables without those that nothing asks for. PostgreSQL leaves them out by itself, and reads whole rows all the same
/// where an index would do.
pub(crate) fn needed(from: &str, asked: &str) -> String {
    // only what is plainly one table after the other is taken apart
    if from.contains('(') {
        return from.to_owned();
    }
    let mut asks = asked.to_owned();
    let Some((first, joined)) = from.split_once(" left join ") else { return from.to_owned() };
    let mut kept: Vec<&str> = Vec::new();
    // one may be joined by way of another before it
    for table in joined.rsplit(" left join ") {
        if names(&asks, table.split(' ').nth(1).unwrap_or_default()) {
            asks.push_str(table);
            kept.push(table);
        }
    }
    kept.iter().rev().fold(first.to_owned(), |from, table| format!("{from} left join {table}"))
}

/// Does the text speak of that table: `a.name`, and not `data.name`?
fn names(sql: &str, alias: &str) -> bool {
    let column = format!("{alias}.");
    sql.match_indices(&column).any(|(at, _)| !sql[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

impl ListSql {
    /// What lists show, and one condition more, to count by.
    pub(crate) fn living_and(&self, condition: &str) -> String {
        format!(" and {}{condition}", self.living)
    }

    /// The beginning of a query for one of them; a condition on `t` follows.
    pub(crate) fn one<'q>(&self) -> Build<'q> {
        Build::new(format!("select {} from {} where {} and ", self.columns, self.from, self.living))
    }

    /// Keeps to what somebody may see.
    pub(crate) fn within(&self, b: &mut Build<'_>, scope: Scope) {
        match scope {
            Scope::All => {}
            Scope::Org(org) => self.of_org(b, org),
            Scope::Own(org, user, role) => {
                self.of_org(b, org);
                owned(b, self.owner, (org, user, role));
            }
        }
    }
}

/// What somebody owns, or is given: by a column, or by a condition with `{user}`, `{org}` and `{role}` in it.
pub(crate) fn owned(b: &mut Build<'_>, owner: &str, (org, user, role): (OrgId, UserId, RoleId)) {
    b.push(" and (");
    if !owner.contains('{') {
        b.push(owner).push(" = ").push_bind(user.0);
    } else {
        for part in owner.split_inclusive('}') {
            let Some((before, who)) = part.split_once('{') else {
                b.push(part);
                continue;
            };
            b.push(before).push_bind(match who {
                "org}" => org.0,
                "role}" => role.0,
                _ => user.0,
            });
        }
    }
    b.push(")");
}

impl ListSql {
    fn of_org(&self, b: &mut Build<'_>, org: OrgId) {
        b.push(" and (");
        match self.org.split_once("{}") {
            None => {
                b.push(self.org).push(" = ").push_bind(org.0);
            }
            Some((first, rest)) => {
                b.push(first).push_bind(org.0);
                for (i, part) in rest.split("{}").enumerate() {
                    if i > 0 {
                        b.push_bind(org.0);
                    }
                    b.push(part);
                }
            }
        }
        b.push(")");
    }
}

fn conditions(b: &mut Build<'_>, sql: &ListSql, scope: Scope, q: &ListQuery, filter: FilterSql) {
    b.push(format_args!(" where {}", sql.living));
    sql.within(b, scope);
    if !q.search.is_empty() {
        let text = bare_id(&q.search);
        let pattern = format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        b.push(" and (");
        for (i, expr) in sql.search.iter().enumerate() {
            b.push(format_args!("{}{expr} ilike ", if i > 0 { " or " } else { "" })).push_bind(pattern.clone());
        }
        if !sql.action.is_empty() {
            b.push(format_args!(" or {} = any(", sql.action)).push_bind(actions_called(text)).push(")");
        }
        b.push(")");
    }
    for (key, value) in &q.filters {
        if *key == ORGANIZATION.key {
            b.push(" and t.org_id in (select id from organizations where lower(name) = lower(");
            b.push_bind(value.clone()).push("))");
        } else {
            filter(b, key, value);
        }
    }
}

/// Ids are shown and copied as URNs, and stored bare.
fn bare_id(text: &str) -> &str {
    match text.strip_prefix("urn:vcloud:").and_then(|rest| rest.split_once(':')) {
        Some((_, id)) => id,
        None => text,
    }
}

/// The keys of actions by the words that people read: "created vdc", "sign in", or the key itself.
fn actions_called(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let called = |words: &str| words.to_lowercase().contains(&text);
    let found = Action::ALL.iter().filter(|a| called(a.past()) || called(a.phrase()) || called(a.key()));
    found.map(|a| a.key()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_found_by_what_people_read() {
        assert_eq!(actions_called("Created VDC"), ["vdc.create"]);
        assert_eq!(actions_called("vdc.ed"), ["vdc.edit"]);
        assert!(actions_called("sign").contains(&"session.sign_in"));
        assert!(actions_called("acme").is_empty());
        assert_eq!(bare_id("urn:vcloud:vdc:0192"), "0192");
        assert_eq!(bare_id("urn:x"), "urn:x");
    }
}
