//! Icons: one set on a 16-unit grid, 1.5 line, round ends. They stand beside a word, except more, close and copy.
use leptos::prelude::*;
use leptos::tachys::html::InertElement;

macro_rules! icons {
    ($($name:ident => $drawing:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Icon { $($name),* }

        impl Icon {
            pub const ALL: &[Icon] = &[$(Icon::$name),*];

            fn drawing(self) -> &'static str {
                match self { $(Icon::$name => $drawing),* }
            }
        }
    };
}

icons! {
    Arrow => r#"<path d="M3 8h10M9.5 4.5 13 8l-3.5 3.5"/>"#,
    Audit => r#"<path d="M3.5 2.25h6.25l2.75 2.75v8.75h-9zM9.5 2.5v2.75h2.75M5.75 8h4.5M5.75 10.75h3"/>"#,
    Bolt => r#"<path d="M9.25 1.75 3.5 9h4l-.75 5.25L12.5 7h-4z"/>"#,
    Catalog => r#"<path d="M8 4.25C6.5 3.25 4.5 2.9 2 3v9.5c2.5-.1 4.5.25 6 1.25 1.5-1 3.5-1.35 6-1.25V3c-2.5-.1-4.5.25-6 1.25zM8 4.25v9.5"/>"#,
    Chart => r#"<path d="M2.5 13.25h11M4 10.75v-3M8 10.75v-7.5M12 10.75v-5"/>"#,
    Check => r#"<path d="m3 8.5 3.25 3.25L13 5"/>"#,
    Clock => r#"<circle cx="8" cy="8" r="5.75"/><path d="M8 4.75V8l2.25 1.5"/>"#,
    Close => r#"<path d="m4 4 8 8M12 4l-8 8"/>"#,
    Code => r#"<path d="M5.25 4.5 1.75 8l3.5 3.5M10.75 4.5l3.5 3.5-3.5 3.5M9.25 3l-2.5 10"/>"#,
    Contrast => r#"<circle cx="8" cy="8" r="5.5"/><path d="M8 2.5v11a5.5 5.5 0 0 0 0-11z" fill="currentColor"/>"#,
    Copy => r#"<rect x="5.75" y="5.75" width="7.5" height="7.5" rx="1.5"/><path d="M10.25 5.75v-1.5a1.5 1.5 0 0 0-1.5-1.5h-4.5a1.5 1.5 0 0 0-1.5 1.5v4.5a1.5 1.5 0 0 0 1.5 1.5h1.5"/>"#,
    Disk => r#"<ellipse cx="8" cy="4.25" rx="5" ry="1.9"/><path d="M3 4.25v7.5c0 1.05 2.25 1.9 5 1.9s5-.85 5-1.9v-7.5M3 8c0 1.05 2.25 1.9 5 1.9S13 9.05 13 8"/>"#,
    Down => r#"<path d="m4 6 4 4 4-4"/>"#,
    Download => r#"<path d="M8 2.5v7M5 7l3 3 3-3M3 12.75h10"/>"#,
    Events => r#"<path d="M1.75 8.5h3L6.75 3l3 10 2-4.5h2.5"/>"#,
    Expand => r#"<path d="M9.75 2.75h3.5v3.5M6.25 13.25h-3.5v-3.5M13 3 9.5 6.5M3 13l3.5-3.5"/>"#,
    Eye => r#"<path d="M1.5 8C3 5.25 5.25 3.75 8 3.75S13 5.25 14.5 8C13 10.75 10.75 12.25 8 12.25S3 10.75 1.5 8z"/><circle cx="8" cy="8" r="1.75"/>"#,
    Home => r#"<path d="M2.5 7.25 8 2.75l5.5 4.5M4 6.25v7h8v-7"/>"#,
    Hub => r#"<circle cx="8" cy="8" r="2.25"/><circle cx="3" cy="3.5" r="1.25"/><circle cx="13" cy="3.5" r="1.25"/><circle cx="8" cy="14" r="1.25"/><path d="m3.95 4.35 2.4 2.1M12.05 4.35l-2.4 2.1M8 10.25v2.5"/>"#,
    Info => r#"<circle cx="8" cy="8" r="5.75"/><path d="M8 7.25v3.5M8 5v.01"/>"#,
    Key => r#"<circle cx="5" cy="11" r="2.75"/><path d="m7 9 5.75-5.75M10.5 5.5l1.75 1.75"/>"#,
    Keyboard => r#"<rect x="1.75" y="4" width="12.5" height="8" rx="1.5"/><path d="M4.25 6.75h.01M6.75 6.75h.01M9.25 6.75h.01M11.75 6.75h.01M5.25 9.5h5.5"/>"#,
    Left => r#"<path d="m10 4-4 4 4 4"/>"#,
    Lock => r#"<rect x="3.5" y="7" width="9" height="6.25" rx="1.25"/><path d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2"/>"#,
    Menu => r#"<path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11"/>"#,
    More => r#"<g fill="currentColor" stroke="none"><circle cx="3.25" cy="8" r="1.25"/><circle cx="8" cy="8" r="1.25"/><circle cx="12.75" cy="8" r="1.25"/></g>"#,
    Network => r#"<rect x="5.75" y="2" width="4.5" height="3.5" rx=".75"/><rect x="1.75" y="10.5" width="4.5" height="3.5" rx=".75"/><rect x="9.75" y="10.5" width="4.5" height="3.5" rx=".75"/><path d="M8 5.5V8M4 10.5V8h8v2.5"/>"#,
    Org => r#"<path d="M2.75 13.25V4.5L8 2.5v10.75M8 6.25l5.25 1.5v5.5M1.75 13.25h12.5M5.25 6.5v.01M5.25 9.25v.01M10.75 9.75v.01"/>"#,
    Paste => r#"<rect x="3" y="3.25" width="10" height="10.5" rx="1.25"/><path d="M6 3.25V2h4v1.25M5.75 7h4.5M5.75 9.75h3"/>"#,
    Pause => r#"<path d="M5.75 3.5v9M10.25 3.5v9"/>"#,
    Play => r#"<path d="M5 3.25v9.5L12.75 8z"/>"#,
    Plug => r#"<path d="M5.75 1.75v3M10.25 1.75v3M3.75 4.75h8.5V8a4.25 4.25 0 0 1-8.5 0zM8 12.25v2"/>"#,
    Plus => r#"<path d="M8 3v10M3 8h10"/>"#,
    Power => r#"<path d="M8 2.5V8M4.6 4.6a4.8 4.8 0 1 0 6.8 0"/>"#,
    Restart => r#"<path d="M13 8a5 5 0 1 1-1.6-3.65"/><path d="M13.25 2.25V5h-2.75"/>"#,
    Right => r#"<path d="m6 4 4 4-4 4"/>"#,
    Search => r#"<circle cx="7" cy="7" r="4.25"/><path d="m10.25 10.25 3.25 3.25"/>"#,
    Settings => r#"<circle cx="8" cy="8" r="2"/><path d="M8 1.75v2M8 12.25v2M1.75 8h2M12.25 8h2M3.6 3.6 5 5M11 11l1.4 1.4M3.6 12.4 5 11M11 5l1.4-1.4"/>"#,
    SignIn => r#"<path d="M9.5 2.75h3.25v10.5H9.5M2.5 8H9M6.5 5.25 9.25 8 6.5 10.75"/>"#,
    SignOut => r#"<path d="M6.5 2.75H3.25v10.5H6.5M7 8h6.5M11 5.25 13.75 8 11 10.75"/>"#,
    Tag => r#"<path d="M2.5 2.5h5.25l6 6-5.25 5.25-6-6z"/><circle cx="5.25" cy="5.25" r=".75"/>"#,
    Tasks => r#"<path d="m2.25 4.5 1.25 1.25L5.75 3.5M2.25 11l1.25 1.25 2.25-2.25M8.25 4.75h5.5M8.25 11.25h5.5"/>"#,
    Trash => r#"<path d="M2.75 4.25h10.5M6.25 4V2.5h3.5V4M4 4.25l.6 9h6.8l.6-9M6.75 7v3.75M9.25 7v3.75"/>"#,
    Up => r#"<path d="m4 10 4-4 4 4"/>"#,
    User => r#"<circle cx="8" cy="5.5" r="2.5"/><path d="M3 13.25c.6-2.6 2.5-3.75 5-3.75s4.4 1.15 5 3.75"/>"#,
    Users => r#"<circle cx="6" cy="5.75" r="2.25"/><path d="M1.75 13c.5-2.35 2.1-3.5 4.25-3.5s3.75 1.15 4.25 3.5M10.25 3.75a2.25 2.25 0 0 1 0 4.1M12 9.75c1.25.45 2 1.5 2.25 3.25"/>"#,
    Vapp => r#"<rect x="2.25" y="2.25" width="7" height="7" rx="1.25"/><path d="M11.5 6.25h1a1.25 1.25 0 0 1 1.25 1.25v5a1.25 1.25 0 0 1-1.25 1.25h-5a1.25 1.25 0 0 1-1.25-1.25v-1"/>"#,
    Vdc => r#"<rect x="2.5" y="2.5" width="11" height="4.5" rx="1"/><rect x="2.5" y="9" width="11" height="4.5" rx="1"/><path d="M5 4.75h.01M5 11.25h.01M8 4.75h3M8 11.25h3"/>"#,
    Vm => r#"<rect x="2.25" y="2.75" width="11.5" height="8" rx="1.25"/><path d="M5.5 13.25h5M8 10.75v2.5"/>"#,
    Warn => r#"<path d="M8 2.25 14.25 13H1.75zM8 6.5v3M8 11.25v.01"/>"#,
    Work => r#"<path d="M2.5 4h8M2.5 8h11M2.5 12h5.5M12.75 2.75v2.5M10.75 10.75v2.5"/>"#,
}

impl Icon {
    /// Arrows point the other way in right-to-left scripts.
    fn turns(self) -> bool {
        matches!(self, Icon::Arrow | Icon::Left | Icon::Right | Icon::SignIn | Icon::SignOut)
    }
}

/// `<Icon name=Icon::Plus />`
#[component]
pub fn Icon(name: Icon) -> impl IntoView {
    let class = if name.turns() { "i turns" } else { "i" };
    InertElement::new(format!(
        r#"<svg class="{class}" viewBox="0 0 16 16" aria-hidden="true">{}</svg>"#,
        name.drawing()
    ))
}
