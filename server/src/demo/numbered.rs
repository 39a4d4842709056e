//! One numbered organization as rows: its users, two VDCs, and a history that leads to what they are now.

use super::{rows::Rows, seed::limits};
use model::{
    Action, Fields, Kind, TaskId,
    audit::Outcome,
    name::namespace_name,
    org::{Leases, OrgSpec},
    quota::{Limits, Measure},
    role::Predefined,
    task::TaskStatus,
    vdc::{AllocationModel, VdcSpec},
};
use time::{Duration, OffsetDateTime};
use uuid::{NoContext, Timestamp, Uuid};

const HAPPENINGS: u32 = 20;
/// The oldest organization, before now.
const OLDEST: Duration = Duration::days(90);

/// The name, and what comes before the `@` of the address.
const PEOPLE: [(&str, Predefined); 5] = [
    ("admin", Predefined::OrganizationAdministrator),
    ("catalog", Predefined::CatalogAuthor),
    ("author", Predefined::VappAuthor),
    ("user", Predefined::VappUser),
    ("console", Predefined::ConsoleAccessOnly),
];
const FIRST: [&str; 12] =
    ["Anna", "Ben", "Clara", "David", "Emma", "Farid", "Greta", "Hugo", "Ines", "Jan", "Kira", "Luis"];
const LAST: [&str; 11] =
    ["Adler", "Brandt", "Costa", "Dahl", "Ek", "Fuchs", "Garcia", "Holm", "Ito", "Jensen", "Keller"];

/// The same for all organizations.
pub(super) struct Context<'a> {
    pub(super) now: OffsetDateTime,
    pub(super) password_hash: &'a str,
}

#[derive(Default)]
pub(super) struct Tables {
    orgs: Rows,
    users: Rows,
    vdcs: Rows,
    tasks: Rows,
    events: Rows,
    audit: Rows,
}

impl Tables {
    /// In the order in which they refer to each other.
    pub(super) fn into_copies(self) -> [(&'static str, String); 6] {
        [
            (
                "organizations (id, name, display_name, description, vdc_limit, vm_limit, cpu_limit, memory_limit_mb, \
                 storage_limit_mb, storage_lease_s, version, created_at, updated_at, updated_by)",
                self.orgs.text,
            ),
            (
                "users (id, org_id, role_id, name, full_name, email, password_hash, created_at, updated_at, updated_by)",
                self.users.text,
            ),
            (
                "vdcs (id, org_id, name, namespace_name, allocation_model, enabled, vm_limit, cpu_limit, memory_limit_mb, \
                 storage_limit_mb, version, created_at, updated_at, updated_by)",
                self.vdcs.text,
            ),
            (
                "tasks (id, org_id, user_id, user_name, operation, object_kind, object_id, object_name, status, progress, \
                 message, request_id, started_at, ended_at, deadline)",
                self.tasks.text,
            ),
            (
                "events (id, tx, org_id, user_id, user_name, kind, object_kind, object_id, object_name, message, request_id, \
                 created_at)",
                self.events.text,
            ),
            (
                "audit (id, org_id, user_id, user_name, user_org, action, right_used, object_kind, object_id, object_name, \
                 result, reason, before, after, via, address, request_id, created_at)",
                self.audit.text,
            ),
        ]
    }
}

/// An organization or VDC on its way through the history.
struct Thing<S> {
    id: Uuid,
    spec: S,
    version: i64,
    enabled: bool,
    changed: OffsetDateTime,
}

impl<S> Thing<S> {
    fn new(at: OffsetDateTime, spec: S) -> Thing<S> {
        Thing { id: id_at(at), spec, version: 1, enabled: true, changed: at }
    }

