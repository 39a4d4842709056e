//! Every part in its states.
use crate::pages::{NOW, provider_frame};
use app::{parts::*, shell::*};
use leptos::prelude::*;
use time::Duration;

pub(crate) fn kit() -> AnyView {
    view! {
        <Layout frame=provider_frame("") title="Kit" crumbs=vec![Crumb::new("Look", "kit.html"), Crumb::here("Kit")]>
            <PageHead
                title="Kit"
                sub="every part, in its states"
                lede="How a thing is drawn says how true it is: solid is seen, hatched is asked for, dashed is last known."
            />
            {badges()}
            {buttons()}
            {fields()}
            {bars()}
            {notices()}
            {tables()}
            {facts()}
            {tasks()}
            {empty()}
            {drawings()}
        </Layout>
    }
    .into_any()
}

fn badges() -> impl IntoView {
    view! {
        <Section title="Badges" sub="A plate only when somebody should act.">
            <ul class="plain">
                <li>
                    <Badge shape=Shape::Disc tone=Tone::Ok word="Enabled" />
                </li>
                <li>
                    <Badge shape=Shape::Ring word="Disabled" more="by administrator" />
                </li>
                <li>
                    <Badge shape=Shape::Half tone=Tone::Busy word="Starting" />
                </li>
                <li>
                    <Badge shape=Shape::Clock tone=Tone::Busy word="Waiting" more="hub unreachable" />
                </li>
                <li>
                    <Badge shape=Shape::Stale word="Running" more="as of 12:04" />
                </li>
                <li>
                    <Badge shape=Shape::Triangle tone=Tone::Warn word="Almost full" more="3 vCPU left" plate=true />
                </li>
                <li>
                    <Badge
                        shape=Shape::Diamond
                        tone=Tone::Bad
                        word="Failed"
                        more="storage “fast” is full"
                        plate=true
                    />
                </li>
                <li>
                    <span>"2 vCPU" <span class="asked">"4 at next start"</span></span>
                    <span class="tag">"primary"</span>
                </li>
            </ul>
        </Section>
    }
}

fn buttons() -> impl IntoView {
    view! {
        <Section title="Buttons and menus" sub="At most one primary on a page.">
            <div class="acts">
                <button class="btn primary">
                    <Icon name=Icon::Plus />
                    "New organization"
                </button>
                <button class="btn">
                    <Icon name=Icon::Download />
                    "CSV"
                </button>
                <button class="btn quiet">"Take it back"</button>
                <button class="btn danger">
                    <Icon name=Icon::Trash />
                    "Delete…"
                </button>
                <button class="btn danger solid">"Delete acme-dev"</button>
                <button class="btn" aria-disabled="true" aria-describedby="why">
                    "Power on"
                </button>
                <button class="btn small">"Small"</button>
                <PostButton label="Enable" action="/enable" icon=Icon::Power fields=vec![("id", "1".to_owned())] />
                <Menu label="Actions">
                    <MenuItem icon=Icon::Settings title="Edit" href="organization-edit.html" />
                    <MenuForm
                        icon=Icon::Lock
                        title="Disable"
                        more="Nobody can sign in; machines go on running."
                        action="/disable"
                        fields=vec![("id", "1".to_owned())]
                    />
                    <MenuOff icon=Icon::Trash title="Delete…" why="it has 2 VDCs. Delete those first." />
                    <hr />
                    <MenuItem icon=Icon::Trash title="Delete for good…" href="delete.html" danger=true />
                </Menu>
                <Menu label="More actions" dots=true>
                    <MenuItem icon=Icon::Eye title="View" href="kit.html" />
                </Menu>
            </div>
            <p class="hint mt-1" id="why">
                "Power on is not available: the VM runs already."
            </p>
        </Section>
    }
}

