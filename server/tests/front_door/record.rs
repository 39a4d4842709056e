//! Everything done is written down, once, with the change itself: an audit row, an event, and for some things a task.
use crate::harness::{Answer, Client, Form, PASSWORD, TestApp};
use domain::user;
use model::{
    Action, Kind, Right,
    role::Predefined::{self, *},
};
use std::collections::BTreeSet;

/// One change at the front door: what came of it, and what the records of its request say.
struct Written {
    answer: Answer,
    audit: Vec<String>,
    events: Vec<String>,
}

struct Recorder<'a> {
    app: &'a TestApp,
    seen: BTreeSet<String>,
}

impl Recorder<'_> {
    /// Sends a form. Every row that comes into being while it runs must carry the request's id.
    async fn send(&mut self, client: &Client, path: &str, form: Form<'_>) -> Written {
        let db = &self.app.db;
        let (audit, events) = (db.count("audit").await, db.count("events").await);
        let answer = client.post(path, form).await;
        let of_request = format!("where request_id = '{}'", answer.request_id());
        let keys = async |table: &str, column: &str| -> Vec<String> {
            let sql = format!("select coalesce(string_agg({column}, ' ' order by id), '') from {table} {of_request}");
            db.text(&sql).await.split_whitespace().map(str::to_owned).collect()
        };
        let written = Written { audit: keys("audit", "action").await, events: keys("events", "kind").await, answer };
        assert_eq!(db.count("audit").await - audit, written.audit.len() as i64, "{path}: audit rows of no request");
        assert_eq!(db.count("events").await - events, written.events.len() as i64, "{path}: events of no request");
        written
    }

    /// Sends a form that is accepted, and leaves exactly these behind.
    async fn done(&mut self, client: &Client, path: &str, form: Form<'_>, actions: &[Action]) -> Answer {
        let written = self.send(client, path, form).await;
        let answer = written.answer.must(303);
        let keys: Vec<&str> = actions.iter().map(|action| action.key()).collect();
        assert_eq!(written.audit, keys, "{path}");
        assert_eq!(written.events, keys, "{path}");
        let done =
            format!("audit where request_id = '{}' and result = 'done' and address = '10.0.0.7'", answer.request_id());
        assert_eq!(self.app.db.count(&done).await, keys.len() as i64, "{path}");
        self.seen.extend(written.audit);
        answer
    }
}

fn id_of(answer: &Answer) -> String {
    answer.location().rsplit('/').next().unwrap().to_owned()
}

