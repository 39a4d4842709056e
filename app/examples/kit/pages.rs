//! Whole pages with made-up content: what a page author's code looks like.
use app::{parts::*, shell::*};
use leptos::prelude::*;
use time::{Duration, OffsetDateTime, macros::datetime};

pub(crate) const NOW: OffsetDateTime = datetime!(2026-11-16 12:07:31 UTC);

pub(crate) fn provider_frame(current: &str) -> Frame {
    let link = |icon, label: &str, href: &str, count: &str| NavLink {
        icon,
        label: label.into(),
        href: href.into(),
        count: (!count.is_empty()).then(|| count.into()),
        current: label == current,
    };
    let group = |title: &str, links| NavGroup { title: title.into(), links };
    Frame {
        place: Place::Provider,
        org_name: "System".into(),
        org_display_name: "all organizations".into(),
        org_links: vec![
            OrgLink { name: "acme".into(), more: "Acme Manufacturing".into(), href: "dashboard.html".into() },
            OrgLink { name: "globex".into(), more: "Globex Trading".into(), href: "dashboard.html".into() },
        ],
        home: "dashboard.html".into(),
        nav: vec![
            group("", vec![link(Icon::Home, "Home", "dashboard.html", "")]),
            group(
                "Tenants",
                vec![
                    link(Icon::Org, "Organizations", "organizations.html", "3"),
                    link(Icon::Vdc, "VDCs", "kit.html", "3"),
                    link(Icon::Users, "Users", "kit.html", "7"),
                    link(Icon::Key, "Roles and rights", "kit.html", ""),
                ],
            ),
            group(
                "Activity",
                vec![
                    link(Icon::Tasks, "Tasks", "kit.html", ""),
                    link(Icon::Events, "Events", "kit.html", ""),
                    link(Icon::Audit, "Audit", "audit.html", ""),
                ],
            ),
        ],
        user: "administrator".into(),
        role: "System Administrator".into(),
        theme: Theme::System,
        tray: Some(tray()),
        toast: None,
        now: NOW,
    }
}

fn tray() -> Tray {
    let task = |id: &str, state, what: &str, object: &str, says: &str, minutes| TrayTask {
        id: id.into(),
        state,
        what: what.into(),
        object: object.into(),
        href: Some("kit.html".into()),
        says: says.into(),
        since: NOW - Duration::minutes(minutes),
    };
    Tray {
        running: 2,
        failed: 1,
        tasks: vec![
            task(
                "1",
                TaskState::Failed,
                "Power on",
                "batch-02",
                "Storage “fast” is full. Move the disk to “standard”.",
                6,
            ),
            task("2", TaskState::Running(Some(62)), "Create", "batch-03", "copying disk, about 1 min left", 2),
            task(
                "3",
                TaskState::Waiting,
                "Create",
                "batch-04",
                "Waits for a hub. Nothing is lost; it starts by itself.",
                3,
            ),
            task("4", TaskState::Done, "Create organization", "globex", "Done.", 9),
        ],
        all_href: "kit.html".into(),
        now: NOW,
    }
}

