//! `make bench`: what a page costs, without a socket, beside something that costs almost nothing (`/healthz`) and beside the
//! bare query of the same list. Ratios say more than times: they hold on any machine.
use axum::{Router, body::Body, http::Request};
use server::{
    AppState, demo,
    settings::{Need, Resolved, Settings, Sources},
    shutdown::Shutdown,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};
use tower::ServiceExt;
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
};

const ORGS: u32 = 2_000;
const ROUNDS: u32 = 200;

const PAGES: &[(&str, &str)] = &[
    ("nothing", "/healthz"),
    ("own profile", "/profile"),
    ("home of the provider", "/provider"),
    ("100 organizations", "/provider/organizations?limit=100"),
    ("100 users of all", "/provider/users?limit=100"),
    ("100 audit entries", "/provider/audit?limit=100"),
    ("20 organizations", "/provider/organizations"),
    ("a search in all users", "/provider/users?q=admin"),
];

/// Counts what sqlx says it ran.
#[derive(Clone, Default)]
struct Queries(Arc<AtomicU64>);

impl<S: tracing::Subscriber> Layer<S> for Queries {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("sqlx::query") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let sources = Sources::of_this_process(Default::default());
    let settings = Settings::build(&Resolved::read(&sources), Need::Nothing)?;
    let domain = server::database::open(&settings)?;
    domain.store.migrate().await?;
    demo::seed::run(&domain).await?;
    demo::scale::run(&domain, ORGS).await?;
    let state = AppState::new(settings, domain, Shutdown::default(), false);
    state.mark_started();
    let app = server::router(state);
    let cookie = sign_in(&app).await?;

    println!("{ORGS} organizations; {ROUNDS} rounds each; CPU of this process without PostgreSQL's\n");
    println!("{:<24} {:>9} {:>9} {:>8} {:>8} {:>8}", "page", "cpu us", "wall us", "ratio", "queries", "bytes");
    let queries = Queries::default();
    let mut base = 0.0;
    for (name, path) in PAGES {
        let counting = tracing_subscriber::registry().with(queries.clone());
        queries.0.store(0, Ordering::Relaxed);
        let bytes = {
            let _guard = tracing::subscriber::set_default(counting);
            fetch(&app, path, &cookie).await?
        };
        let count = queries.0.load(Ordering::Relaxed);
        for _ in 0..20 {
            fetch(&app, path, &cookie).await?;
        }
        let (cpu, wall) = (cpu_us(), Instant::now());
        for _ in 0..ROUNDS {
            fetch(&app, path, &cookie).await?;
        }
        let cpu = (cpu_us() - cpu) as f64 / f64::from(ROUNDS);
        let wall = wall.elapsed().as_micros() as f64 / f64::from(ROUNDS);
        if base == 0.0 {
            base = wall;
        }
        println!("{name:<24} {cpu:>9.0} {wall:>9.0} {:>8.1} {count:>8} {bytes:>8}", wall / base);
    }
    Ok(())
}

async fn sign_in(app: &Router) -> anyhow::Result<String> {
    let form = format!("org=System&user=administrator&password={}", demo::PASSWORD);
    let req = Request::post("/sign-in")
        .header("host", "bench")
        .header("origin", "http://bench")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(form))?;
    let res = app.clone().oneshot(req).await?;
    let cookie = res.headers().get("set-cookie").and_then(|v| v.to_str().ok()).and_then(|v| v.split(';').next());
    cookie.map(str::to_owned).ok_or_else(|| anyhow::anyhow!("sign-in was refused: {}", res.status()))
}

async fn fetch(app: &Router, path: &str, cookie: &str) -> anyhow::Result<usize> {
    let req = Request::get(path)
        .header("host", "bench")
        .header("accept", "text/html")
        .header("cookie", cookie)
        .body(Body::empty())?;
    let res = app.clone().oneshot(req).await?;
    anyhow::ensure!(res.status().is_success(), "{path}: {}", res.status());
    Ok(axum::body::to_bytes(res.into_body(), usize::MAX).await?.len())
}

/// User and system time of this process so far.
fn cpu_us() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let field = |n: usize| after.split_whitespace().nth(n).and_then(|w| w.parse::<u64>().ok()).unwrap_or(0);
    (field(11) + field(12)) * 10_000
}
