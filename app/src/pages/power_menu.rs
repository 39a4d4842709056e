//! Power of a VM, or of all VMs of a vApp: each line says what it does to the guest, and why it is not possible now.
use crate::parts::*;
use leptos::prelude::*;
use model::{Action, can::WhyNot};

/// One way to change the power.
pub(super) struct PowerOp {
    /// The last part of its address.
    pub slug: &'static str,
    title: &'static str,
    icon: Icon,
    pub vm: Action,
    pub vapp: Action,
    does: &'static str,
    /// What is not written to disk is lost.
    hard: bool,
}

pub(super) const POWER: &[PowerOp] = &[
    PowerOp {
        slug: "power-on",
        title: "Power on",
        icon: Icon::Play,
        vm: Action::VmPowerOn,
        vapp: Action::VappPowerOn,
        does: "Starts it. What waits for the next start takes effect.",
        hard: false,
    },
    PowerOp {
        slug: "shutdown",
        title: "Shut down",
        icon: Icon::Power,
        vm: Action::VmShutdown,
        vapp: Action::VappShutdown,
        does: "Asks the guest to stop. Files are saved, then it is off.",
        hard: false,
    },
    PowerOp {
        slug: "reboot",
        title: "Reboot",
        icon: Icon::Restart,
        vm: Action::VmReboot,
        vapp: Action::VappReboot,
        does: "Asks the guest to start again.",
        hard: false,
    },
    PowerOp {
        slug: "suspend",
        title: "Suspend",
        icon: Icon::Pause,
        vm: Action::VmSuspend,
        vapp: Action::VappSuspend,
        does: "Freezes the guest. Its memory stays on its node, and is lost with it; it goes on from there, and still counts against the quota.",
        hard: false,
    },
    PowerOp {
        slug: "power-off",
        title: "Power off",
        icon: Icon::Plug,
        vm: Action::VmPowerOff,
        vapp: Action::VappPowerOff,
        does: "Pulls the plug. What is not written to disk is lost.",
        hard: true,
    },
    PowerOp {
        slug: "reset",
        title: "Reset",
        icon: Icon::Bolt,
        vm: Action::VmReset,
        vapp: Action::VappReset,
        does: "Pulls the plug and starts again.",
        hard: true,
    },
    PowerOp {
        slug: "discard",
        title: "Discard suspended state",
        icon: Icon::Trash,
        vm: Action::VmDiscard,
        vapp: Action::VappDiscard,
        does: "Forgets where the guest was frozen, and leaves it off. What was only in memory is lost.",
        hard: true,
    },
];

impl PowerOp {
    /// Powering on what is suspended lets it go on.
    fn words(&self, suspended: bool) -> (&'static str, &'static str) {
        match self.vm {
            Action::VmPowerOn if suspended => ("Resume", "The guest goes on where it was frozen."),
            _ => (self.title, self.does),
        }
    }

    pub(super) fn title(&self, suspended: bool) -> &'static str {
        self.words(suspended).0
    }
}

/// All of them. `can` answers for the action that `of` picks, `href` makes the address from the slug.
pub(super) fn power_menu(
    of: fn(&PowerOp) -> Action,
    suspended: bool,
    can: impl Fn(Action) -> Result<(), WhyNot>,
    href: impl Fn(&str) -> String,
) -> AnyView {
    let line = |op: &PowerOp| {
        let (title, more) = op.words(suspended);
        let (icon, action, danger) = (op.icon, href(op.slug), op.hard);
        match can(of(op)) {
            Ok(()) => view! { <MenuForm icon title action more danger /> }.into_any(),
            Err(why) => view! { <MenuOff icon title why /> }.into_any(),
        }
    };
    let soft = POWER.iter().filter(|op| !op.hard).map(line).collect_view();
    let hard = POWER.iter().filter(|op| op.hard).map(line).collect_view();
    view! { <Menu label="Power">{soft} <hr /> {hard}</Menu> }.into_any()
}

/// The one that is wanted most: to start what is off, to stop what runs. None: not possible now.
pub(super) fn main_op(
    of: fn(&PowerOp) -> Action,
    can: impl Fn(Action) -> Result<(), WhyNot>,
) -> Option<&'static PowerOp> {
    POWER.iter().take(2).find(|op| can(of(op)).is_ok())
}

pub(super) fn main_button(op: &PowerOp, suspended: bool, action: String) -> AnyView {
    let (label, icon) = (op.title(suspended), op.icon);
    view! { <PostButton label action icon /> }.into_any()
}

/// The same as a line of a row's menu.
pub(super) fn main_line(op: &PowerOp, suspended: bool, action: String) -> AnyView {
    let ((title, more), icon) = (op.words(suspended), op.icon);
    view! { <MenuForm icon title action more /> }.into_any()
}