    fn touch(&mut self, at: OffsetDateTime) {
        self.version += 1;
        self.changed = at;
    }
}

struct Person {
    id: Option<Uuid>,
    name: String,
    org: String,
}

/// What was done to what.
struct Deed {
    action: Action,
    id: Uuid,
    name: String,
    before: Option<String>,
    after: Option<String>,
}

pub(super) fn numbered_org(context: &Context<'_>, number: u32, tables: &mut Tables) {
    let name = format!("org-{number:06}");
    let born = context.now - OLDEST + (OLDEST / 2) * (f64::from(mixed(number, 0) % 1000) / 1000.0);
    let step = (context.now - born) / f64::from(HAPPENINGS);
    let spec = OrgSpec {
        name: name.clone(),
        display_name: format!("Organization {number}"),
        description: "Made for benchmarks.".into(),
        vdc_limit: Some(5),
        limits: limits(100, 128, 512, 10_000),
        leases: Leases { storage_s: Some(30 * 86_400), ..Leases::default() },
        ..OrgSpec::default()
    };
    let vdc = |kind: &str, allocation_model, limits| VdcSpec {
        name: format!("{name}-{kind}"),
        description: String::new(),
        allocation_model,
        limits,
        ..VdcSpec::default()
    };
    let mut org = Thing::new(born, spec);
    let mut vdcs = [
        Thing::new(born + step, vdc("prod", AllocationModel::AllocationPool, limits(40, 32, 128, 2000))),
        Thing::new(born + step * 2, vdc("dev", AllocationModel::PayAsYouGo, limits(20, 16, 64, 500))),
    ];
    let admin = people(context, number, org.id, &name, born, &mut tables.users);
    let operator = Person { id: None, name: "operator".into(), org: model::org::PROVIDER.into() };

    for turn in 0..HAPPENINGS {
        // within its share of the time, so that they stay in order
        let late = f64::from(mixed(number, turn) % 1000) / 1250.0;
        let at = if turn < 3 { born + step * turn } else { born + step * (f64::from(turn) + late) };
        let who = if turn == 0 { &operator } else { &admin };
        let fails = turn > 3 && mixed(number, turn).is_multiple_of(29);
        // after the first three each organization is at another point of the round
        let deed = deed(if turn < 3 { turn } else { turn + number % 5 }, at, fails, &mut org, &mut vdcs);
        record(&Happening { org: org.id, number, turn, at, who, deed, fails }, tables);
    }
    org_row(&org, born, &mut tables.orgs);
    for (vdc, made) in vdcs.iter().zip([1, 2]) {
        vdc_row(&org, vdc, born + step * made, &admin.name, &mut tables.vdcs);
    }
}

/// What happens: at first things are made, then changed, round and round. What fails changes nothing.
fn deed(turn: u32, at: OffsetDateTime, fails: bool, org: &mut Thing<OrgSpec>, vdcs: &mut [Thing<VdcSpec>; 2]) -> Deed {
    let [prod, dev] = vdcs;
    match turn {
        0 => made(Action::OrgCreate, org.id, &org.spec.name, &org.spec),
        1 => made(Action::VdcCreate, prod.id, &prod.spec.name, &prod.spec),
        2 => made(Action::VdcCreate, dev.id, &dev.spec.name, &dev.spec),
        _ => match turn % 5 {
            0 => edited(Action::OrgEdit, org, at, fails, |s| {
                s.leases.storage_s = s.leases.storage_s.map(|lease| lease + 86_400);
                &s.name
            }),
            1 => edited(Action::VdcEdit, prod, at, fails, |s| {
                s.limits.memory_mb = s.limits.memory_mb.map(|limit| limit + 8 * 1024);
                &s.name
            }),
            2 => edited(Action::VdcEdit, dev, at, fails, |s| {
                s.limits.cpus = s.limits.cpus.map(|limit| limit + 2);
                &s.name
            }),
            _ => {
                let enable = !dev.enabled;
                if !fails {
                    dev.enabled = enable;
                    dev.touch(at);
                }
                let action = if enable { Action::VdcEnable } else { Action::VdcDisable };
                Deed { action, id: dev.id, name: dev.spec.name.clone(), before: None, after: None }
            }
        },
    }
}

fn made(action: Action, id: Uuid, name: &str, spec: &impl Fields) -> Deed {
    Deed { action, id, name: name.to_owned(), before: None, after: Some(json(spec)) }
}

/// `change` also tells the name.
fn edited<S: Fields + Clone>(
    action: Action,
    thing: &mut Thing<S>,
    at: OffsetDateTime,
    fails: bool,
    change: fn(&mut S) -> &str,
) -> Deed {
    let mut spec = thing.spec.clone();
    let name = change(&mut spec).to_owned();
    if fails {
        return Deed { action, id: thing.id, name, before: None, after: None };
    }
    let (before, after) = (json(&thing.spec), json(&spec));
    thing.spec = spec;
    thing.touch(at);
    Deed { action, id: thing.id, name, before: Some(before), after: Some(after) }
}

fn json(thing: &impl Fields) -> String {
    let fields: serde_json::Map<_, _> = thing.fields().into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect();
    serde_json::Value::Object(fields).to_string()
}

struct Happening<'a> {
    org: Uuid,
    number: u32,
    turn: u32,
    at: OffsetDateTime,
    who: &'a Person,
    deed: Deed,
    fails: bool,
}

