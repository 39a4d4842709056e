//! The audit in both portals: who did what, and beside the list the chosen entry with what it changed.
use crate::{
    parts::*,
    portal::{Csv, ListView, Place, Routes, Sheet, Visit, object_link, org_link},
    shell::Crumb,
};
use domain::audit;
use leptos::prelude::*;
use model::{
    Action, AuditId, Error, Kind, RIGHTS_APART, Result,
    audit::{AuditEntry, FieldChange, Outcome},
    list::{AUDIT, ListQuery},
};

const ON: &str = "Audit";

pub fn routes(r: Routes) -> Routes {
    r.both("/audit", list).both_csv("/audit.csv", csv)
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&AUDIT)?;
    let page = audit::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let chosen = chosen(&visit).await?;
    let view = ListView::new(&visit, &AUDIT, query, &page);
    let mut heads = vec![view.head("time", "Time (UTC)"), Head::new("Who"), Head::new("What"), Head::new("Object")];
    if visit.place == Place::Provider {
        heads.push(Head::new("Organization"));
    }
    heads.push(Head::new("Result"));
    let at = chosen.as_ref().map(|e| e.id);
    let rows = page.items.iter().map(|e| row(&visit, e, at == Some(e.id))).collect_view();
    let acts = view.csv_button().into_any();
    let body = view! {
        <PageHead title=ON sub=view.count() acts />
        {view.filters("the audit", "Who, what, object, id, address")}
        {if view.is_unused() {
            view! {
                <Empty title="Nothing is recorded yet">
                    "Every change and every refusal is written down here, with who, from where, and what it changed."
                </Empty>
            }
                .into_any()
        } else if view.is_empty() {
            view! { <Empty title="No entry fits">"Search for something else, or take a filter away."</Empty> }
                .into_any()
        } else {
            view! {
                <Table caption="Audit entries, newest first" heads kind=TableKind::Tight list=true>
                    {rows}
                </Table>
            }
                .into_any()
        }}
        {view.pager()}
    }
    .into_any();
    let sheet = Sheet::new(ON, ON, vec![Crumb::here(ON)], body);
    Ok(match chosen {
        Some(e) => sheet.margin(margin(&visit, &e)),
        None => sheet,
    })
}

/// The entry that the address names.
async fn chosen(visit: &Visit) -> Result<Option<AuditEntry>> {
    let id = visit.ask.query("entry");
    if id.is_empty() {
        return Ok(None);
    }
    let id: AuditId = id.parse().map_err(|_| Error::NotFound(Kind::Audit))?;
    audit::get(visit.domain(), &visit.actor, visit.org(), id).await.map(Some)
}

/// The same page of the list with this entry beside it; on a phone, where it stands below, the browser goes there.
fn entry_href(visit: &Visit, id: AuditId) -> String {
    let here = Query::new(visit.ask.path.clone(), visit.ask.query.clone());
    format!("{}#margin", here.with("entry", &id.to_string()).href())
}

fn row(visit: &Visit, e: &AuditEntry, chosen: bool) -> impl IntoView + use<> {
    let object = object_link(visit, &e.object_kind, e.object_id, &e.object_name, e.object_lives);
    let org = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, e.org, &e.org_name, e.org_lives);
        view! { <Cell label="Organization" wraps=true>{org}</Cell> }
    });
    let (who, at, now, result) = (e.user_name.clone(), e.created_at, visit.now, result(e.outcome, ""));
    let cells = view! {
        <Cell label="Time">
            <Clock at now />
        </Cell>
        <Cell label="Who" wraps=true>{who}</Cell>
        <NameCell name=e.what() href=entry_href(visit, e.id) />
        <Cell label="Object" wraps=true>{object}</Cell>
        {org}
        <StateCell>{result}</StateCell>
    };
    view! {
        <Row id=format!("audit-{}", e.id) chosen>
            {cells}
        </Row>
    }
}

/// "acme-admin created VDC", "acme-user tried to delete a VDC".
fn title(e: &AuditEntry) -> String {
    let what = match Action::parse(&e.action) {
        Some(a) if e.outcome == Outcome::Done => {
            let past = a.past();
            format!("{}{}", past[..1].to_lowercase(), &past[1..])
        }
        Some(a) => format!("tried to {}", a.phrase()),
        None => e.action.clone(),
    };
    format!("{} {what}", e.user_name)
}

fn result(outcome: Outcome, why: &str) -> impl IntoView + use<> {
    let (shape, tone) = match outcome {
        Outcome::Done => (Shape::Done, Tone::Ok),
        Outcome::Refused => (Shape::Barred, Tone::Warn),
        Outcome::Failed => (Shape::Diamond, Tone::Bad),
    };
    view! { <Badge shape tone word=outcome.label() more=why.to_owned() /> }
}