pub(crate) fn organizations() -> AnyView {
    let here = Query::new(
        "organizations.html",
        [("state", "enabled"), ("sort", "name")].map(|(name, value)| (name.into(), value.into())),
    );
    let filters = vec![
        Filter::new("state", "State", vec![Choice::new("enabled", "Enabled"), Choice::new("disabled", "Disabled")]),
        Filter::new("sign-in", "Sign-in", vec![Choice::new("local", "Local"), Choice::new("oidc", "OIDC")]),
    ];
    let heads = vec![
        Head::sort("Name", here.with("sort", "-name").href(), Some(true)),
        Head::new("State"),
        Head::new("VDCs").number(),
        Head::new("Users").number(),
        Head::new("CPU of quota"),
        Head::new("Memory of quota"),
        Head::sort("Since", here.with("sort", "since").href(), None).number(),
        Head::hidden("Actions"),
    ];
    let rows = [
        ("acme", "Acme Manufacturing", 2, 5, 39, Some(48)),
        ("globex", "Globex Trading", 1, 1, 20, Some(64)),
        ("System", "You, the provider", 0, 1, 0, None),
    ];
    let acts = view! {
        <a class="btn" href="#" download>
            <Icon name=Icon::Download />
            "CSV"
        </a>
        <a class="btn primary" href="organization-new.html">
            <Icon name=Icon::Plus />
            "New organization"
        </a>
    };
    let frame = Frame {
        toast: Some("Organization globex was created. Its administrator can sign in now.".into()),
        ..provider_frame("Organizations")
    };
    view! {
        <Layout frame title="Organizations" crumbs=vec![Crumb::here("Organizations")] live=true>
            <PageHead title="Organizations" sub="3" acts=acts.into_any() />
            <Filters here what="organizations" find="Name, display name" filters />
            <Table caption="Organizations by name" heads list=true top=true>
                {rows
                    .map(|(name, display_name, vdcs, users, cpu, limit)| {
                        view! {
                            <Row id=format!("org-{name}")>
                                <NameCell name href="organization-edit.html" why=display_name />
                                <StateCell>
                                    <Badge shape=Shape::Disc tone=Tone::Ok word="Enabled" />
                                </StateCell>
                                <Cell label="VDCs" number=true>
                                    {num(vdcs)}
                                </Cell>
                                <Cell label="Users" number=true>
                                    {num(users)}
                                </Cell>
                                <Cell label="CPU of quota">
                                    <CellMeter used=cpu limit unit="vCPU" />
                                </Cell>
                                <Cell label="Memory of quota">
                                    <CellMeter used=cpu * 3 limit=limit.map(|cpu| cpu * 4) unit="GB" />
                                </Cell>
                                <Cell label="Since" number=true>
                                    <Time at=NOW - Duration::days(73) now=NOW />
                                </Cell>
                                <RowActs>
                                    <Menu label=format!("Actions for {name}") dots=true>
                                        <MenuItem icon=Icon::Settings title="Edit" href="organization-edit.html" />
                                        <MenuForm
                                            icon=Icon::Lock
                                            title="Disable"
                                            more="Nobody can sign in; machines go on running."
                                            action="/disable"
                                        />
                                        <MenuItem icon=Icon::Trash title="Delete…" href="delete.html" danger=true />
                                    </Menu>
                                </RowActs>
                            </Row>
                        }
                    })
                    .collect_view()}
            </Table>
            <Pager words="All 3, by name" />
        </Layout>
    }
    .into_any()
}

pub(crate) fn organization_new() -> AnyView {
    let taken = "acme exists already. Choose another name.";
    view! {
        <Layout
            frame=provider_frame("Organizations")
            title="New organization"
            crumbs=vec![Crumb::new("Organizations", "organizations.html"), Crumb::here("New organization")]
        >
            <PageHead title="New organization" lede="A tenant with its first administrator." />
            <ErrorSummary errors=vec![
                ("name".into(), taken.into()),
                ("password".into(), "The password is too short.".into()),
            ] />
            <form method="post" novalidate>
                <FormSection title="Organization">
                    <TextField
                        name="name"
                        label="Name"
                        value="acme"
                        hint="Lower case, digits, hyphens. It is part of every address."
                        error=Some(taken.to_owned())
                        width=Width::Half
                        autocomplete="off"
                    />
                    <TextField
                        name="display_name"
                        label="Display name"
                        value="Acme Manufacturing"
                        width=Width::Half
                        autocomplete="off"
                    />
                    <TextArea name="description" label="Description" optional=true />
                </FormSection>
                <FormSection title="First administrator" lede="Can add all other users.">
                    <TextField name="user" label="User name" value="acme-admin" width=Width::Half autocomplete="off" />
                    <EmailField name="email" label="Email" optional=true width=Width::Half />
                    <PasswordField
                        name="password"
                        label="Password"
                        hint="At least 12 characters."
                        error=Some("Use at least 12 characters.".to_owned())
                        width=Width::Half
                        autocomplete="new-password"
                    />
                </FormSection>
                <FormEnd submit="Create organization" cancel_href="organizations.html" />
            </form>
        </Layout>
    }
    .into_any()
}