#[tokio::test]
async fn every_change_writes_its_audit_row_and_its_event_once() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let (provider, admin) = (app.provider().await, app.sign_in("acme", "acme-admin").await);
    let mut r = Recorder { app: &app, seen: BTreeSet::new() };
    let browser = app.browser();
    let door = [("org", "acme"), ("user", "alice"), ("password", PASSWORD)];
    r.done(&browser, "/sign-in", &door, &[Action::SignIn]).await;
    r.done(&browser, "/profile/edit", &[("version", "1"), ("full_name", "Alice")], &[Action::ProfileEdit]).await;
    let password = [("old_password", PASSWORD), ("password", "staple battery horse")];
    r.done(&browser, "/profile/password", &password, &[Action::ProfilePassword]).await;
    r.done(&browser, "/profile/sessions/end", &[], &[Action::SessionEnd]).await;
    r.done(&browser, "/sign-out", &[], &[Action::SignOut]).await;

    let form = [("name", "new-org"), ("admin_name", "boss"), ("admin_password", PASSWORD)];
    let made = r.done(&provider, "/provider/organizations/new", &form, &[Action::UserCreate, Action::OrgCreate]).await;
    let org = format!("/provider/organizations/{}", id_of(&made));
    let edit = [("version", "1"), ("name", "new-org"), ("display_name", "New")];
    r.done(&provider, &format!("{org}/edit"), &edit, &[Action::OrgEdit]).await;
    r.done(&provider, &format!("{org}/disable"), &[], &[Action::OrgDisable]).await;
    r.done(&provider, &format!("{org}/enable"), &[], &[Action::OrgEnable]).await;
    r.done(&provider, &format!("{org}/disable"), &[], &[Action::OrgDisable]).await;
    r.done(&provider, &format!("{org}/delete"), &[("name", "new-org")], &[Action::OrgDelete]).await;
    let edit = [("version", "1"), ("display_name", "Acme")];
    r.done(&admin, "/tenant/acme/organization/edit", &edit, &[Action::OrgEdit]).await;

    let role = VappUser.id().to_string();
    let form = [("name", "bob"), ("password", PASSWORD), ("role", role.as_str())];
    let made = r.done(&admin, "/tenant/acme/users/new", &form, &[Action::UserCreate]).await;
    let bob = format!("/tenant/acme/users/{}", id_of(&made));
    let edit = [("version", "1"), ("name", "bob"), ("role", role.as_str()), ("full_name", "Bob")];
    r.done(&admin, &format!("{bob}/edit"), &edit, &[Action::UserEdit]).await;
    r.done(&admin, &format!("{bob}/password"), &[("password", PASSWORD)], &[Action::UserResetPassword]).await;
    r.done(&admin, &format!("{bob}/disable"), &[], &[Action::UserDisable]).await;
    r.done(&admin, &format!("{bob}/enable"), &[], &[Action::UserEnable]).await;
    r.done(&admin, &format!("{bob}/delete"), &[], &[Action::UserDelete]).await;

    let form = [("name", "Auditors"), ("rights", Right::AuditView.name())];
    let made = r.done(&admin, "/tenant/acme/roles/new", &form, &[Action::RoleCreate]).await;
    let role = format!("/tenant/acme/roles/{}", id_of(&made));
    let edit = [("version", "1"), ("name", "Inspectors"), ("rights", Right::AuditView.name())];
    r.done(&admin, &format!("{role}/edit"), &edit, &[Action::RoleEdit]).await;
    r.done(&admin, &format!("{role}/delete"), &[], &[Action::RoleDelete]).await;

    let form = [("name", "prod"), ("allocation_model", "PayAsYouGo")];
    let made = r.done(&admin, "/tenant/acme/vdcs/new", &form, &[Action::VdcCreate]).await;
    let vdc = format!("/tenant/acme/vdcs/{}", id_of(&made));
    let edit = [("version", "1"), ("name", "production"), ("allocation_model", "PayAsYouGo")];
    r.done(&admin, &format!("{vdc}/edit"), &edit, &[Action::VdcEdit]).await;
    r.done(&admin, &format!("{vdc}/disable"), &[], &[Action::VdcDisable]).await;
    r.done(&admin, &format!("{vdc}/enable"), &[], &[Action::VdcEnable]).await;
    let id = vdc.rsplit('/').next().unwrap();
    let form = [("vdc", id), ("name", "back"), ("gateway", "10.1.0.1"), ("prefix", "24")];
    let made = r.done(&admin, "/tenant/acme/networks/new", &form, &[Action::NetworkCreate]).await;
    let network = format!("/tenant/acme/networks/{}", id_of(&made));
    let edit = [("version", "1"), ("name", "side"), ("gateway", "10.1.0.1"), ("prefix", "24")];
    r.done(&admin, &format!("{network}/edit"), &edit, &[Action::NetworkEdit]).await;
    r.done(&admin, &format!("{network}/delete"), &[("name", "side")], &[Action::NetworkDelete]).await;
    // nobody works on the queue here
    app.db.execute("update networks set gone_at = now()").await;
    r.done(&admin, &format!("{vdc}/delete"), &[("name", "production")], &[Action::VdcDelete]).await;

    let form = [("name", "gold"), ("class", "fast")];
    let made = r.done(&provider, "/provider/storage/new", &form, &[Action::PolicyCreate]).await;
    let policy = format!("/provider/storage/{}", id_of(&made));
    let edit = [("version", "1"), ("name", "gold"), ("class", "faster")];
    r.done(&provider, &format!("{policy}/edit"), &edit, &[Action::PolicyEdit]).await;
    r.done(&provider, &format!("{policy}/delete"), &[], &[Action::PolicyDelete]).await;
    let vdc = app.vdc(acme.id, "disks").await.to_string();
    let default = app.db.text("select id::text from storage_policies where is_default").await;
    let form = [("policies", default.as_str()), ("default_policy", default.as_str())];
    r.done(&provider, &format!("/provider/vdcs/{vdc}/storage"), &form, &[Action::VdcStorage]).await;
    let form = [("vdc", vdc.as_str()), ("name", "data"), ("size", "1")];
    let made = r.done(&admin, "/tenant/acme/disks/new", &form, &[Action::DiskCreate]).await;
    let disk = format!("/tenant/acme/disks/{}", id_of(&made));
    let edit = [("version", "1"), ("name", "data"), ("size", "2")];
    r.done(&admin, &format!("{disk}/edit"), &edit, &[Action::DiskEdit]).await;
    let entry = [("key", "team"), ("type", "string"), ("value", "blue")];
    r.done(&admin, &format!("{disk}/metadata"), &entry, &[Action::DiskMetadata]).await;
    r.done(&admin, &format!("/tenant/acme/vdcs/{vdc}/metadata"), &entry, &[Action::VdcMetadata]).await;
    r.done(&admin, "/tenant/acme/organization/metadata", &entry, &[Action::OrgMetadata]).await;
    let form = [("vdc", vdc.as_str()), ("name", "noted"), ("gateway", "10.9.0.1"), ("prefix", "24")];
    let made = r.done(&admin, "/tenant/acme/networks/new", &form, &[Action::NetworkCreate]).await;
    let network = format!("/tenant/acme/networks/{}", id_of(&made));
    r.done(&admin, &format!("{network}/metadata"), &entry, &[Action::NetworkMetadata]).await;
    r.done(&admin, &format!("{disk}/owner"), &[("owner", "alice")], &[Action::DiskOwner]).await;
    r.done(&admin, &format!("{disk}/delete"), &[], &[Action::DiskDelete]).await;
    let form = [("name", "small"), ("cpus", "2"), ("memory", "4")];
    let made = r.done(&provider, "/provider/sizing/new", &form, &[Action::SizingCreate]).await;
    let size = id_of(&made);
    let edit = [("version", "1"), ("name", "smaller")];
    r.done(&provider, &format!("/provider/sizing/{size}/edit"), &edit, &[Action::SizingEdit]).await;
    let sizes = format!("/provider/vdcs/{vdc}/sizing");
    r.done(&provider, &sizes, &[("sizes", size.as_str())], &[Action::VdcSizing]).await;
    r.done(&provider, &sizes, &[], &[Action::VdcSizing]).await;
    r.done(&provider, &format!("/provider/sizing/{size}/delete"), &[], &[Action::SizingDelete]).await;

    // what is done at the command line is tried there; limits and hubs are part of an edit
    let of_edits = [Action::OrgEditLimits, Action::OrgChooseHubs, Action::VdcChooseHubs];
    let commands = [Action::IdpSet, Action::IdpRemove, Action::KeysRotate];
    // many at once are each given by the change of their kind: sharing.rs
    let elsewhere = [of_edits.as_slice(), &commands, &[Action::StrandedGive]].concat();
    // what needs a hub is tried with one: machines.rs, uploads.rs, affinity.rs; and tokens as programs have them: vcd/tokens.rs
    let with_hubs =
        [Kind::Hub, Kind::Catalog, Kind::Template, Kind::Vapp, Kind::Vm, Kind::AffinityRule, Kind::Task, Kind::Token];
    let here = |a: &&Action| a.changes() && !elsewhere.contains(a) && !with_hubs.contains(&a.kind());
    let all = Action::ALL.iter().filter(here).map(|a| a.key().to_owned());
    assert_eq!(r.seen, all.collect(), "a change that is not tried here");
    let of_acme = format!("audit where org_id = '{}' and user_org = 'acme'", acme.id);
    assert!(app.db.count(&of_acme).await > 15, "an organization's record is its own");
}

