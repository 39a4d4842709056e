//! Runs cells of the table, many stages at once, and sums up what they found.
use crate::{
    fault::Fault,
    kills,
    operation::Op,
    oracle::{self, Finding, Harm},
    schedules,
    stage::Stage,
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::{
    collections::{BTreeMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// One run: what is asked, what goes wrong, and how many replicas there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) op: Op,
    pub(crate) fault: Fault,
    pub(crate) replicas: usize,
    pub(crate) seed: u64,
}

/// What came of one run, and where it stands in the table.
struct Outcome {
    row: String,
    column: String,
    /// How to repeat it.
    how: String,
    found: Vec<Finding>,
}

/// How long a run may take to come to rest. Much longer than it takes: machines that run tests are busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// After so many runs a stage is full of what they left.
const RUNS_A_STAGE: usize = 25;

/// What came of all runs.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) runs: usize,
    lost: usize,
    duplicated: usize,
    wrongly_deleted: usize,
    /// By operation and fault: what was found.
    failures: BTreeMap<(String, String), Vec<String>>,
    slowest: Vec<(Duration, String)>,
}

impl Tally {
    fn note(&mut self, o: &Outcome, took: Duration) {
        self.runs += 1;
        if self.runs.is_multiple_of(50) {
            eprintln!("  {} …", self.line());
        }
        self.slowest.push((took, format!("{} × {} ({})", o.row, o.column, o.how)));
        let has = |harm| usize::from(o.found.iter().any(|f| f.harm == harm));
        self.lost += has(Harm::Lost);
        self.duplicated += has(Harm::Duplicated);
        self.wrongly_deleted += has(Harm::WronglyDeleted);
        if !o.found.is_empty() {
            eprintln!("  {} × {} ({})", o.row, o.column, o.how);
            o.found.iter().take(4).for_each(|f| eprintln!("    {f}"));
            let list = self.failures.entry((o.row.clone(), o.column.clone())).or_default();
            list.extend(o.found.iter().map(|f| format!("{}: {f}", o.how)));
        }
    }

    pub(crate) fn line(&self) -> String {
        format!(
            "runs {}, lost {}, duplicated {}, wrongly deleted {}",
            self.runs, self.lost, self.duplicated, self.wrongly_deleted
        )
    }

    /// Says how it went; panics with a table if anything was found.
    pub(crate) fn end(mut self) {
        self.slowest.sort_by_key(|run| std::cmp::Reverse(run.0));
        for (took, what) in self.slowest.iter().take(5) {
            eprintln!("  slowest: {:5.1} s  {what}", took.as_secs_f32());
        }
        for ((op, fault), found) in &self.failures {
            eprintln!("{op:<24} × {fault:<24} {} findings", found.len());
            found.iter().take(6).for_each(|f| eprintln!("    {f}"));
        }
        // seen also where tests' output is kept: only a process of its own can write past that
        said(&self.line());
        assert!(self.failures.is_empty(), "{} cells failed; the table is above", self.failures.len());
    }
}

/// Past the capture of test output.
pub(crate) fn said(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Every operation with every fault that concerns it.
pub(crate) fn table(replicas: usize, seed: u64) -> Vec<Cell> {
    let of = |op: Op| Fault::all().into_iter().filter(move |f| f.concerns(op));
    Op::ALL.iter().flat_map(|&op| of(op).map(move |fault| Cell { op, fault, replicas, seed })).collect()
}

/// A stage, its replicas and its hubs run in one thread, and builds for tests have large frames.
pub(crate) fn on_large_stack(play: impl AsyncFnOnce() + Send + 'static) -> JoinHandle<()> {
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play());
    });
    thread.unwrap()
}

