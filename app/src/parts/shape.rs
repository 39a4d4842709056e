//! State shapes, read without colour: solid is seen, half is changing, dashed is last known, cut out is broken.
use super::Tone;
use leptos::prelude::*;
use leptos::tachys::html::InertElement;

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident => $drawing:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Shape { $($(#[$doc])* $name),* }

        impl Shape {
            pub const ALL: &[Shape] = &[$(Shape::$name),*];

            fn drawing(self) -> &'static str {
                match self { $(Shape::$name => $drawing),* }
            }
        }
    };
}

shapes! {
    /// Seen and running.
    Disc => r#"<circle cx="8" cy="8" r="5" fill="currentColor"/>"#,
    /// Off.
    Ring => r#"<circle cx="8" cy="8" r="4.25" fill="none" stroke="currentColor" stroke-width="1.75"/>"#,
    /// Changing.
    Half => r#"<circle cx="8" cy="8" r="4.25" fill="none" stroke="currentColor" stroke-width="1.75"/><path d="M8 3.75a4.25 4.25 0 0 1 0 8.5z" fill="currentColor"/>"#,
    /// Suspended.
    Bars => r#"<path d="M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3zM5.75 5.75h1.5v4.5h-1.5zm3 0h1.5v4.5h-1.5z" fill="currentColor" fill-rule="evenodd"/>"#,
    /// Last known: it ran.
    Stale => r#"<circle cx="8" cy="8" r="4.6" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.2 1.42"/><circle cx="8" cy="8" r="2" fill="currentColor"/>"#,
    /// Last known: it was off.
    StaleOff => r#"<circle cx="8" cy="8" r="4.6" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.2 1.42"/>"#,
    /// Waits.
    Clock => r#"<circle cx="8" cy="8" r="4.6" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M8 5.4V8l1.7 1.1" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/>"#,
    /// Failed.
    Diamond => r#"<path d="M8 1.75 14.25 8 8 14.25 1.75 8zM7.15 4.75h1.7l-.2 4.1h-1.3zM8 9.75a.95.95 0 1 1 0 1.9.95.95 0 0 1 0-1.9z" fill="currentColor" fill-rule="evenodd"/>"#,
    /// Needs a look.
    Triangle => r#"<path d="M8 2 14.5 13.25h-13zM7.2 5.75h1.6l-.2 3.75H7.4zM8 10.2a.9.9 0 1 1 0 1.8.9.9 0 0 1 0-1.8z" fill="currentColor" fill-rule="evenodd"/>"#,
    /// Missing.
    Missing => r#"<circle cx="8" cy="8" r="5" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.2 1.42"/><path d="m6 6 4 4M10 6l-4 4" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round"/>"#,
    /// Changed by hand.
    Differs => r#"<rect x="2.75" y="2.75" width="10.5" height="10.5" rx="1.5" fill="currentColor"/><path d="M5 6.5h6M5 9.5h6M9.6 4.4 6.4 11.6" fill="none" stroke="var(--color-sheet)" stroke-width="1.25"/>"#,
    /// Moves.
    Moving => r#"<path d="M3 5.75h5.5V3L13.5 8l-5 5v-2.75H3z" fill="currentColor"/>"#,
    /// Done.
    Done => r#"<path d="M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3z" fill="currentColor"/><path d="m5.6 8.2 1.7 1.7 3.2-3.4" fill="none" stroke="var(--color-sheet)" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"/>"#,
    /// Still to come.
    Next => r#"<circle cx="8" cy="8" r="4.25" fill="none" stroke="currentColor" stroke-width="1.25" stroke-dasharray="1.6 1.74"/>"#,
    /// Refused, or closed for new work.
    Barred => r#"<circle cx="8" cy="8" r="4.5" fill="none" stroke="currentColor" stroke-width="1.75"/><path d="M5 8h6" fill="none" stroke="currentColor" stroke-width="1.75"/>"#,
}

/// `<Shape name=Shape::Disc tone=Tone::Ok />`
#[component]
pub fn Shape(name: Shape, #[prop(optional)] tone: Tone) -> impl IntoView {
    let class = tone.class();
    InertElement::new(format!(
        r#"<svg class="s {class}" viewBox="0 0 16 16" aria-hidden="true">{}</svg>"#,
        name.drawing()
    ))
}
