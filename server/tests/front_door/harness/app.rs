//! A server on a database of its own, with a clock that a test can turn, and builders for what is in it.
use super::{
    client::Client,
    database::Database,
    played::{Played, kubeconfig},
};
use axum::Router;
use domain::{
    Clock, Domain, Gate, Hasher, SessionLimits, Store, Vault, bootstrap, hub, org, role, simulator::Simulator,
    system_clock, vdc,
};
use model::{
    Action, Actor, OrgId, Right, RoleId, UserId, VdcId,
    hub::HubSpec,
    org::{NewOrg, OrgSpec},
    quota::Limits,
    role::{Predefined, RoleForm},
    user::{NewUser, Password, UserSpec},
    vdc::VdcSpec,
};
use server::{
    AppState,
    settings::{Need, Resolved, Settings, Sources},
    shutdown::Shutdown,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};
use store::Record;
use time::{Duration, OffsetDateTime};
use tokio::sync::OnceCell;
use uuid::Uuid;

/// Everybody's password, and the name of the provider's administrator.
pub(crate) const PASSWORD: &str = "correct horse battery";
pub(crate) const ADMINISTRATOR: &str = "administrator";

/// One for all tests: a hash takes 19 MiB and a core.
static HASHER: LazyLock<Hasher> = LazyLock::new(|| Hasher::new(2).unwrap());

async fn password_hash() -> &'static str {
    static HASH: OnceCell<String> = OnceCell::const_new();
    HASH.get_or_init(|| async { HASHER.hash(&Password::new(PASSWORD)).await.unwrap() }).await
}

/// What every installation has: the provider's organization and its administrator.
pub(super) async fn furnish(store: &Store) {
    let domain = domain_on(store.clone(), system_clock());
    bootstrap::create_admin(&domain, None, ADMINISTRATOR, Password::new(PASSWORD)).await.unwrap();
}

fn domain_on(store: Store, clock: Clock) -> Domain {
    // simulated hubs are on loopback
    let gate = Gate::open();
    let vault = Some(Vault::new(store.clone(), TestApp::SECRET));
    let simulator: Option<Arc<dyn Simulator>> = Some(Arc::new(Played::default()));
    Domain {
        store,
        hasher: HASHER.clone(),
        clock,
        sessions: SessionLimits::default(),
        passwords: model::name::PasswordRules::default(),
        least_lease: Duration::seconds(1),
        vault,
        gate,
        area: None,
        simulator,
    }
}

/// Stands still until somebody turns it.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<Mutex<OffsetDateTime>>);

impl TestClock {
    fn new() -> TestClock {
        let now = system_clock()().replace_nanosecond(0).unwrap();
        TestClock(Arc::new(Mutex::new(now)))
    }

    fn clock(&self) -> Clock {
        let time = self.0.clone();
        Arc::new(move || *time.lock().unwrap())
    }

    pub(crate) fn advance(&self, by: Duration) {
        *self.0.lock().unwrap() += by;
    }
}

pub(crate) struct TestApp {
    pub(crate) domain: Domain,
    pub(crate) state: AppState,
    pub(crate) router: Router,
    pub(crate) clock: TestClock,
    pub(crate) db: Arc<Database>,
}

impl TestApp {
    /// What secrets are sealed with.
    pub(crate) const SECRET: &str = "q83Vn0Jr1Lx7Zt5Hc2Wb9Ky4Md6Pf8Ga";

    /// How much the transfer area takes.
    pub(crate) const AREA: u64 = 4 << 20;

