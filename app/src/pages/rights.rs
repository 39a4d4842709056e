//! Rights by their categories: to read, and to choose from.
use crate::{
    parts::{CheckField, CheckOff, FieldGroup, Icon},
    portal::Fill,
};
use leptos::prelude::*;
use model::{Right, Rights};

/// In the order of `Right::ALL`; what stands before a right's colon is its category.
fn by_category(rights: Rights) -> Vec<(&'static str, Vec<Right>)> {
    let mut groups: Vec<(&'static str, Vec<Right>)> = Vec::new();
    for right in rights.iter() {
        match groups.iter_mut().find(|(category, _)| *category == right.category()) {
            Some((_, group)) => group.push(right),
            None => groups.push((right.category(), vec![right])),
        }
    }
    groups
}

/// A right's name without its category.
fn short_name(right: Right) -> &'static str {
    right.name().split_once(": ").map_or(right.name(), |(_, name)| name)
}

/// All of `listed`, with a tick before those in `has`.
pub(super) fn rights_list(has: Rights, listed: Rights) -> impl IntoView + use<> {
    let groups = by_category(listed).into_iter().map(|(category, rights)| {
        let lines = rights.into_iter().map(|r| line(r, has.has(r))).collect_view();
        view! {
            <div>
                <h3>{category}</h3>
                <ul>{lines}</ul>
            </div>
        }
    });
    view! { <div class="rights">{groups.collect_view()}</div> }
}

fn line(right: Right, has: bool) -> impl IntoView {
    if has {
        view! {
            <li>
                <Icon name=Icon::Check />
                <span>{short_name(right)}</span>
            </li>
        }
        .into_any()
    } else {
        view! {
            <li class="off">
                <span class="sr-only">"Not: "</span>
                <span>{short_name(right)}</span>
            </li>
        }
        .into_any()
    }
}

/// Boxes named `rights`. What can't be given is listed with the reason; what the role holds already may stay.
pub(super) fn rights_fields(
    fill: &Fill,
    stored: Rights,
    grantable: Rights,
    org_is_provider: bool,
) -> impl IntoView + use<> {
    let groups = by_category(Rights::all()).into_iter().map(|(category, rights)| {
        let boxes = rights
            .into_iter()
            .map(|r| {
                let held = stored.has(r);
                match (grantable.has(r), held) {
                    (true, _) => check(fill, r, held, ""),
                    (false, true) => {
                        check(fill, r, held, "You have not got it: once taken away, you can't give it back.")
                    }
                    (false, false) if !org_is_provider && !r.for_tenants() => off(r, "the provider's roles only"),
                    (false, false) => off(r, "you have not got it yourself"),
                }
            })
            .collect_view();
        view! { <FieldGroup label=category>{boxes}</FieldGroup> }
    });
    let groups = groups.collect_view();
    let error = fill.error("rights").map(|error| {
        view! {
            <p class="err">
                <Icon name=Icon::Warn />
                <span>{error}</span>
            </p>
        }
    });
    view! {
        <div class="field" id="rights" tabindex="-1">
            {error}
            <div class="rights">{groups}</div>
        </div>
    }
}

fn check(fill: &Fill, right: Right, held: bool, hint: &'static str) -> AnyView {
    let checked = fill.checked("rights", right.name(), held);
    let (id, value) = (format!("right-{}", right as u32), right.name());
    view! { <CheckField id name="rights" value label=short_name(right) checked hint /> }.into_any()
}

fn off(right: Right, why: &'static str) -> AnyView {
    view! { <CheckOff label=short_name(right) why /> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_right_is_in_one_group() {
        let groups = by_category(Rights::all());
        assert_eq!(groups.iter().map(|(_, g)| g.len()).sum::<usize>(), Right::ALL.len());
        let mut names: Vec<_> = groups.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), groups.len());
    }
}