#[tokio::test]
async fn things_a_client_waits_for_leave_a_task() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let made =
        admin.post("/tenant/acme/vdcs/new", &[("name", "prod"), ("allocation_model", "PayAsYouGo")]).await.must(303);
    let sql = format!(
        "select operation || ' ' || status || ' ' || user_name || ' ' || object_name from tasks where org_id = '{}' and request_id = '{}'",
        acme.id,
        made.request_id()
    );
    assert_eq!(app.db.text(&sql).await, "vdc.create queued acme-admin prod");
}

#[tokio::test]
async fn the_audit_says_what_was_before_and_after_and_never_a_password() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let alice = acme.user("alice");
    let role = CatalogAuthor.id().to_string();
    let edit = [("version", "1"), ("name", "alice"), ("role", role.as_str()), ("email", "alice@example.org")];
    let answer = admin.post(&format!("/tenant/acme/users/{alice}/edit"), &edit).await.must(303);
    let row = format!(
        "audit where request_id = '{}' and before->>'role' = 'vApp User' and after->>'role' = 'Catalog Author'
         and before->>'email' = '' and after->>'email' = 'alice@example.org' and right_used = '{}'",
        answer.request_id(),
        Right::UserManage.name()
    );
    assert_eq!(app.db.count(&row).await, 1);
    let shown = admin.get("/tenant/acme/audit?kind=user").await.must(200).says("Edited user").says("alice");
    let entry = app.db.text(&format!("select id::text from audit where request_id = '{}'", answer.request_id())).await;
    shown.says("acme-admin");
    let entry = admin.get(&format!("/tenant/acme/audit?entry={entry}")).await.must(200);
    assert!(entry.body.contains(answer.request_id()), "the request's number leads from a page to its record");
    entry.says("alice@example.org").says("Catalog Author").says("10.0.0.7");

    let form = [("password", "a canary sings")];
    admin.post(&format!("/tenant/acme/users/{alice}/password"), &form).await.must(303);
    let hash = app.db.text(&format!("select password_hash from users where id = '{alice}'")).await;
    let all = app
        .db
        .text("select string_agg(a::text, ' ') || (select string_agg(e::text, ' ') from events e) from audit a")
        .await;
    assert!(!all.contains("canary") && !all.contains(&hash) && !all.contains("argon2"));
}