pub(crate) fn organization_edit() -> AnyView {
    let rows = vec![ConflictRow {
        field: "display_name".into(),
        label: "Display name".into(),
        now: "Acme Ltd".into(),
        yours: "Acme Inc".into(),
    }];
    let margin = view! {
        <section>
            <h2>"About"</h2>
            <Facts>
                <Fact name="Created">
                    <Time at=NOW - Duration::days(73) now=NOW />
                    " by administrator"
                </Fact>
                <Fact name="Id">
                    <Copy
                        value="urn:vcloud:org:0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92"
                        show="0192c3b0-9a10…0d92"
                        what="id"
                    />
                </Fact>
            </Facts>
        </section>
        <section>
            <h2>"Quota"</h2>
            <div class="meters">
                <Meter label="CPU" used=39 limit=Some(48) unit="vCPU" asked=4 />
                <Meter label="VMs" used=23 limit=None />
            </div>
        </section>
    };
    view! {
        <Layout
            frame=provider_frame("Organizations")
            title="Edit acme"
            crumbs=vec![Crumb::new("Organizations", "organizations.html"), Crumb::new("acme", "#"), Crumb::here("Edit")]
            margin=margin.into_any()
        >
            <PageHead
                title="acme"
                sub="organization"
                says=view! {
                    <Shape name=Shape::Disc tone=Tone::Ok />
                    <p>
                        <b>"Enabled."</b>
                        " 23 VMs in 2 VDCs, 5 users."
                        <small>"Nobody waits for you."</small>
                    </p>
                }
                    .into_any()
            />
            <ConflictNote what="acme" by="acme-admin" rows />
            <form method="post" novalidate>
                <FormSection title="Organization">
                    <LockedField name="name" label="Name" value="acme" why="fixed once created" width=Width::Half />
                    <TextField name="display_name" label="Display name" value="Acme Inc" width=Width::Half />
                    <CheckField
                        name="enabled"
                        label="Enabled"
                        checked=true
                        hint="While disabled nobody can sign in; machines go on running."
                    />
                </FormSection>
                <FormEnd submit="Save" cancel_href="organizations.html" />
            </form>
        </Layout>
    }
    .into_any()
}

pub(crate) fn dashboard() -> AnyView {
    let frame = Frame {
        place: Place::Tenant,
        org_name: "acme".into(),
        org_display_name: "Acme Manufacturing".into(),
        org_links: vec![],
        user: "acme-admin".into(),
        role: "Organization Administrator".into(),
        ..provider_frame("Home")
    };
    view! {
        <Layout frame title="acme" crumbs=vec![Crumb::here("Home")] live=true>
            <PageHead title="acme" lede="5 users in 2 VDCs. Nothing is broken." />
            <Section title="Now">
                <BigNumbers>
                    <BigNumber number="5" label="users" href="#" />
                    <BigNumber number="2" label="VDCs" href="#" />
                    <BigNumber number="1" label="failed today" shape=Shape::Diamond tone=Tone::Bad href="#" />
                </BigNumbers>
            </Section>
            <Section title="Quota by VDC" acts=view! { <a href="#">"All VDCs"</a> }.into_any()>
                <Table
                    caption="Quota by VDC"
                    heads=vec![Head::new("VDC"), Head::new("CPU"), Head::new("Memory"), Head::new("Storage")]
                    top=true
                >
                    <Row id="vdc-1">
                        <NameCell name="acme-prod" href="#" why="17 VMs of 40" />
                        <Cell label="CPU">
                            <CellMeter used=29 limit=Some(32) unit="vCPU" />
                        </Cell>
                        <Cell label="Memory">
                            <CellMeter used=106 limit=Some(112) unit="GB" />
                        </Cell>
                        <Cell label="Storage">
                            <CellMeter used=1780 limit=Some(2000) unit="GB" />
                        </Cell>
                    </Row>
                </Table>
            </Section>
        </Layout>
    }
    .into_any()
}

