//! The HTML document: head, theme, the hatching that all bars share, and the islands every page has.
use crate::{
    islands::{Copying, Menus},
    parts::Hatches,
};
use leptos::prelude::*;
use leptos_meta::MetaTags;

/// Where the site's files are. It changes with their content, so that they can be kept for ever. In context.
#[derive(Clone, Debug)]
pub struct SiteRoot(pub String);

/// The reader's choice of theme, kept in the cookie `theme`. In context; without it the system decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
    Contrast,
}

impl Theme {
    pub const ALL: [(Theme, &str); 4] =
        [(Theme::System, "System"), (Theme::Light, "Light"), (Theme::Dark, "Dark"), (Theme::Contrast, "High contrast")];

    /// As in the cookie and the form; anything else is the system's choice.
    pub fn parse(word: &str) -> Self {
        Self::ALL.into_iter().map(|(theme, _)| theme).find(|theme| theme.word() == word).unwrap_or_default()
    }

    pub fn word(self) -> &'static str {
        match self {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
            Theme::Contrast => "contrast",
        }
    }
}

/// In the page and not in the stylesheet: from there Chromium now and then sees it too late and reports a broken transition.
/// The policy allows it by its hash: a page fetched again is parsed under the first one's policy, where its nonce is unknown.
pub const INLINE_STYLE: &str = "@media (prefers-reduced-motion:no-preference){@view-transition{navigation:auto}}";
pub const INLINE_STYLE_HASH: &str = "sha256-SX7UqyxGVDSLzV90icKkPuaEGi8NcinaZfagIyBzAuY=";

/// The whole document around a page's `body`. Needs `SiteRoot` and leptos_meta's context.
pub fn html_document<V: IntoView>(options: LeptosOptions, body: impl FnOnce() -> V) -> impl IntoView {
    let SiteRoot(root) = expect_context();
    let theme = use_context::<Theme>().unwrap_or_default();
    let pkg = format!("{root}/{}", options.site_pkg_dir);
    view! {
        <!DOCTYPE html>
        <html lang="en" data-theme=(theme != Theme::System).then(|| theme.word())>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <style>{INLINE_STYLE}</style>
                <link
                    rel="preload"
                    href=format!("{pkg}/fonts/hanken-grotesk.woff2")
                    r#as="font"
                    r#type="font/woff2"
                    crossorigin=""
                />
                <link rel="stylesheet" href=format!("{pkg}/{}.css", options.output_name) />
                <link rel="icon" href=format!("{root}/favicon.svg") r#type="image/svg+xml" />
                <AutoReload options=options.clone() />
                <HydrationScripts options islands=true root />
                <MetaTags />
            </head>
            <body>
                <Hatches />
                {body()}
                <Menus />
                <Copying />
            </body>
        </html>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_is_read_as_it_is_written() {
        for (theme, _) in Theme::ALL {
            assert_eq!(Theme::parse(theme.word()), theme);
        }
        assert_eq!(Theme::parse("plaid"), Theme::System);
    }
}