#[tokio::test]
async fn refusals_are_written_too_and_are_no_events() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).vdc("prod").with(|s| s.vdc_limit = Some(1)).make().await;
    let (alice, admin) = (app.sign_in("acme", "alice").await, app.sign_in("acme", "acme-admin").await);
    let mut r = Recorder { app: &app, seen: BTreeSet::new() };
    let vdc = [("name", "more"), ("allocation_model", "PayAsYouGo")];
    let target = format!("/tenant/acme/users/{}/disable", acme.admin());
    let cases: [(&Client, &str, Form<'_>, u16, Action, &str); 4] = [
        (&alice, &target, &[], 403, Action::UserDisable, Right::UserManage.name()),
        (&admin, &target, &[], 409, Action::UserDisable, "You can't disable yourself"),
        (&admin, "/tenant/acme/vdcs/new", &vdc, 409, Action::VdcCreate, "acme has 1 of 1 VDCs"),
        (
            &app.browser(),
            "/sign-in",
            &[("org", "acme"), ("user", "alice"), ("password", "x")],
            401,
            Action::SignIn,
            "wrong password",
        ),
    ];
    for (client, path, form, status, action, reason) in cases {
        let written = r.send(client, path, form).await;
        let answer = written.answer.must(status);
        assert_eq!((written.audit.as_slice(), written.events.len()), (&[action.key().to_owned()][..], 0), "{path}");
        let sql = format!("select result || ': ' || reason from audit where request_id = '{}'", answer.request_id());
        let said = app.db.text(&sql).await;
        assert!(said.starts_with("refused: ") && said.contains(reason), "{said}");
    }
}

#[tokio::test]
async fn what_was_typed_as_an_unknown_users_name_is_not_kept() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let form = [("org", "acme"), ("user", "my-secret-canary"), ("password", "acme-admin")];
    app.browser().post("/sign-in", &form).await.must(401);
    let kept = app.db.text("select string_agg(a::text, ' ') from audit a").await;
    assert!(!kept.contains("canary"), "a password in the wrong field stands in the audit: {kept}");
}

#[tokio::test]
async fn a_change_that_can_not_be_recorded_is_not_made() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let operator = app.operator().await;
    for table in ["audit", "events", "tasks"] {
        app.db.execute(&format!("alter table {table} add constraint full_disk check (false) not valid")).await;
        let form = [("name", "prod"), ("allocation_model", "PayAsYouGo")];
        admin.post("/tenant/acme/vdcs/new", &form).await.must(500).says_not("full_disk");
        if table != "tasks" {
            admin.post(&format!("/tenant/acme/users/{}/disable", acme.user("alice")), &[]).await.must(500);
        }
        app.db.execute(&format!("alter table {table} drop constraint full_disk")).await;
        assert_eq!(app.db.count("vdcs").await, 0, "{table}");
        assert!(user::get(&app.domain, &operator, acme.user("alice")).await.unwrap().enabled, "{table}");
    }
    assert_eq!(app.db.count("audit where action = 'vdc.create'").await, 0);
}

#[tokio::test]
async fn a_wrong_form_is_no_attempt() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let mut r = Recorder { app: &app, seen: BTreeSet::new() };
    let role = Predefined::VappUser.id().to_string();
    let forms: [(&str, Form<'_>, u16); 3] = [
        ("/tenant/acme/vdcs/new", &[("name", "no spaces")], 422),
        ("/tenant/acme/users/new", &[("name", "acme-admin"), ("password", PASSWORD), ("role", &role)], 409),
        ("/tenant/acme/organization/edit", &[("version", "0"), ("display_name", "x")], 409),
    ];
    for (path, form, status) in forms {
        let written = r.send(&admin, path, form).await;
        written.answer.must(status);
        assert!(written.audit.is_empty() && written.events.is_empty(), "{path}: {:?}", written.audit);
    }
}