fn fields() -> impl IntoView {
    let models = || {
        vec![
            Choice::new("payg", "Pay as you go").more("Limits only."),
            Choice::new("pool", "Allocation pool").more("A share is guaranteed."),
        ]
    };
    view! {
        <Section title="Fields">
            <form class="fields">
                <TextField
                    name="plain"
                    label="Name"
                    value="shop-web-2"
                    hint="Lower case, digits, hyphens."
                    width=Width::Third
                />
                <TextField
                    name="wrong"
                    label="Name"
                    value="shop-web"
                    hint="Lower case, digits, hyphens."
                    error=Some("acme has a shop-web already. Free: shop-web-2.".to_owned())
                    width=Width::Third
                />
                <LockedField
                    name="locked"
                    label="Role"
                    value="System Administrator"
                    why="set by the identity provider"
                    width=Width::Third
                />
                <EmailField name="email" label="Email" optional=true width=Width::Third />
                <PasswordField
                    name="password"
                    label="Password"
                    autocomplete="new-password"
                    hint="At least 12 characters."
                    width=Width::Third
                />
                <NumberField name="memory" label="Memory" value="64" unit="GB" width=Width::Third />
                <SelectField
                    name="role"
                    label="Role"
                    choices=vec![Choice::new("a", "vApp Author"), Choice::new("u", "vApp User")]
                    value="u"
                    width=Width::Half
                />
                <CheckField
                    name="enabled"
                    label="Enabled"
                    checked=true
                    hint="Disabled users cannot sign in."
                    width=Width::Half
                />
                <RadioField name="model" label="Allocation" choices=models() value="pool" width=Width::Half />
                <RadioField
                    name="model2"
                    id="model-wrong"
                    label="Allocation"
                    choices=models()
                    error=Some("Choose one.".to_owned())
                    width=Width::Half
                />
                <FieldGroup label="Rights" width=Width::Half>
                    <CheckField name="right" id="right-1" value="1" label="Organization: View" checked=true />
                    <CheckField name="right" id="right-2" value="2" label="Organization: Edit" />
                    <CheckOff label="Organization: Create" why="the provider's roles only" />
                </FieldGroup>
                <TextArea name="about" label="Description" optional=true value="Two lines\nof words" />
            </form>
        </Section>
    }
}

fn bars() -> impl IntoView {
    view! {
        <Section title="Bars" sub="The numbers are always words.">
            <div class="meters">
                <Meter label="In use" used=18 limit=Some(32) unit="vCPU" />
                <Meter label="Nearly full" used=29 limit=Some(32) unit="vCPU" />
                <Meter label="Full" used=2000 limit=Some(2000) unit="GB" />
                <Meter label="With a request" used=18 limit=Some(32) unit="vCPU" asked=6 />
                <Meter label="Too large" used=28 limit=Some(32) unit="vCPU" asked=8 />
                <Meter label="Open" used=12 limit=None unit="VMs" />
            </div>
        </Section>
    }
}

fn notices() -> impl IntoView {
    view! {
        <Section title="Notices">
            <Note>"Worth knowing, nothing to do."</Note>
            <Note tone=Tone::Busy acts=view! { <button class="btn small">"Restart now"</button> }.into_any()>
                <b>"One change waits for the next start: "</b>
                "4 vCPU instead of 2."
            </Note>
            <Note tone=Tone::Warn>
                <b>"A hub has not answered since 12:04."</b>
                " 3 VMs show what it last reported."
            </Note>
            <Note tone=Tone::Bad>
                <b>"batch-02 failed to start."</b>
                " Storage “fast” is full. Move the disk to “standard”."
            </Note>
            <ErrorSummary errors=vec![
                ("wrong".to_owned(), "Name is taken".to_owned()),
                ("model-wrong".to_owned(), "Allocation is missing".to_owned()),
            ] />
            <ConflictNote
                what="acme"
                by="acme-admin"
                rows=vec![
                    ConflictRow {
                        field: "plain".into(),
                        label: "Display name".into(),
                        now: "Acme Ltd".into(),
                        yours: "Acme Inc".into(),
                    },
                ]
            />
        </Section>
    }
}

