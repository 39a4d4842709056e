//! What the guest inside a VM tells of itself, on the VM's page. Without an agent it is unknown; from a silent hub it is as of then.
use super::{machine_state::at_words, upload::bytes_words};
use crate::{parts::*, portal::Visit};
use domain::agent;
use leptos::prelude::*;
use model::{
    Result,
    agent::{FileSystem, Guest},
    vm::Vm,
};

pub(super) async fn section(visit: &Visit, v: &Vm) -> Result<AnyView> {
    let g = agent::get(visit.domain(), &visit.actor, v.id).await?;
    let known = |text: String| if g.agent && !text.is_empty() { text } else { "unknown".to_owned() };
    let agent = match (g.agent, g.told.agent.as_str()) {
        (false, _) if v.seen.on() => "does not answer, or is not installed".to_owned(),
        (false, _) => "unknown: the VM does not run".to_owned(),
        (true, "") => "answers".to_owned(),
        (true, version) => format!("answers, version {version}"),
    };
    let os = known(format!("{} {}", g.system.name, g.system.version).trim().to_owned());
    let (kernel, host) = (known(g.system.kernel.clone()), known(g.told.hostname.clone()));
    let facts = view! {
        <Fact name="Guest agent">{agent}</Fact>
        <Fact name="System">{os}</Fact>
        <Fact name="Kernel">{kernel}</Fact>
        <Fact name="Host name">{host}</Fact>
    };
    let table = file_systems(&g);
    let body = view! { <Facts>{facts}</Facts> {table} };
    let sub = as_of(visit, v, &g);
    Ok(view! { <Section title="Guest" sub>{body}</Section> }.into_any())
}

/// While its hub is silent nothing of it is newer than that.
fn as_of(visit: &Visit, v: &Vm, g: &Guest) -> String {
    let at = match (g.agent, v.stale()) {
        (false, _) => return String::new(),
        (true, true) => [g.told_at, v.seen_at].into_iter().flatten().min(),
        (true, false) => g.told_at,
    };
    at.map(|at| format!("as of {}", at_words(at, visit.now))).unwrap_or_default()
}

fn file_systems(g: &Guest) -> Option<AnyView> {
    let all: &[FileSystem] = if g.agent { &g.told.file_systems } else { &[] };
    let heads =
        vec![Head::new("File system"), Head::new("Type"), Head::new("Used").number(), Head::new("Size").number()];
    let rows = all.iter().enumerate().map(|(n, fs)| {
        let (kind, used, total) = (fs.kind.clone(), bytes_words(fs.used), bytes_words(fs.total));
        let used = match fs.total {
            0 => used,
            total => format!("{used}, {:.0} %", fs.used as f64 * 100.0 / total as f64),
        };
        let cells = view! {
            <NameCell name=fs.mount.clone() />
            <Cell label="Type">{kind}</Cell>
            <Cell label="Used" number=true>{used}</Cell>
            <Cell label="Size" number=true>{total}</Cell>
        };
        view! { <Row id=format!("fs-{n}")>{cells}</Row> }
    });
    let rows = rows.collect_view();
    (!all.is_empty()).then(|| view! { <Table caption="File systems of the guest" heads>{rows}</Table> }.into_any())
}