fn margin(visit: &Visit, e: &AuditEntry) -> AnyView {
    // who signs in is not named twice
    let object = (e.object_name != e.user_name)
        .then(|| object_link(visit, &e.object_kind, e.object_id, &e.object_name, e.object_lives));
    let (title, at) = (title(e), e.created_at);
    let close = Query::new(visit.ask.path.clone(), visit.ask.query.clone()).without(&["entry"]).href();
    let mut rows: Vec<DiffRow> = e.changes.iter().filter(|c| differs(c)).flat_map(diff_rows).collect();
    rows.sort_by_key(|row| row.name != "name");
    let changed = (!rows.is_empty()).then(|| {
        view! {
            <section>
                <h2>"What changed"</h2>
                <Diff rows />
            </section>
        }
    });
    let reason = (!e.reason.is_empty()).then(|| {
        let (tone, text) = (if e.outcome == Outcome::Failed { Tone::Bad } else { Tone::Warn }, e.reason.clone());
        view! { <Note tone>{text}</Note> }
    });
    let how = how(visit, e);
    view! {
        <section class="entry">
            <h2>{title} " " {object}</h2>
            <a class="btn icon quiet" href=close aria-label="Close this entry">
                <Icon name=Icon::Close />
            </a>
            <p>
                <Exact at />
            </p>
            {reason}
        </section>
        {changed}
        <section>
            <h2>"How"</h2>
            <Facts>{how}</Facts>
        </section>
    }
    .into_any()
}

/// An empty field that was made empty is no change.
fn differs(c: &FieldChange) -> bool {
    c.before.as_deref().unwrap_or_default() != c.after.as_deref().unwrap_or_default()
}

/// A field before and after; of a role's rights those that came and went.
fn diff_rows(c: &FieldChange) -> Vec<DiffRow> {
    if c.field == "rights" {
        return right_rows(c);
    }
    let name = match c.field.as_str() {
        "cpu_limit" => "CPU limit".to_owned(),
        "vdc_limit" => "VDC limit".to_owned(),
        "vm_limit" => "VM limit".to_owned(),
        other => other.replace('_', " "),
    };
    vec![DiffRow { name, before: c.before.clone(), after: c.after.clone() }]
}

fn right_rows(c: &FieldChange) -> Vec<DiffRow> {
    let list = |side: &Option<String>| -> Vec<String> {
        side.iter().flat_map(|names| names.split(RIGHTS_APART)).map(str::to_owned).collect()
    };
    let (before, after) = (list(&c.before), list(&c.after));
    let gone = before.iter().filter(|right| !after.contains(right));
    let came = after.iter().filter(|right| !before.contains(right));
    let row = |before: Option<&String>, after: Option<&String>| DiffRow {
        name: "right".into(),
        before: before.cloned(),
        after: after.cloned(),
    };
    gone.map(|right| row(Some(right), None)).chain(came.map(|right| row(None, Some(right)))).collect()
}

fn how(visit: &Visit, e: &AuditEntry) -> impl IntoView + use<> {
    let through = if e.address.is_empty() { e.via.clone() } else { format!("{}, from {}", e.via, e.address) };
    let result = result(e.outcome, "");
    let who = if e.user_org.is_empty() { e.user_name.clone() } else { format!("{} of {}", e.user_name, e.user_org) };
    let org = (visit.place == Place::Provider && e.org.is_some()).then(|| {
        let org = org_link(visit, e.org, &e.org_name, e.org_lives);
        view! { <Fact name="Record of">{org}</Fact> }
    });
    let right = (!e.right_used.is_empty()).then(|| {
        let right = e.right_used.clone();
        view! { <Fact name="Right used">{right}</Fact> }
    });
    let copied = |name: &'static str, what: &'static str, value: String| {
        let show = short(&value);
        view! {
            <Fact name>
                <Copy value what show />
            </Fact>
        }
    };
    let request = (!e.request_id.is_empty()).then(|| copied("Request", "request id", e.request_id.clone()));
    let object = e.object_id.map(|id| copied("Object", "object id", id.to_string()));
    view! {
        <Fact name="Result">{result}</Fact>
        <Fact name="Who">{who}</Fact>
        <Fact name="Through">{through}</Fact>
        {right}
        {org}
        {request}
        {object}
        {copied("Entry", "entry id", e.id.to_string())}
    }
}

async fn csv(visit: Visit) -> Result<Csv> {
    let heads = [
        "id",
        "time",
        "organization",
        "user",
        "user_organization",
        "action",
        "right_used",
        "object_kind",
        "object_id",
        "object",
        "result",
        "reason",
        "changes",
        "via",
        "address",
        "request_id",
    ];
    let list = async |visit: Visit, q: ListQuery| audit::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("audit", &heads).rows(visit, &AUDIT, list, cells).await
}

fn cells(e: AuditEntry) -> [String; 16] {
    let changes: Vec<String> = e.changes.iter().filter(|c| differs(c)).map(in_words).collect();
    [
        e.id.urn(),
        machine(e.created_at),
        e.org_name,
        e.user_name,
        e.user_org,
        e.action,
        e.right_used,
        e.object_kind,
        e.object_id.map(|id| id.to_string()).unwrap_or_default(),
        e.object_name,
        e.outcome.key().to_owned(),
        e.reason,
        changes.join("; "),
        e.via,
        e.address,
        e.request_id,
    ]
}

/// "memory_limit: 64 GB → 112 GB".
fn in_words(c: &FieldChange) -> String {
    let value = |v: &Option<String>| v.clone().unwrap_or_default();
    format!("{}: {} → {}", c.field, value(&c.before), value(&c.after))
}