pub(crate) fn audit() -> AnyView {
    let row = |name: &str, before: &str, after: &str| DiffRow {
        name: name.into(),
        before: Some(before.into()),
        after: Some(after.into()),
    };
    let margin = view! {
        <section>
            <h2>"What changed"</h2>
            <Diff rows=vec![
                row("name", "acme", "acme"),
                row("display name", "Acme", "Acme Manufacturing"),
                row("version", "6", "7"),
            ] />
        </section>
        <section>
            <h2>"How"</h2>
            <Facts>
                <Fact name="Through">"portal, from 192.0.2.7"</Fact>
                <Fact name="Request">
                    <Copy value="req_01jcw8m3k0" what="request id" />
                </Fact>
            </Facts>
        </section>
    };
    let here = Query::new("audit.html", [("when".into(), "today".into())]);
    let filters = vec![
        Filter::new("when", "When", vec![Choice::new("today", "today")]),
        Filter::new("result", "Result", vec![Choice::new("done", "Done"), Choice::new("refused", "Refused")]),
    ];
    let heads = vec![
        Head::sort("Time", "#", Some(false)),
        Head::new("Who"),
        Head::new("What"),
        Head::new("Object"),
        Head::new("Result"),
    ];
    let rows = [
        (6, "administrator", "Created organization", "globex", true),
        (47, "acme-admin", "Changed organization", "acme", true),
        (90, "globex-admin", "Sign-in refused", "wrong password", false),
    ];
    view! {
        <Layout
            frame=provider_frame("Audit")
            title="Audit"
            crumbs=vec![Crumb::here("Audit")]
            margin=margin.into_any()
            live=true
        >
            <PageHead
                title="Audit"
                sub=format!("{} entries today", num(1204))
                acts=view! {
                    <a class="btn" href="#" download>
                        <Icon name=Icon::Download />
                        "CSV"
                    </a>
                }
                    .into_any()
            />
            <Filters here what="the audit" find="Who, what, object" filters />
            <Table caption="Audit entries, newest first" heads kind=TableKind::Tight list=true>
                {rows
                    .map(|(minutes, who, what, object, done)| {
                        let (shape, tone, word) = if done {
                            (Shape::Done, Tone::Ok, "Done")
                        } else {
                            (Shape::Barred, Tone::Warn, "Refused")
                        };
                        view! {
                            <Row id=format!("entry-{minutes}") chosen=minutes == 47>
                                <Cell label="Time">
                                    <Time at=NOW - Duration::minutes(minutes) now=NOW />
                                </Cell>
                                <Cell label="Who">{who}</Cell>
                                <NameCell name=what href="#" />
                                <Cell label="Object">{object}</Cell>
                                <StateCell>
                                    <Badge shape tone word />
                                </StateCell>
                            </Row>
                        }
                    })
                    .collect_view()}
            </Table>
            <Pager words="Latest 20 of 1,204" on=Some("#".to_owned()) order=Order::NewestFirst />
        </Layout>
    }
    .into_any()
}

pub(crate) fn delete() -> AnyView {
    view! {
        <Layout
            frame=provider_frame("Organizations")
            title="Delete acme-dev?"
            crumbs=vec![Crumb::new("VDCs", "kit.html"), Crumb::here("Delete acme-dev")]
        >
            <ConfirmPage
                title="Delete VDC acme-dev?"
                verb="Delete acme-dev"
                keep_href="kit.html"
                lost=vec!["6 VMs in 3 vApps, one of them running".into(), "300 GB of disks and 5 snapshots".into()]
                type_name="acme-dev"
                typed="acme-d"
                error=Some("That is not the name. Type acme-dev.".to_owned())
            >
                <p class="text-sm text-ink-2">"acme-author and acme-admin own VMs here. They see it in their tasks."</p>
            </ConfirmPage>
        </Layout>
    }
    .into_any()
}

pub(crate) fn sign_in() -> AnyView {
    view! { <Door org="acme" sso=true /> }.into_any()
}

pub(crate) fn sign_in_refused() -> AnyView {
    let error = "That did not work. Organization, user name or password is wrong.";
    view! { <Door org="acme" user="acme-admin" error=Some(error.to_owned()) /> }.into_any()
}

pub(crate) fn answers() -> AnyView {
    view! {
        <Layout frame=provider_frame("") title="Answers" crumbs=vec![Crumb::here("Nothing here")]>
            <NotFound path="/tenant/acme/vdcs/0192f8c4" home="dashboard.html" />
            <NotAllowed
                what="You may see VDC acme-prod, but not change it"
                right="Organization vDC: Edit"
                user="acme-author"
                role="vApp Author"
                who_can="The provider can change it; acme-admin can ask for more"
                request_id="req_01jcw9q7f2"
                home="dashboard.html"
            />
            <Failed
                title="The database does not answer"
                why="Nothing was changed. It usually comes back within a minute."
                request_id="req_01jcw9q7f3"
                try_again=Some("#".to_owned())
            />
        </Layout>
    }
    .into_any()
}

pub(crate) fn out_of_order() -> AnyView {
    view! {
        <Bare title="Out of order">
            <Failed
                title="The database does not answer"
                why="Nothing was changed. It usually comes back within a minute."
                request_id="req_01jcw9q7f3"
                try_again=Some("#".to_owned())
            />
        </Bare>
    }
    .into_any()
}
