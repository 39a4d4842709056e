//! The stream of each tab: it says that something changed to those who may know, and ends with the session.
use crate::{
    harness::{Client, TestApp, TestOrg},
    stage::{Stage, VMS},
};
use axum::body::{Body, BodyDataStream};
use domain::{catalog, org, profile, role, session, share, user};
use futures::StreamExt;
use model::{
    Actor, Kind, OrgId, Right, UserId,
    catalog::CatalogSpec,
    event::{Change, News},
    role::{Predefined::*, RoleForm},
    share::{Access, Grant, Subject},
    user::{Password, UserSpec},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;
use uuid::Uuid;

/// What would come has come.
const CALM: Duration = Duration::from_millis(300);
/// Much more than it takes: on a busy machine tests wait for one another's transactions.
const PATIENCE: Duration = Duration::from_secs(20);

/// An app that tells streams what changes, and an organization nobody listens to: what is changed there marks a moment.
struct Live {
    app: TestApp,
    mark: (OrgId, Actor),
}

impl Live {
    async fn start() -> Live {
        let app = TestApp::start().await;
        app.follow_changes();
        let mark: TestOrg = app.org("mark").make().await;
        let mark = (mark.id, app.actor(mark.admin()).await);
        let live = Live { app, mark };
        // nothing is told before the listener is there
        while timeout(CALM, live.settle()).await.is_err() {}
        live
    }

    /// Until everything up to now has been told.
    async fn settle(&self) {
        self.settle_at(&self.app).await;
    }

    /// The same at another replica.
    async fn settle_at(&self, replica: &TestApp) {
        let (org, actor) = &self.mark;
        let mut changes = replica.domain.store.changes();
        session::sign_out(&self.app.domain, actor).await.unwrap();
        while !matches!(changes.recv().await.unwrap(), News::One(change) if change.org == *org) {}
    }

    /// A second server on the same database.
    async fn replica(&self) -> TestApp {
        let replica = self.app.replica().await;
        replica.follow_changes();
        while timeout(CALM, self.settle_at(&replica)).await.is_err() {}
        replica
    }

    async fn listen(&self, client: &Client) -> Stream {
        timeout(PATIENCE, self.settle()).await.unwrap();
        Stream::open(client).await
    }
}

struct Stream(BodyDataStream);

impl Stream {
    async fn open(client: &Client) -> Stream {
        let request = client.request("GET", "/events").body(Body::empty()).unwrap();
        let mut stream = Stream(client.begin(request).await.into_body().into_data_stream());
        assert!(stream.next().await.unwrap().starts_with("event: hello\ndata: 1\n"));
        stream
    }

    /// None is the end.
    async fn next(&mut self) -> Option<String> {
        let came = timeout(PATIENCE, self.0.next()).await.unwrap();
        came.map(|bytes| String::from_utf8(bytes.unwrap().to_vec()).unwrap())
    }

    async fn says_changed(&mut self) {
        // without data a browser would not deliver it
        assert_eq!(self.next().await.as_deref(), Some("event: changed\ndata: 1\n\n"));
    }

    async fn says_a_last_word_and_ends(&mut self) {
        self.says_changed().await;
        assert_eq!(self.next().await, None);
    }

    /// What is on its way is heard first.
    async fn goes_quiet(&mut self) {
        while timeout(2 * CALM, self.0.next()).await.is_ok() {}
    }

    async fn is_silent(&mut self) {
        assert!(timeout(CALM, self.0.next()).await.is_err());
    }
}

#[tokio::test]
async fn a_disabled_user_hears_it_at_once_and_the_stream_ends() {
    let live = Live::start().await;
    let app = &live.app;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let alice = app.sign_in("acme", "alice").await;
    let mut stream = live.listen(&alice).await;
    user::set_enabled(&app.domain, &app.operator().await, acme.user("alice"), false).await.unwrap();
    stream.says_a_last_word_and_ends().await;
    alice.get("/tenant/acme").await.must(303);
    alice.get("/events").await.must(204);
}

#[tokio::test]
async fn other_sessions_end_with_their_streams() {
    let live = Live::start().await;
    live.app.org("acme").user("alice", VappUser).make().await;
    let (here, there) = (live.app.sign_in("acme", "alice").await, live.app.sign_in("acme", "alice").await);
    let (mut own, mut other) = (live.listen(&here).await, live.listen(&there).await);
    here.post("/profile/sessions/end", &[]).await.must(303);
    other.says_a_last_word_and_ends().await;
    own.says_changed().await;
    own.is_silent().await;
}

#[tokio::test]
async fn a_page_is_told_when_its_readers_role_or_the_rights_in_it_change() {
    let live = Live::start().await;
    let (app, operator) = (&live.app, live.app.operator().await);
    let acme = app.org("acme").make().await;
    let watchers = app.role(acme.id, "Watchers", &[Right::OrgView]).await;
    let id = app.user(acme.id, "alice", watchers).await;
    let alice = app.sign_in("acme", "alice").await;
    let mut stream = live.listen(&alice).await;

    let rights = [Right::OrgView, Right::VdcView].into_iter().collect();
    let form = RoleForm { name: "Watchers".into(), description: String::new(), rights };
    role::edit(&app.domain, &operator, watchers, 1, form).await.unwrap();
    stream.says_changed().await;
    alice.get("/tenant/acme/vdcs").await.must(200);

    let now = user::get(&app.domain, &operator, id).await.unwrap();
    let less = UserSpec { role: ConsoleAccessOnly.id(), ..UserSpec::from(&now) };
    user::edit(&app.domain, &operator, id, now.version, less).await.unwrap();
    stream.says_changed().await;
    alice.get("/tenant/acme/vdcs").await.must(403);
}

#[tokio::test]
async fn nobody_hears_of_another_organization_or_of_what_they_may_not_see() {
    let live = Live::start().await;
    let app = &live.app;
    let acme = app.org("acme").user("alice", ConsoleAccessOnly).make().await;
    let globex = app.org("globex").make().await;
    let mut alice = live.listen(&app.sign_in("acme", "alice").await).await;
    let mut omar = live.listen(&app.sign_in("globex", "globex-admin").await).await;
    app.vdc(acme.id, "prod").await;
    timeout(PATIENCE, live.settle()).await.unwrap();
    omar.is_silent().await;
    alice.is_silent().await;
    let actor = app.actor(globex.admin()).await;
    let me = profile::get(&app.domain, &actor).await.unwrap();
    profile::edit(&app.domain, &actor, me.version, "Omar".into(), String::new()).await.unwrap();
    omar.says_changed().await;
    alice.is_silent().await;
}

#[tokio::test]
async fn members_hear_of_their_organization_and_the_provider_of_all() {
    let live = Live::start().await;
    let app = &live.app;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let mut alice = live.listen(&app.sign_in("acme", "alice").await).await;
    let mut provider = live.listen(&app.provider().await).await;
    app.vdc(acme.id, "secret-name").await;
    alice.says_changed().await;
    provider.says_changed().await;
}

#[tokio::test]
async fn a_transaction_left_open_holds_nothing_back_and_is_heard_when_it_ends() {
    let live = Live::start().await;
    let app = &live.app;
    let (acme, globex) = (app.org("acme").make().await, app.org("globex").make().await);
    let mut provider = live.listen(&app.provider().await).await;
    app.db.execute("begin").await;
    app.db
        .execute(&format!(
            "insert into events (id, org_id, user_name, kind, object_kind, object_name, message) \
             values (gen_random_uuid(), '{}', 'late', 'vdc.edit', 'vdc', 'late', '')",
            globex.id.0
        ))
        .await;
    app.vdc(acme.id, "meanwhile").await;
    provider.says_changed().await;
    provider.is_silent().await;
    app.db.execute("commit").await;
    provider.says_changed().await;
    provider.is_silent().await;
}

#[tokio::test]
async fn what_one_replica_does_the_streams_of_the_other_hear() {
    let live = Live::start().await;
    let (app, other) = (&live.app, live.replica().await);
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let alice = app.sign_in("acme", "alice").await;
    timeout(PATIENCE, live.settle_at(&other)).await.unwrap();
    let mut here = live.listen(&alice).await;
    let mut there = Stream::open(&alice.at(&other.router)).await;
    app.vdc(acme.id, "made-here").await;
    there.says_changed().await;
    here.says_changed().await;
    other.vdc(acme.id, "made-there").await;
    here.says_changed().await;
    there.says_changed().await;
    user::set_enabled(&other.domain, &other.operator().await, acme.user("alice"), false).await.unwrap();
    here.says_a_last_word_and_ends().await;
    there.says_a_last_word_and_ends().await;
}

/// A hub reported something about a VM of somebody.
fn reported(org: OrgId, owner: UserId) -> Change {
    Change { org, user: None, owner: Some(owner), kind: Kind::Vm, id: Some(Uuid::now_v7()), shares: Vec::new() }
}

#[tokio::test]
async fn what_a_hub_reports_to_one_replica_the_streams_of_all_hear_once() {
    let live = Live::start().await;
    let (app, other) = (&live.app, live.replica().await);
    let acme = app.org("acme").user("alice", VappUser).user("bob", VappUser).make().await;
    let (alice, bob) = (app.sign_in("acme", "alice").await, app.sign_in("acme", "bob").await);
    timeout(PATIENCE, live.settle_at(&other)).await.unwrap();
    let mut here = live.listen(&alice).await;
    let mut there = Stream::open(&alice.at(&other.router)).await;
    let mut colleague = Stream::open(&bob.at(&other.router)).await;
    for replica in [app, &other] {
        replica.domain.store.tell(reported(acme.id, acme.user("alice")));
        timeout(Duration::from_secs(1), there.says_changed()).await.expect("the other replica was told late");
        here.says_changed().await;
        here.is_silent().await;
        there.is_silent().await;
    }
    colleague.is_silent().await;
}

#[tokio::test]
async fn a_page_at_a_replica_that_watches_no_hub_hears_that_a_machine_has_another_address() {
    let stage = Stage::set().await;
    let other = stage.app.replica().await;
    stage.app.follow_changes();
    other.follow_changes();
    let vapp = stage.deploy("web-and-db", "shop").await;
    let vm = stage.running(vapp).await.remove(0);
    stage.until("the end of the task", async || stage.app.db.count("tasks where ended_at is null").await == 0).await;
    let admin = stage.app.sign_in("acme", "acme-admin").await.at(&other.router);
    let mut stream = Stream::open(&admin).await;
    stream.goes_quiet().await;
    let events = stage.app.db.count("events").await;
    let hub = stage.hubs.hub("one");
    hub.pause_controllers(true);
    let other_address = |vmi: &mut Value| {
        vmi["status"]["interfaces"][0]["ipAddress"] = json!("10.9.9.9");
        vmi["status"]["interfaces"][0]["ipAddresses"] = json!(["10.9.9.9"]);
    };
    let instances = "virtualmachineinstances";
    assert!(hub.edit(VMS.0, instances, &vm.namespace, &vm.hub_name, other_address).unwrap());
    stream.says_changed().await;
    admin.get(&format!("/tenant/acme/vms/{}", vm.id)).await.must(200).says("10.9.9.9");
    hub.pause_controllers(false);
    assert_eq!(stage.app.db.count("events").await, events);
}

#[tokio::test]
async fn an_open_page_hears_what_a_check_of_a_hub_finds_without_its_watchers() {
    let stage = Stage::set().await;
    stage.app.follow_changes();
    stage.hubs.look_every(&stage.app, CALM);
    stage.until("the first checks", async || stage.app.db.count("hubs where state = 'ready'").await == 1).await;
    let provider = stage.app.sign_in("System", "administrator").await;
    let mut stream = Stream::open(&provider).await;
    timeout(PATIENCE, stream.goes_quiet()).await.unwrap();
    let hub = stage.hubs.hub("one");
    let kubevirt = hub.objects("kubevirt.io", "kubevirts").remove(0);
    let of = |key: &str| kubevirt["metadata"][key].as_str().unwrap().to_owned();
    let old = |object: &mut Value| object["status"]["observedKubeVirtVersion"] = json!("v0.36.0");
    assert!(hub.edit("kubevirt.io", "kubevirts", &of("namespace"), &of("name"), old).unwrap());
    timeout(PATIENCE, stream.says_changed()).await.expect("the page was not told");
    provider.get("/provider/hubs/one").await.must(200).says("KubeVirt v0.36.0 is older than");
}

#[tokio::test]
async fn when_more_is_reported_than_can_be_listed_every_page_reads_anew() {
    let live = Live::start().await;
    let (app, other) = (&live.app, live.replica().await);
    app.org("acme").user("alice", VappUser).make().await;
    let globex = app.org("globex").make().await;
    let alice = app.sign_in("acme", "alice").await;
    timeout(PATIENCE, live.settle_at(&other)).await.unwrap();
    let mut there = Stream::open(&alice.at(&other.router)).await;
    let tell = |n: usize| (0..n).for_each(|_| app.domain.store.tell(reported(globex.id, globex.admin())));
    tell(500);
    there.is_silent().await;
    tell(4_000);
    there.says_changed().await;
    there.is_silent().await;
}

#[tokio::test]
async fn who_loses_a_share_hears_it_at_every_replica() {
    let live = Live::start().await;
    let (app, other) = (&live.app, live.replica().await);
    let acme = app.org("acme").user("author", CatalogAuthor).user("reader", CatalogAuthor).make().await;
    let author = app.actor(acme.user("author")).await;
    let spec = CatalogSpec { name: "kit".into(), ..CatalogSpec::default() };
    let id = catalog::create(&app.domain, &author, acme.id, spec).await.unwrap().id;
    let share_with = async |grants: Vec<Grant>| {
        let version = catalog::get(&app.domain, &author, id).await.unwrap().version;
        share::set(&app.domain, &author, share::On::Catalog(id), version, grants).await.unwrap();
    };
    let reader = app.sign_in("acme", "reader").await.at(&other.router);
    timeout(PATIENCE, live.settle_at(&other)).await.unwrap();
    let mut stream = Stream::open(&reader).await;
    let page = format!("/tenant/acme/catalogs/{id}");
    share_with(vec![Grant { subject: Subject::User(acme.user("reader")), access: Access::ReadOnly }]).await;
    stream.says_changed().await;
    stream.goes_quiet().await;
    reader.get(&page).await.must(200);
    share_with(Vec::new()).await;
    stream.says_changed().await;
    stream.is_silent().await;
    reader.get(&page).await.must(404);
}

#[tokio::test]
async fn a_stream_ends_with_its_session_its_organization_and_the_server() {
    let live = Live::start().await;
    let (app, operator) = (&live.app, live.app.operator().await);
    let acme = app.org("acme").user("alice", VappUser).user("bob", VappUser).make().await;
    let alice = app.sign_in("acme", "alice").await;
    let mut stream = live.listen(&alice).await;
    alice.post("/sign-out", &[]).await.must(303);
    stream.says_a_last_word_and_ends().await;

    let mut stream = live.listen(&app.sign_in("acme", "alice").await).await;
    let password = Password::new("staple battery horse");
    user::reset_password(&app.domain, &operator, acme.user("alice"), password).await.unwrap();
    stream.says_a_last_word_and_ends().await;

    let mut stream = live.listen(&app.sign_in("acme", "bob").await).await;
    org::set_enabled(&app.domain, &operator, acme.id, false).await.unwrap();
    stream.says_a_last_word_and_ends().await;

    let mut stream = live.listen(&app.provider().await).await;
    app.state.shutdown.begin();
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn an_open_tab_does_not_keep_a_session_alive() {
    let live = Live::start().await;
    let app = &live.app;
    let acme = app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let mut stream = live.listen(&admin).await;
    for n in 0..2 {
        app.clock.advance(time::Duration::minutes(12));
        app.user(acme.id, &format!("user-{n}"), VappUser.id()).await;
        stream.says_changed().await;
        let refresh = admin.request("GET", "/tenant/acme/users").header("x-refresh", "1");
        admin.send(refresh.body(Body::empty()).unwrap()).await.must(200);
    }
    app.clock.advance(time::Duration::minutes(12));
    assert!(admin.get("/tenant/acme").await.must(303).location().starts_with("/sign-in"));
    app.user(acme.id, "one-more", VappUser.id()).await;
    stream.says_a_last_word_and_ends().await;
}