    /// The server on a database that holds the provider and nothing else.
    /// Where the transfer area of tests on that database is.
    pub(crate) fn area(db: &Database) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(db.url.replace(|c: char| !c.is_alphanumeric(), "-"))
    }

    pub(crate) async fn start() -> TestApp {
        TestApp::on(Arc::new(Database::new().await), &[]).await
    }

    /// With settings other than the defaults.
    pub(crate) async fn start_with(settings: &[(&'static str, &str)]) -> TestApp {
        TestApp::on(Arc::new(Database::new().await), settings).await
    }

    /// Another replica on the same database, with the same clock.
    pub(crate) async fn replica(&self) -> TestApp {
        TestApp::open(self.db.clone(), &self.db.url, &[], self.clock.clone())
    }

    /// By another way to the database, as over a proxy.
    pub(crate) fn over(db: Arc<Database>, url: &str, settings: &[(&'static str, &str)]) -> TestApp {
        TestApp::open(db, url, settings, TestClock::new())
    }

    async fn on(db: Arc<Database>, settings: &[(&'static str, &str)]) -> TestApp {
        let url = db.url.clone();
        TestApp::open(db, &url, settings, TestClock::new())
    }

    /// With everything given.
    pub(crate) fn open(db: Arc<Database>, url: &str, settings: &[(&'static str, &str)], clock: TestClock) -> TestApp {
        let mut sources = Sources::default().with_default("database.url", url);
        if !settings.iter().any(|(key, _)| *key == "auth.secret") {
            sources = sources.with_default("auth.secret", TestApp::SECRET);
        }
        // an empty secret stands for none
        let given = settings.iter().filter(|(key, value)| *key != "auth.secret" || !value.is_empty());
        let sources = given.fold(sources, |all, (key, value)| all.with_default(key, *value));
        let settings = Settings::build(&Resolved::read(&sources), Need::Database).unwrap();
        // one for all replicas on a database
        let area = Some(domain::Area::new(TestApp::area(&db), TestApp::AREA));
        let domain = Domain { area, ..domain_on(Store::open(url, 10).unwrap(), clock.clock()) };
        let state = AppState::new(settings, domain.clone(), Shutdown::default(), false);
        state.mark_started();
        TestApp { router: server::router(state.clone()), domain, state, clock, db }
    }

    /// The same server, with hubs that somebody plays.
    pub(crate) fn played_by(self, simulator: Arc<dyn Simulator>) -> TestApp {
        let domain = Domain { simulator: Some(simulator), ..self.domain };
        let mut state = self.state;
        state.domain = domain.clone();
        TestApp { router: server::router(state.clone()), domain, state, ..self }
    }

    /// Tells streams what changes, as the running server does.
    pub(crate) fn follow_changes(&self) {
        let store = self.domain.store.clone();
        tokio::spawn(async move { store.follow_changes().await });
    }

    /// A browser that nobody has signed in with.
    pub(crate) fn browser(&self) -> Client {
        Client::new(self.router.clone())
    }

    /// Signed in by the form, with everybody's password.
    pub(crate) async fn sign_in(&self, org: &str, user: &str) -> Client {
        let client = self.browser();
        let answer = client.post("/sign-in", &[("org", org), ("user", user), ("password", PASSWORD)]).await;
        answer.must(303);
        client
    }

    pub(crate) async fn provider(&self) -> Client {
        self.sign_in(model::org::PROVIDER, ADMINISTRATOR).await
    }

    /// The operator at the command line, for what a test needs to be there already.
    pub(crate) async fn operator(&self) -> Actor {
        bootstrap::operator(&self.domain).await.unwrap()
    }

    /// Somebody as operations see them.
    pub(crate) async fn actor(&self, user: UserId) -> Actor {
        let operator = self.operator().await;
        let user = self.domain.store.user(&operator, Action::UserView, user).await.unwrap().into_inner();
        let org = self.domain.store.org(&operator, Action::OrgView, user.org).await.unwrap();
        let role = self.domain.store.role(&operator, Action::RoleView, user.role, None).await.unwrap();
        Actor {
            user: Some(user.id),
            name: user.name.clone(),
            full_name: user.full_name.clone(),
            org: org.id,
            org_name: org.name.clone(),
            org_display_name: org.display_name.clone(),
            provider: org.is_provider,
            role: role.id,
            role_name: role.name.clone(),
            rights: role.rights,
            origin: model::Origin::default(),
        }
    }

    /// An organization with the administrator `{name}-admin`, and whatever the builder is told.
    pub(crate) fn org(&self, name: &str) -> OrgBuilder<'_> {
        OrgBuilder {
            app: self,
            spec: OrgSpec { name: name.into(), display_name: name.into(), ..OrgSpec::default() },
            users: vec![(format!("{name}-admin"), Predefined::OrganizationAdministrator)],
            vdcs: vec![],
        }
    }

    pub(crate) async fn role(&self, org: OrgId, name: &str, rights: &[Right]) -> RoleId {
        let rights = rights.iter().copied().collect();
        let form = RoleForm { name: name.into(), description: String::new(), rights };
        role::create(&self.domain, &self.operator().await, org, form).await.unwrap().id
    }

    pub(crate) async fn user(&self, org: OrgId, name: &str, role: RoleId) -> UserId {
        let operator = self.operator().await;
        let id = UserId(Uuid::now_v7());
        let spec = UserSpec {
            name: name.into(),
            full_name: String::new(),
            email: String::new(),
            role,
            limits: Limits::default(),
        };
        let new = NewUser::of(spec, Password::default());
        let mut tx = self.domain.store.write(&operator).await.unwrap();
        tx.user_insert(id, org, &new, password_hash().await).await.unwrap();
        tx.commit(Record::new(Action::UserCreate, org, id, name).after(&(&new, ""))).await.unwrap();
        id
    }

    /// A hub that is registered, and that nobody has tried.
    pub(crate) async fn hub(&self, id: &str) {
        let spec = HubSpec { id: id.into(), namespace: "vmaas-system".into(), ..HubSpec::default() };
        let operator = self.operator().await;
        hub::register(&self.domain, &operator, spec, kubeconfig().await, hub::Trust::Checked).await.unwrap();
    }

    pub(crate) async fn vdc(&self, org: OrgId, name: &str) -> VdcId {
        let spec = VdcSpec { name: name.into(), ..VdcSpec::default() };
        vdc::create(&self.domain, &self.operator().await, org, spec).await.unwrap().id
    }
}

pub(crate) struct OrgBuilder<'a> {
    app: &'a TestApp,
    spec: OrgSpec,
    users: Vec<(String, Predefined)>,
    vdcs: Vec<String>,
}

impl OrgBuilder<'_> {
    pub(crate) fn vdc(mut self, name: &str) -> Self {
        self.vdcs.push(name.into());
        self
    }

    pub(crate) fn user(mut self, name: &str, role: Predefined) -> Self {
        self.users.push((name.into(), role));
        self
    }

    /// Changes what is set on the organization itself.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut OrgSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    pub(crate) async fn make(self) -> TestOrg {
        let (app, name) = (self.app, self.spec.name.clone());
        let new = NewOrg { spec: self.spec, admin: None };
        let id = org::create(&app.domain, &app.operator().await, new).await.unwrap().id;
        let mut made = TestOrg { id, name, users: BTreeMap::new(), vdcs: BTreeMap::new() };
        for (name, role) in self.users {
            made.users.insert(name.clone(), app.user(id, &name, role.id()).await);
        }
        for name in self.vdcs {
            made.vdcs.insert(name.clone(), app.vdc(id, &name).await);
        }
        made
    }
}

/// An organization as a builder made it.
pub(crate) struct TestOrg {
    pub(crate) id: OrgId,
    pub(crate) name: String,
    users: BTreeMap<String, UserId>,
    vdcs: BTreeMap<String, VdcId>,
}

impl TestOrg {
    pub(crate) fn user(&self, name: &str) -> UserId {
        self.users[name]
    }

    pub(crate) fn admin(&self) -> UserId {
        self.user(&format!("{}-admin", self.name))
    }

    pub(crate) fn vdc(&self, name: &str) -> VdcId {
        self.vdcs[name]
    }
}