fn tables() -> impl IntoView {
    let heads = vec![
        Head::sort("Name", "#", Some(true)),
        Head::new("State"),
        Head::new("CPU"),
        Head::sort("VMs", "#", None).number(),
        Head::hidden("Actions"),
    ];
    view! {
        <Section title="Tables" sub="2 VDCs" acts=view! { <a href="#">"New VDC"</a> }.into_any()>
            <Table caption="VDCs by name" heads top=true>
                <Row id="r1">
                    <NameCell name="acme-prod" href="#" why="pay as you go" />
                    <StateCell>
                        <Badge shape=Shape::Disc tone=Tone::Ok word="Enabled" />
                    </StateCell>
                    <Cell label="CPU">
                        <CellMeter used=29 limit=Some(32) unit="vCPU" />
                    </Cell>
                    <Cell label="VMs" number=true>
                        {num(1204)}
                    </Cell>
                    <RowActs>
                        <Menu label="Actions for acme-prod" dots=true>
                            <MenuItem icon=Icon::Chart title="Change quota" href="#" />
                        </Menu>
                    </RowActs>
                </Row>
                <Row id="r2">
                    <NameCell name="acme-dev" href="#" />
                    <StateCell>
                        <Badge shape=Shape::Ring word="Disabled" />
                    </StateCell>
                    <Cell label="CPU">
                        <CellMeter used=10 limit=None unit="vCPU" />
                    </Cell>
                    <Cell label="VMs" number=true>
                        "6"
                    </Cell>
                    <RowActs>
                        <Menu label="Actions for acme-dev" dots=true>
                            <MenuItem icon=Icon::Chart title="Change quota" href="#" />
                        </Menu>
                    </RowActs>
                </Row>
            </Table>
            <Pager words="First 2 of 23, by name" on=Some("#".to_owned()) />
        </Section>
    }
}

fn facts() -> impl IntoView {
    let row = |name: &str, before: Option<&str>, after: Option<&str>| DiffRow {
        name: name.into(),
        before: before.map(Into::into),
        after: after.map(Into::into),
    };
    view! {
        <div class="cols-2">
            <Section title="Facts">
                <Facts>
                    <Fact name="Created">
                        <Time at=NOW - Duration::days(73) now=NOW />
                        " by administrator"
                    </Fact>
                    <Fact name="Last seen">
                        <Time at=NOW - Duration::minutes(6) now=NOW />
                    </Fact>
                    <Fact name="Id">
                        <Copy
                            value="urn:vcloud:org:0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92"
                            show="0192c3b0-9a10…0d92"
                            what="id"
                        />
                    </Fact>
                </Facts>
                <Fold title="What few need">"It was folded away."</Fold>
                <BigNumbers>
                    <BigNumber number="11" label="running" shape=Shape::Disc tone=Tone::Ok href="#" />
                    <BigNumber number="2" label="broken" shape=Shape::Diamond tone=Tone::Bad />
                    <BigNumber number=num(1204) label="entries" />
                </BigNumbers>
            </Section>
            <Section title="Code and changes">
                <CodeBlock
                    title="curl"
                    code="curl https://localhost:8443/api/org \\\n  -H 'Accept: application/*+json;version=39.0'"
                />
                <Diff rows=vec![
                    row("name", Some("shop-web"), Some("shop-web")),
                    row("cpu", Some("2"), Some("4")),
                    row("apply", None, Some("at next start")),
                ] />
            </Section>
        </div>
    }
}

fn tasks() -> impl IntoView {
    view! {
        <Section title="Live line">
            <p class="acts">
                <span class="live" data-link="live">
                    "Live"
                </span>
                <span class="live" data-link="lost">
                    "Reconnecting"
                </span>
                <span class="live">"As of 12:07:31 UTC"</span>
            </p>
        </Section>
    }
}

fn empty() -> impl IntoView {
    let start = view! {
        <a class="btn" href="#">
            <Icon name=Icon::Plus />
            "New VDC"
        </a>
    };
    view! {
        <Section title="Empty places">
            <Empty title="No VDCs yet" acts=start.into_any()>
                "A VDC holds the organization's VMs and limits what they may use."
            </Empty>
        </Section>
    }
}

fn drawings() -> impl IntoView {
    view! {
        <Section title="Drawings">
            <ul class="acts">
                {Icon::ALL
                    .iter()
                    .map(|&name| {
                        view! {
                            <li class="badge">
                                <Icon name />
                                {format!("{name:?}")}
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
            <ul class="acts">
                {Shape::ALL
                    .iter()
                    .map(|&name| {
                        view! {
                            <li class="badge">
                                <Shape name tone=Tone::Busy />
                                {format!("{name:?}")}
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
        </Section>
    }
}
