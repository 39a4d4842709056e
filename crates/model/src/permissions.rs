//! Who may do what, as a table people can read. `docs/PERMISSIONS.md` is this, and a test compares them.
use crate::{Action, action::Reach, role::Predefined, share::Access};
use std::fmt::Write;

pub fn markdown() -> String {
    let mut out = String::from(
        "# Who may do what\n\nPrinted from the code by `ssvirt permissions`; a test fails when this file differs.\n\n\
         - **all**: in every organization. **org**: in one's own organization. **own**: one's own things only, and what\n  \
         is shared with one: *read* for what only looks, *change* or *full control* where the last column says so.\n\
         - A role of one's own is a set of rights; it allows what its rights allow here.\n\
         - Anything else is refused: with the name of the right where only the right is missing, and like a missing object where the\n  \
         object is another organization's.\n\n| to | takes the right |",
    );
    for role in Predefined::ALL {
        let _ = write!(out, " {} |", role.name());
    }
    out.push_str(" shared for |\n|---|---|");
    out.push_str(&":-:|".repeat(Predefined::ALL.len() + 1));
    out.push('\n');
    for &action in Action::ALL {
        let _ = write!(out, "| {} | {} |", action.phrase(), action.right().map_or("", |r| r.name()));
        for role in Predefined::ALL {
            let _ = write!(out, " {} |", word(action, role));
        }
        let _ = write!(out, " {} |", shared(action));
        out.push('\n');
    }
    out
}

/// How far a vApp or catalog has to be shared for it.
fn shared(action: Action) -> &'static str {
    match action.access() {
        _ if action.reach() != Reach::Mine || !action.on_shared() => "",
        Access::ReadOnly => "read",
        Access::Change => "change",
        Access::FullControl => "full control",
    }
}

fn word(action: Action, role: Predefined) -> &'static str {
    let has = action.right().is_some_and(|r| role.rights().has(r));
    let provider = role.provider_only();
    match action.reach() {
        Reach::Oneself => "own",
        Reach::OrgOrOwn if !has => "own",
        Reach::Mine if action.right().is_some() && !has => "",
        Reach::Mine if provider => "all",
        Reach::Mine if role.rights().has(action.sees_all()) => "org",
        Reach::Mine => "own",
        Reach::Provider if has && provider => "all",
        Reach::Org | Reach::OrgOrOwn if has && provider => "all",
        Reach::Org | Reach::OrgOrOwn if has => "org",
        _ => "",
    }
}
