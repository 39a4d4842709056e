//! The layout of both portals: spine (where you are), bar, page, margin, tasks tray. The provider's spine is dark, so that
//! nobody mistakes whose cloud they are changing.
use super::Theme;
use crate::{
    islands::Live,
    parts::{Icon, TaskTray, Toast, Tray},
};
use leptos::prelude::*;
use leptos_meta::Title;
use time::{OffsetDateTime, macros::format_description};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Provider,
    Tenant,
}

/// An organization one can switch to.
#[derive(Clone, Debug)]
pub struct OrgLink {
    pub name: String,
    pub more: String,
    pub href: String,
}

#[derive(Clone, Debug)]
pub struct NavGroup {
    /// Empty for the first group, which is Home.
    pub title: String,
    pub links: Vec<NavLink>,
}

#[derive(Clone, Debug)]
pub struct NavLink {
    pub icon: Icon,
    pub label: String,
    pub href: String,
    pub count: Option<String>,
    pub current: bool,
}

/// A step on the way to the page; the last one is the page itself and needs no address.
#[derive(Clone, Debug)]
pub struct Crumb {
    pub label: String,
    pub href: String,
}

impl Crumb {
    pub fn new(label: impl Into<String>, href: impl Into<String>) -> Self {
        Crumb { label: label.into(), href: href.into() }
    }

    pub fn here(label: impl Into<String>) -> Self {
        Crumb::new(label, "")
    }
}

/// What is around a page: the same for all pages of one request's user.
#[derive(Clone, Debug)]
pub struct Frame {
    pub place: Place,
    pub org_name: String,
    pub org_display_name: String,
    /// Where the organization's box leads: for the provider, all tenants and the way back. Empty: it is only a name.
    pub org_links: Vec<OrgLink>,
    pub home: String,
    pub nav: Vec<NavGroup>,
    pub user: String,
    pub role: String,
    pub theme: Theme,
    pub tray: Option<Tray>,
    pub toast: Option<String>,
    pub now: OffsetDateTime,
}

/// `title` is the browser's. With `live` the page's content refreshes itself when something changes; forms leave it out.
#[component]
pub fn Layout(
    frame: Frame,
    #[prop(into)] title: String,
    crumbs: Vec<Crumb>,
    #[prop(optional)] live: bool,
    #[prop(optional)] margin: Option<AnyView>,
    children: Children,
) -> impl IntoView {
    let class = match frame.place {
        Place::Provider => "shell provider",
        Place::Tenant => "shell",
    };
    let live = live.then_some("");
    let main_class = margin.is_some().then_some("has-margin");
    let toast = frame.toast.clone();
    let tray = frame.tray.clone();
    view! {
        <Title text=format!("{title} · SSVirt") />
        <a class="skip" href="#main">
            "Skip to content"
        </a>
        <div class=class>
            <Spine frame=frame.clone() />
            <div class="sheet">
                <Bar frame crumbs />
                <main id="main" tabindex="-1" class=main_class>
                    <div class="col" id="page" data-live=live>
                        {children()}
                    </div>
                    {margin
                        .map(|margin| {
                            view! {
                                <aside class="margin" id="margin" data-live=live aria-label="About this page">
                                    {margin}
                                </aside>
                            }
                        })}
                </main>
                {tray.map(|tray| view! { <TaskTray tray /> })}
            </div>
        </div>
        {toast.map(|text| view! { <Toast text /> })}
    }
}

#[component]
fn Spine(frame: Frame) -> impl IntoView {
    let provider = frame.place == Place::Provider;
    view! {
        <nav class="spine" id="spine" popover="auto" aria-label="Main">
            <a class="brand" href=frame.home.clone()>
                <Logo />
                "SSVirt"
                {provider.then(|| view! { <small>"Provider"</small> })}
            </a>
            <OrgBox name=frame.org_name display_name=frame.org_display_name links=frame.org_links />
            <div class="nav" id="nav" data-live="">
                {frame.nav.into_iter().map(nav_group).collect_view()}
            </div>
            <p class="spine-foot">{concat!("SSVirt ", env!("CARGO_PKG_VERSION"))}</p>
        </nav>
    }
}

