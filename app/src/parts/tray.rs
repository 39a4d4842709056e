//! The tasks tray: one line at the foot of every page, opened upwards. Failed tasks come first, with their reason.
use super::{Badge, Icon, Shape, Time, Tone, meter::progress, num};
use leptos::prelude::*;
use time::OffsetDateTime;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    Waiting,
    /// With its progress in percent, where it is known.
    Running(Option<u8>),
    Done,
    Failed,
    Cancelled,
}

impl TaskState {
    pub fn shape(self) -> (Shape, Tone) {
        match self {
            TaskState::Waiting => (Shape::Clock, Tone::Busy),
            TaskState::Running(_) => (Shape::Half, Tone::Busy),
            TaskState::Done => (Shape::Done, Tone::Ok),
            TaskState::Failed => (Shape::Diamond, Tone::Bad),
            TaskState::Cancelled => (Shape::Barred, Tone::Plain),
        }
    }
}

#[derive(Clone, Debug)]
pub struct TrayTask {
    pub id: String,
    pub state: TaskState,
    /// "Create organization".
    pub what: String,
    /// The thing it is about, and where to find it.
    pub object: String,
    pub href: Option<String>,
    /// How it goes, or why it failed and what to do.
    pub says: String,
    pub since: OffsetDateTime,
}

/// What the tray shows. The counts may be larger than the list, which holds the latest only.
#[derive(Clone, Debug)]
pub struct Tray {
    pub running: u64,
    pub failed: u64,
    pub tasks: Vec<TrayTask>,
    /// The page with all tasks.
    pub all_href: String,
    pub now: OffsetDateTime,
}

#[component]
pub fn TaskTray(tray: Tray) -> impl IntoView {
    let Tray { running, failed, tasks, all_href, now } = tray;
    let last = match tasks.first() {
        Some(task) => format!("{} {}: {}", task.what, task.object, task.says),
        None => "None lately. What you ask for shows here until it is done.".to_owned(),
    };
    view! {
        <aside class="tray" id="tray" data-live="" aria-label="Tasks">
            <details>
                <summary>
                    <b>"Tasks"</b>
                    {(running > 0)
                        .then(|| {
                            view! {
                                <Badge shape=Shape::Half tone=Tone::Busy word=format!("{} running", num(running)) />
                            }
                        })}
                    {(failed > 0)
                        .then(|| {
                            view! {
                                <Badge shape=Shape::Diamond tone=Tone::Bad word=format!("{} failed", num(failed)) />
                            }
                        })}
                    <span class="last">{last}</span>
                    <Icon name=Icon::Down />
                </summary>
                <ul class="tray-body">{tasks.into_iter().map(|task| line(task, now)).collect_view()}</ul>
                <p class="tray-more">
                    <a href=all_href>"All tasks"</a>
                </p>
            </details>
        </aside>
    }
}

fn line(task: TrayTask, now: OffsetDateTime) -> impl IntoView {
    let (name, tone) = task.state.shape();
    let object = match task.href {
        Some(href) => view! { <a href=href>{task.object}</a> }.into_any(),
        None => task.object.into_any(),
    };
    let how = match task.state {
        TaskState::Running(Some(percent)) => progress(percent, task.says).into_any(),
        _ => view! { <p>{task.says}</p> }.into_any(),
    };
    view! {
        <li class="task" id=format!("tray-{}", task.id)>
            <Shape name tone />
            <span>{task.what} " " {object}</span>
            {how}
            <Time at=task.since now />
        </li>
    }
}
