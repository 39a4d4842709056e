//! The mark of what a template has inside: two letters on a plate, by the class that OpenShift's catalog has for its icon.
use leptos::prelude::*;

/// `icon`: such as `icon-fedora`. Nothing where there is none.
#[component]
pub fn Mark(#[prop(into)] icon: String) -> impl IntoView {
    letters(&icon).map(|(letters, name)| view! { <span class="mark" aria-hidden="true" title=name>{letters}</span> })
}

/// The letters, and what they stand for. Of one word its first two, of several the first of the first two.
fn letters(icon: &str) -> Option<(String, String)> {
    let class = icon.split_whitespace().last()?;
    let name = class.strip_prefix("icon-").or_else(|| class.strip_prefix("fa-")).unwrap_or(class);
    let words: Vec<&str> = name.split(['-', '_']).filter(|w| !w.is_empty()).collect();
    let letters: String = match words[..] {
        [] => return None,
        [one] => one.chars().take(2).collect(),
        [first, second, ..] => first.chars().take(1).chain(second.chars().take(1)).collect(),
    };
    let mut first = true;
    let raised = letters
        .chars()
        .flat_map(|c| if std::mem::take(&mut first) { c.to_uppercase().collect::<Vec<_>>() } else { vec![c] });
    Some((raised.collect(), words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_two_letters_of_the_icons_class() {
        for (icon, mark) in
            [("icon-fedora", "Fe"), ("icon-other-linux", "Ol"), ("fa fa-windows", "Wi"), ("icon-x", "X")]
        {
            assert_eq!(letters(icon).map(|(letters, _)| letters).as_deref(), Some(mark), "{icon}");
        }
        assert_eq!(letters("icon-other-linux").map(|(_, name)| name).as_deref(), Some("other linux"));
        assert_eq!((letters(""), letters("icon-")), (None, None));
    }
}