/// Hands each piece to one of so many stages, each in a thread of its own. A stage on which something was found is not used
/// any more.
fn on_stages<T, F>(todo: Vec<T>, stages: usize, run: F) -> Tally
where
    T: Send + 'static,
    F: AsyncFn(&Stage, T) -> Outcome + Copy + Send + 'static,
{
    let queue = Arc::new(Mutex::new(VecDeque::from(todo)));
    let tally = Arc::new(Mutex::new(Tally::default()));
    let threads = (0..stages).map(|_| {
        let (queue, tally) = (queue.clone(), tally.clone());
        on_large_stack(async move || {
            let (mut stage, mut used) = (None, 0);
            loop {
                let Some(piece) = queue.lock().unwrap().pop_front() else { break };
                if used >= RUNS_A_STAGE {
                    stage = None;
                }
                if stage.is_none() {
                    (stage, used) = (Some(Stage::set().await), 0);
                }
                used += 1;
                let started = Instant::now();
                let outcome = run(stage.as_ref().unwrap(), piece).await;
                tally.lock().unwrap().note(&outcome, started.elapsed());
                if !outcome.found.is_empty() {
                    stage = None;
                }
            }
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
    Arc::into_inner(tally).unwrap().into_inner().unwrap()
}

/// One run of any kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    Cell(Cell),
    Kill(kills::Kill),
    Story(u64),
}

impl Run {
    /// Where it stands in the table.
    pub(crate) fn place(&self) -> (String, String) {
        match self {
            Run::Cell(cell) => (cell.op.name().to_owned(), cell.fault.name().to_owned()),
            Run::Kill(kill) => kill.place(),
            Run::Story(_) => ("a story".to_owned(), "random faults".to_owned()),
        }
    }

    fn how(&self) -> String {
        match self {
            Run::Cell(cell) => format!("SEED={}, replicas: {}", cell.seed, cell.replicas),
            Run::Kill(kill) => format!("replicas: {}", kill.replicas),
            Run::Story(seed) => format!("SEED={seed}"),
        }
    }
}

/// All of these, on so many stages at once.
pub(crate) fn all(runs: Vec<Run>, stages: usize) -> Tally {
    on_stages(runs, stages, async |stage, run: Run| {
        let found = match run {
            Run::Cell(cell) => guarded(one(stage, cell)).await,
            Run::Kill(kill) => guarded(kill.run(stage)).await,
            Run::Story(seed) => guarded(schedules::story(stage, seed)).await,
        };
        let (row, column) = run.place();
        Outcome { row, column, how: run.how(), found }
    })
}

/// What panics on the way is a finding too.
pub(crate) async fn guarded(run: impl Future<Output = Vec<Finding>>) -> Vec<Finding> {
    use futures::FutureExt;
    AssertUnwindSafe(run).catch_unwind().await.unwrap_or_else(|panic| {
        let what =
            panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        vec![Finding { invariant: "I1", harm: Harm::Lost, what: what.unwrap_or_else(|| "it panicked".into()) }]
    })
}

async fn one(stage: &Stage, cell: Cell) -> Vec<Finding> {
    let mut rng = rng(cell);
    stage.have(cell.replicas).await;
    let vdc = if cell.fault.own_vdc() {
        let vdc = stage.new_vdc(&stage.fresh("own")).await.unwrap();
        stage.vdc_ready(vdc).await;
        vdc
    } else {
        stage.prod().await
    };
    let mut subject = cell.op.prepare(stage, vdc).await;
    cell.fault.strike(stage, cell.op, &mut subject, &mut rng).await;
    stage.have(cell.replicas).await;
    let found = rest(stage, cell.fault.may_fail(cell.op), PATIENCE).await;
    if found.is_empty() {
        cell.op.clear(stage).await;
        crate::clean::up(stage, cell.fault.may_fail(cell.op) || cell.fault.own_vdc(), &subject).await
    } else {
        found
    }
}

/// The same cell and seed strike in the same order and at the same moments.
pub(crate) fn rng(cell: Cell) -> StdRng {
    let mut rng = StdRng::seed_from_u64(cell.seed);
    for _ in 0..(cell.op as usize * 64 + cell.replicas) {
        rng.random::<u8>();
    }
    rng
}

/// Waits until nothing is found any more; what still is found after that time is true.
pub(crate) async fn rest(stage: &Stage, may_fail: bool, within: Duration) -> Vec<Finding> {
    let end = Instant::now() + within;
    loop {
        let mut found = oracle::check(stage, may_fail).await;
        let for_good = |f: &Finding| f.invariant == "I9" || f.invariant == "silence";
        if found.is_empty() || found.iter().any(for_good) || Instant::now() > end {
            found.sort_by_key(|f| !for_good(f));
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