#[component]
pub(super) fn Logo() -> impl IntoView {
    view! {
        <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
            <rect
                x="6.75"
                y="2.75"
                width="10.5"
                height="10.5"
                rx="1.5"
                fill="none"
                stroke="currentColor"
                stroke-width="1.5"
                stroke-dasharray="2.6 1.9"
            />
            <rect x="2" y="6" width="12" height="12" rx="2" fill="currentColor" />
        </svg>
    }
}

#[component]
fn OrgBox(name: String, display_name: String, links: Vec<OrgLink>) -> impl IntoView {
    let names = view! {
        <span>
            <b>{name}</b>
            <small>{display_name}</small>
        </span>
    };
    if links.is_empty() {
        return view! { <div class="org org-name">{names}</div> }.into_any();
    }
    view! {
        <details class="org" name="menu">
            <summary class="org-name">{names} <Icon name=Icon::Down /></summary>
            <div class="panel">
                <h3>"Go to"</h3>
                {links
                    .into_iter()
                    .map(|link| {
                        view! {
                            <a class="item" href=link.href>
                                <Icon name=Icon::Org />
                                <b>{link.name}</b>
                                <small>{link.more}</small>
                            </a>
                        }
                    })
                    .collect_view()}
            </div>
        </details>
    }
    .into_any()
}

fn nav_group(group: NavGroup) -> impl IntoView {
    view! {
        <div>
            {(!group.title.is_empty()).then(|| view! { <h2>{group.title}</h2> })}
            <ul>
                {group
                    .links
                    .into_iter()
                    .map(|link| {
                        view! {
                            <li>
                                <a href=link.href aria-current=link.current.then_some("page")>
                                    <Icon name=link.icon />
                                    {link.label}
                                    {link.count.map(|count| view! { <span>{count}</span> })}
                                </a>
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
        </div>
    }
}

#[component]
fn Bar(frame: Frame, crumbs: Vec<Crumb>) -> impl IntoView {
    let as_of = frame.now.format(format_description!("As of [hour]:[minute]:[second] UTC")).unwrap_or_default();
    view! {
        <header class="bar">
            <button class="btn icon quiet navbtn" popovertarget="spine" aria-label="Menu">
                <Icon name=Icon::Menu />
            </button>
            <nav class="crumbs" aria-label="Breadcrumb">
                <ol>
                    {crumbs
                        .into_iter()
                        .map(|crumb| {
                            let inside = if crumb.href.is_empty() {
                                view! { <span aria-current="page">{crumb.label}</span> }.into_any()
                            } else {
                                view! { <a href=crumb.href>{crumb.label}</a> }.into_any()
                            };
                            view! { <li>{inside}</li> }
                        })
                        .collect_view()}
                </ol>
            </nav>
            <noscript>
                <span class="live">{as_of}</span>
            </noscript>
            <Live />
            <UserMenu user=frame.user role=frame.role theme=frame.theme />
        </header>
    }
}

#[component]
fn UserMenu(user: String, role: String, theme: Theme) -> impl IntoView {
    let initial = user.chars().next().map(|first| first.to_uppercase().to_string());
    view! {
        <details class="me" name="menu">
            <summary data-initial=initial>
                <span class="name">{user.clone()}</span>
                <Icon name=Icon::Down />
            </summary>
            <div class="panel end">
                <h3>{format!("{user} · {role}")}</h3>
                <a class="item" href="/profile">
                    <Icon name=Icon::User />
                    <b>"Profile"</b>
                </a>
                <hr />
                <form method="post" action="/theme">
                    <h3>"Theme"</h3>
                    {Theme::ALL
                        .map(|(this, label)| {
                            let chosen = this == theme;
                            view! {
                                <button
                                    class="item"
                                    name="theme"
                                    value=this.word()
                                    aria-pressed=if chosen { "true" } else { "false" }
                                >
                                    {chosen.then(|| view! { <Icon name=Icon::Check /> })}
                                    <b>{label}</b>
                                </button>
                            }
                        })
                        .collect_view()}
                </form>
                <hr />
                <form method="post" action="/sign-out">
                    <button class="item">
                        <Icon name=Icon::SignOut />
                        <b>"Sign out"</b>
                    </button>
                </form>
            </div>
        </details>
    }
}
