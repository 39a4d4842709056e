//! What users see and change about themselves. It needs no right.
use super::{about::about_facts, browser::browser_words, form_error::form_error, limits::meters, rights::rights_list};
use crate::{
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit},
    shell::{Crumb, Theme},
};
use domain::profile;
use leptos::prelude::*;
use model::{
    Action, Error, Result,
    session::SessionInfo,
    user::{Password, User},
};

const HERE: &str = "/profile";

pub fn routes(r: Routes) -> Routes {
    r.page(HERE, page)
        .form("/profile/edit", edit_page, edit)
        .form("/profile/password", password_page, change_password)
        .act("/profile/sessions/end", end_other_sessions)
}

async fn page(visit: Visit) -> Result<Sheet> {
    let me = profile::get(visit.domain(), &visit.actor).await?;
    let mut sessions = profile::sessions(visit.domain(), &visit.actor, &visit.ask.visitor.session_hash).await?;
    sessions.sort_by_key(|s| !s.current);
    let acts = me.local().then(|| {
        view! {
            <a class="btn" href="/profile/edit">
                "Edit"
            </a>
            <a class="btn" href="/profile/password">
                <Icon name=Icon::Key />
                "Change password"
            </a>
        }
    });
    let says = (!me.local()).then_some("Your name and password come from the identity provider and are changed there.");
    let meters = meters(&me.used, &me.limits);
    let meters = view! { <div class="meters">{meters}</div> };
    let body = view! {
        <PageHead title="Profile" acts=acts.into_any() says=says.into_any() />
        {account(&visit, &me)}
        {session_section(&visit, &sessions)}
        <Section title="Quota" sub="used of what you may have">
            {meters}
        </Section>
    }
    .into_any();
    let about = about_facts(&visit, (me.created_at, me.updated_at, &me.updated_by), me.id.urn());
    let margin = view! {
        {theme_section(&visit)}
        <Section title="About">
            <Facts>{about}</Facts>
        </Section>
    };
    Ok(Sheet::new("Profile", "", vec![Crumb::here("Profile")], body).margin(margin.into_any()))
}

fn account(visit: &Visit, me: &User) -> impl IntoView + use<> {
    let actor = &visit.actor;
    let or_none = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    let (name, full_name, email) = (me.name.clone(), or_none(&me.full_name), or_none(&me.email));
    let org = if actor.org_display_name == actor.org_name {
        actor.org_name.clone()
    } else {
        format!("{} · {}", actor.org_name, actor.org_display_name)
    };
    // with groups from an identity provider these are several, by name only
    let role = if visit.may(Action::RoleView) && actor.role_name == me.role_name {
        let to = visit.at(format!("{}/{}", super::role::LIST, me.role));
        view! { <a href=to>{me.role_name.clone()}</a> }.into_any()
    } else {
        actor.role_name.clone().into_any()
    };
    let by = me.issuer.as_ref().map_or_else(|| "password".to_owned(), |issuer| format!("identity provider {issuer}"));
    let facts = view! {
        <Fact name="User name">{name}</Fact>
        <Fact name="Full name">{full_name}</Fact>
        <Fact name="E-mail">{email}</Fact>
        <Fact name="Organization">{org}</Fact>
        <Fact name="Role">{role}</Fact>
        <Fact name="Signs in by">{by}</Fact>
    };
    let count = plural(actor.rights.len() as u64, "right", "rights");
    let rights = rights_list(actor.rights, actor.rights);
    view! {
        <Section title="You">
            <Facts>{facts}</Facts>
            <Fold title=format!("Your {count}")>{rights}</Fold>
        </Section>
    }
}

fn session_section(visit: &Visit, sessions: &[SessionInfo]) -> impl IntoView + use<> {
    let end = (sessions.len() > 1).then(|| {
        view! {
            <PostButton label="Sign out everywhere else" action="/profile/sessions/end" icon=Icon::SignOut class="btn small" />
        }
    });
    let heads = vec![
        Head::new("Browser"),
        Head::new("Address"),
        Head::new("Signed in").number(),
        Head::new("Last seen").number(),
    ];
    let now = visit.now;
    let rows = sessions
        .iter()
        .enumerate()
        .map(|(n, s)| {
            let (since, seen, address) = (s.created_at, s.last_seen_at, s.address.clone());
            let why = if s.current { "this one" } else { "" };
            let cells = view! {
                <NameCell name=browser_words(&s.agent) why />
                <Cell label="Address">{address}</Cell>
                <Cell label="Signed in" number=true>
                    <Time at=since now />
                </Cell>
                <Cell label="Last seen" number=true>
                    <Time at=seen now />
                </Cell>
            };
            view! { <Row id=format!("session-{n}")>{cells}</Row> }
        })
        .collect_view();
    let sub = plural(sessions.len() as u64, "place where you are signed in", "places where you are signed in");
    view! {
        <Section title="Sessions" sub acts=end.into_any()>
            <Table caption="Your sessions" heads>
                {rows}
            </Table>
        </Section>
    }
}