/// The task, the event and the audit's row of one happening.
fn record(h: &Happening<'_>, tables: &mut Tables) {
    let Deed { action, id, name, before, after } = &h.deed;
    let (kind, request): (Kind, Uuid) = (action.kind(), id_at(h.at));
    let why = if h.fails { "The database did not answer in time. Nothing was changed; try again." } else { "" };
    let (status, outcome) =
        if h.fails { (TaskStatus::Error, Outcome::Failed) } else { (TaskStatus::Success, Outcome::Done) };
    let took = Duration::milliseconds(40 + i64::from(mixed(h.turn, h.number) % 3000));
    let t = &mut tables.tasks;
    t.value(TaskId(id_at(h.at))).value(h.org).maybe(h.who.id).value(&h.who.name).value(action.key());
    t.value(kind.key()).value(id).value(name).value(status.key()).maybe((!h.fails).then_some(100));
    t.value(why).value(request).time(h.at).time(h.at + took).time(h.at + Duration::hours(1)).end();

    let message =
        if h.fails { format!("Could not {}: {name}", action.phrase()) } else { format!("{} {name}", action.past()) };
    let e = &mut tables.events;
    // 3 is PostgreSQL's first transaction: long past for those who wait for news, so that they are not told
    e.value(id_at(h.at)).value(3).value(h.org).maybe(h.who.id).value(&h.who.name).value(action.key());
    e.value(kind.key()).value(id).value(name).value(message).value(request).time(h.at).end();

    let (via, address) = match h.who.id {
        None => (model::Via::CommandLine, String::new()),
        Some(_) => (model::Via::Portal, format!("192.0.2.{}", 1 + h.number % 250)),
    };
    let a = &mut tables.audit;
    a.value(id_at(h.at)).value(h.org).maybe(h.who.id).value(&h.who.name).value(&h.who.org).value(action.key());
    a.value(action.right().map_or("", |r| r.name())).value(kind.key()).value(id).value(name).value(outcome.key());
    a.value(why).maybe(before.as_ref()).maybe(after.as_ref()).value(via.key()).value(address).value(request);
    a.time(h.at).end();
}

/// The users' rows. The first of them, who does what happens later, is returned.
fn people(context: &Context<'_>, number: u32, org: Uuid, name: &str, born: OffsetDateTime, rows: &mut Rows) -> Person {
    let mut admin = None;
    for (word, role) in PEOPLE {
        let id = id_at(born);
        admin.get_or_insert(id);
        let mix = mixed(number, role as u32) as usize;
        let full_name = format!("{} {}", FIRST[mix % FIRST.len()], LAST[mix / 16 % LAST.len()]);
        rows.value(id).value(org).value(role.id()).value(format_args!("{name}-{word}")).value(full_name);
        rows.value(format_args!("{word}@{name}.example")).value(context.password_hash);
        rows.time(born).time(born).value("operator").end();
    }
    Person { id: admin, name: format!("{name}-{}", PEOPLE[0].0), org: name.to_owned() }
}

fn org_row(org: &Thing<OrgSpec>, born: OffsetDateTime, rows: &mut Rows) {
    let s = &org.spec;
    rows.value(org.id).value(&s.name).value(&s.display_name).value(&s.description).maybe(s.vdc_limit);
    limit_values(&s.limits, rows);
    rows.maybe(s.leases.storage_s).value(org.version).time(born).time(org.changed).value("operator").end();
}

fn vdc_row(org: &Thing<OrgSpec>, vdc: &Thing<VdcSpec>, made: OffsetDateTime, by: &str, rows: &mut Rows) {
    let s = &vdc.spec;
    let namespace = namespace_name(&org.spec.name, &s.name, vdc.id, false);
    rows.value(vdc.id).value(org.id).value(&s.name).value(namespace).value(s.allocation_model.key()).value(vdc.enabled);
    limit_values(&s.limits, rows);
    rows.value(vdc.version).time(made).time(vdc.changed).value(by).end();
}

fn limit_values(limits: &Limits, rows: &mut Rows) {
    for measure in Measure::ALL {
        rows.maybe(limits.get(measure));
    }
}

/// A new id, as of then.
fn id_at(at: OffsetDateTime) -> Uuid {
    let seconds = u64::try_from(at.unix_timestamp()).unwrap_or(0);
    Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, at.nanosecond()))
}

/// Something that looks random and is the same every time.
fn mixed(a: u32, b: u32) -> u32 {
    let x = a.wrapping_mul(0x9E37_79B1) ^ b.wrapping_add(1).wrapping_mul(0x85EB_CA77);
    (x ^ (x >> 15)).wrapping_mul(0x2C1B_3C6D) >> 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn an_organization_has_its_people_its_vdcs_and_a_history_in_order() {
        let context = Context { now: datetime!(2026-11-16 12:00 UTC), password_hash: "hash" };
        for number in [1, 7, 100_000] {
            let mut tables = Tables::default();
            numbered_org(&context, number, &mut tables);
            let copies = tables.into_copies();
            let rows = copies.each_ref().map(|(_, text)| text.lines().count());
            assert_eq!(rows, [1, 5, 2, 20, 20, 20]);
            for (table, text) in &copies {
                let columns = table.matches(',').count() + 1;
                assert!(text.lines().all(|row| row.split('\t').count() == columns), "{table}");
            }
            let times: Vec<_> = copies[5].1.lines().filter_map(|row| row.rsplit('\t').next()).collect();
            assert!(times.is_sorted() && times.last().is_some_and(|last| *last < "2026-11-16T12"), "{times:?}");
        }
    }
}
