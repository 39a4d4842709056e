//! The sizes that hubs have by themselves, as instance types: shown below the policies, and each the beginning of one.
use super::{
    sizes::{cpu_words, memory_words},
    sizing::LIST,
};
use crate::{parts::*, portal::Visit};
use domain::sizing;
use leptos::prelude::*;
use model::{
    Action, Result,
    sizing::{HubSize, SizingSpec},
};

pub(super) async fn section(visit: &Visit) -> Result<AnyView> {
    let all = sizing::on_hubs(visit.domain(), &visit.actor).await?;
    if all.is_empty() {
        return Ok(().into_any());
    }
    let mut heads = vec![Head::new("Instance type")];
    heads.extend(["CPU", "Memory"].map(|label| Head::new(label).number()));
    heads.extend([Head::new("Hubs"), Head::hidden("Actions")]);
    let rows = all.iter().enumerate().map(|(n, size)| row(visit, n, size)).collect_view();
    let table = view! { <Table caption="Instance types of hubs" heads>{rows}</Table> };
    Ok(view! { <Section title="On hubs" sub="what they have by themselves">{table}</Section> }.into_any())
}

fn row(visit: &Visit, n: usize, size: &HubSize) -> impl IntoView + use<> {
    let hubs: Vec<&str> = size.hubs.iter().map(|h| h.0.as_str()).collect();
    let (cpus, memory) = (i32::try_from(size.cpus).unwrap_or(i32::MAX), memory_words(size.memory_mb));
    let (cpus, hubs) = (cpu_words(cpus), hubs.join(", "));
    let make = visit.may(Action::SizingCreate).then(|| {
        let given =
            [("name", size.name.clone()), ("cpus", size.cpus.to_string()), ("memory", size.memory_mb.to_string())];
        let to = format!("{LIST}/new?{}", serde_urlencoded::to_string(given).unwrap_or_default());
        view! { <a href=to>"Make a policy"</a> }
    });
    let cells = view! {
        <NameCell name=size.name.clone() />
        <Cell label="CPU" number=true>{cpus}</Cell>
        <Cell label="Memory" number=true>{memory}</Cell>
        <Cell label="Hubs" wraps=true>{hubs}</Cell>
        <RowActs>{make}</RowActs>
    };
    view! { <Row id=format!("size-{n}")>{cells}</Row> }
}

/// What a new policy begins with: the size of the address, or a common one.
pub(super) fn begin(visit: &Visit) -> SizingSpec {
    SizingSpec {
        name: visit.ask.query("name").to_owned(),
        cpus: visit.ask.query("cpus").parse().unwrap_or(2),
        memory_mb: visit.ask.query("memory").parse().unwrap_or(4096),
        ..SizingSpec::default()
    }
}