fn theme_section(visit: &Visit) -> impl IntoView + use<> {
    let now = visit.ask.theme;
    let buttons = Theme::ALL
        .map(|(this, label)| {
            let chosen = this == now;
            view! {
                <button
                    class="btn small"
                    name="theme"
                    value=this.word()
                    aria-pressed=if chosen { "true" } else { "false" }
                >
                    {chosen.then(|| view! { <Icon name=Icon::Check /> })}
                    {label}
                </button>
            }
        })
        .collect_view();
    view! {
        <Section title="Theme" sub="of this browser">
            <form method="post" action="/theme" class="acts">
                {buttons}
            </form>
        </Section>
    }
}

fn crumbs(last: &str) -> Vec<Crumb> {
    vec![Crumb::new("Profile", HERE), Crumb::here(last)]
}

/// For users of an identity provider: why there is no form.
fn elsewhere(why: Error) -> AnyView {
    let why = why.to_string();
    let back = view! {
        <a class="btn" href=HERE>
            "Back"
        </a>
    };
    view! {
        <Note tone=Tone::Warn acts=back.into_any()>
            {why}
        </Note>
    }
    .into_any()
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let me = profile::get(visit.domain(), &visit.actor).await?;
    let fill = visit.fill();
    let form = match profile::may_edit(&me) {
        Err(why) => elsewhere(why),
        Ok(()) => {
            let fields = view! {
                <LockedField name="name" label="User name" value=me.name.clone() why="set by an administrator" width=Width::Half />
                <TextField
                    name="full_name"
                    label="Full name"
                    value=fill.value("full_name", &me.full_name)
                    error=fill.error("full_name")
                    optional=true
                    autocomplete="name"
                    width=Width::Half
                />
                <EmailField
                    name="email"
                    label="E-mail"
                    value=fill.value("email", &me.email)
                    error=fill.error("email")
                    optional=true
                    autocomplete="email"
                    width=Width::Half
                />
            };
            view! {
                <form method="post" class="form" novalidate>
                    {form_error(&fill, &[("full_name", "Full name"), ("email", "E-mail")])}
                    <input type="hidden" name="version" value=fill.version(me.version) />
                    <FormSection title="You">{fields}</FormSection>
                    <FormEnd submit="Save" cancel_href=HERE />
                </form>
            }
            .into_any()
        }
    };
    let body = view! {
        <PageHead title="Edit profile" />
        {form}
    }
    .into_any();
    Ok(Sheet::new("Edit profile", "", crumbs("Edit"), body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let (full_name, email) = (values.text("full_name"), values.text("email"));
    profile::edit(visit.domain(), &visit.actor, values.version()?, full_name, email).await?;
    Ok(Done::new(HERE, "Your profile is saved."))
}

async fn password_page(visit: Visit) -> Result<Sheet> {
    let me = profile::get(visit.domain(), &visit.actor).await?;
    let fill = visit.fill();
    let form = match profile::may_change_password(&me) {
        Err(why) => elsewhere(why),
        Ok(()) => {
            let hint = visit.domain().passwords.hint();
            let fields = view! {
                <PasswordField
                    name="old_password"
                    label="Present password"
                    error=fill.error("old_password")
                    autocomplete="current-password"
                    width=Width::Half
                />
                <PasswordField
                    name="password"
                    label="New password"
                    error=fill.error("password")
                    hint=hint
                    autocomplete="new-password"
                    width=Width::Half
                />
            };
            view! {
                <form method="post" class="form" novalidate>
                    {form_error(&fill, &[("old_password", "Present password"), ("password", "New password")])}
                    <FormSection title="Password" lede="Your other sessions end; this one stays.">
                        {fields}
                    </FormSection>
                    <FormEnd submit="Change password" cancel_href=HERE />
                </form>
            }
            .into_any()
        }
    };
    let body = view! {
        <PageHead title="Change password" />
        {form}
    }
    .into_any();
    Ok(Sheet::new("Change password", "", crumbs("Password"), body).still())
}

async fn change_password(visit: Visit, values: Values) -> Result<Done> {
    let (old, new) = (Password::new(values.get("old_password")), Password::new(values.get("password")));
    let session = &visit.ask.visitor.session_hash;
    profile::change_password(visit.domain(), &visit.actor, session, old, new).await?;
    Ok(Done::new(HERE, "Your password is changed. Your other sessions have ended."))
}

async fn end_other_sessions(visit: Visit, _: Values) -> Result<Done> {
    let ended = profile::end_other_sessions(visit.domain(), &visit.actor, &visit.ask.visitor.session_hash).await?;
    Ok(Done::new(HERE, format!("{} ended.", plural(ended, "session has", "sessions have"))))
}
