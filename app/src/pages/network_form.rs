//! The forms to make a network and to change one.
use super::{
    choose_vdc::{chosen_vdc, likely_vdc, no_vdc, open_vdcs, vdc_field},
    form_error::form_error,
    network::{LIST, ON, crumbs_below, find, find_to, href},
};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, Sheet, Values, Visit, with_problems},
    shell::Crumb,
};
use domain::network;
use leptos::prelude::*;
use model::{
    Action, Problems, Result, can,
    network::{Network, NetworkForm, NetworkType},
};

pub(super) const LABELS: &[(&str, &str)] = &[
    ("name", "Name"),
    ("description", "Description"),
    ("vdc", "VDC"),
    ("network_type", "Type"),
    ("gateway", "Gateway"),
    ("prefix", "Prefix"),
    ("ranges", "Pool"),
    ("dhcp", "DHCP"),
    ("dns1", "First DNS server"),
    ("dns2", "Second DNS server"),
    ("dns_suffix", "DNS suffix"),
    ("shared", "Shared"),
    ("network", "Network"),
];

pub(super) async fn new_page(visit: Visit) -> Result<Sheet> {
    visit.authorize(Action::NetworkCreate)?;
    let vdcs = open_vdcs(&visit).await?;
    let fill = visit.fill();
    let form = match vdcs.is_empty() {
        true => no_vdc(&visit),
        false => {
            let (vdc, kind) = (vdc_field(&visit, &vdcs), type_field(&fill));
            let start = NetworkForm { prefix: "24".into(), ..NetworkForm::default() };
            view! {
                <form method="post" class="form" novalidate>
                    {form_error(&fill, LABELS)}
                    <FormSection title="Place" lede="This can't be changed later.">{vdc} {kind}</FormSection>
                    {fields(&fill, &start, true)}
                    <FormEnd submit="Create network" cancel_href=visit.at(LIST) />
                </form>
            }
            .into_any()
        }
    };
    let lede = "Isolated: only the NICs that are put on it meet there. Hubs get it when the first VM needs it.";
    let body = view! {
        <PageHead title="New network" lede />
        {form}
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here("New")];
    let code = likely_vdc(&visit, &vdcs).map(|v| code::network::create(&visit.site(), v, &read(&fill.typed())));
    Ok(Sheet::new("New network", ON, crumbs, body).still().code(code))
}

fn type_field(fill: &Fill) -> AnyView {
    let more = |t: NetworkType| match t {
        NetworkType::Isolated => "Reaches nothing outside of itself.",
        NetworkType::Direct | NetworkType::Routed => "Not offered yet.",
    };
    let choices: Vec<Choice> =
        NetworkType::ALL.into_iter().map(|t| Choice::new(t.key(), t.label()).more(more(t))).collect();
    let value = fill.value("network_type", NetworkType::Isolated.key());
    let error = fill.error("network_type");
    view! { <RadioField name="network_type" label="Type" choices value error /> }.into_any()
}

/// `shared`: may it be shared?
pub(super) fn fields(fill: &Fill, start: &NetworkForm, shared: bool) -> AnyView {
    let names = super::vm_form::name_fields(fill, &start.name, &start.description, "Unique in its VDC.");
    let value = |name: &str, stored: &str| fill.value(name, stored);
    let subnet = view! {
        <TextField
            name="gateway"
            label="Gateway"
            value=value("gateway", &start.gateway)
            error=fill.error("gateway")
            hint="An IPv4 address of the subnet, such as 192.168.10.1."
            autocomplete="off"
            width=Width::Half
        />
        <TextField
            name="prefix"
            label="Prefix"
            value=value("prefix", &start.prefix)
            error=fill.error("prefix")
            hint="24 has 254 addresses."
            autocomplete="off"
            width=Width::Third
        />
        <TextArea
            name="ranges"
            label="Pool"
            value=value("ranges", &start.ranges)
            error=fill.error("ranges")
            hint="Ranges to give addresses from, one a line: 192.168.10.10-192.168.10.99."
            optional=true
        />
        <CheckField
            name="dhcp"
            label="The hub hands out the addresses (DHCP)"
            checked=fill.checked("dhcp", "on", start.dhcp)
            error=fill.error("dhcp")
            hint="Then it has no pool, and no NIC on it has a static address."
        />
    };
    let names_of_hosts = view! {
        <TextField name="dns1" label="First DNS server" value=value("dns1", &start.dns1) error=fill.error("dns1") autocomplete="off" optional=true width=Width::Half />
        <TextField name="dns2" label="Second DNS server" value=value("dns2", &start.dns2) error=fill.error("dns2") autocomplete="off" optional=true width=Width::Half />
        <TextField name="dns_suffix" label="DNS suffix" value=value("dns_suffix", &start.dns_suffix) error=fill.error("dns_suffix") autocomplete="off" optional=true width=Width::Half />
    };
    let reach = shared.then(|| {
        let on = fill.checked("shared", "on", start.shared);
        let error = fill.error("shared");
        view! {
            <FormSection title="Reach">
                <CheckField name="shared" label="Shared: every VDC of the organization may use it" checked=on error />
            </FormSection>
        }
    });
    view! {
        <FormSection title="Network">{names}</FormSection>
        <FormSection title="Addresses">{subnet}</FormSection>
        <FormSection title="Names" lede="What guests with an address of ours are told.">{names_of_hosts}</FormSection>
        {reach}
    }
    .into_any()
}

pub(super) fn read(values: &Values) -> NetworkForm {
    NetworkForm {
        name: values.text("name"),
        description: values.text("description"),
        network_type: NetworkType::parse(values.get("network_type")).unwrap_or_default(),
        gateway: values.text("gateway"),
        prefix: values.text("prefix"),
        dns1: values.text("dns1"),
        dns2: values.text("dns2"),
        dns_suffix: values.text("dns_suffix"),
        ranges: values.text("ranges"),
        dhcp: values.has("dhcp"),
        shared: values.has("shared"),
    }
}

pub(super) async fn create(visit: Visit, values: Values) -> Result<Done> {
    let (d, action) = (visit.domain(), Action::NetworkCreate);
    d.attempt(&visit.actor, action, async { visit.authorize(action) }).await?;
    let vdcs = open_vdcs(&visit).await?;
    let form = read(&values);
    let mut problems = Problems::default();
    let vdc = chosen_vdc(&values, &vdcs).map(|v| v.id);
    if let Err(e) = &vdc {
        e.fields().iter().for_each(|f| problems.add(f.field, f.message.clone()));
    }
    with_problems(problems, form.clone().check())?;
    let made = network::create(d, &visit.actor, vdc?, form).await?;
    Ok(Done::new(href(&visit, made.id, ""), format!("Network {} is made.", made.name())))
}

pub(super) async fn edit_page(visit: Visit) -> Result<Sheet> {
    let n = find(&visit, Action::NetworkEdit).await?;
    let fill = visit.fill();
    let note = in_use(&n);
    let body = view! {
        <PageHead title=format!("Edit {}", n.name()) />
        {note}
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(n.version) />
            {fields(&fill, &NetworkForm::from(&n.spec), n.vapp.is_none())}
            <FormEnd submit="Save" cancel_href=href(&visit, n.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Edit {}", n.name()), ON, crumbs_below(&visit, &n, "Edit"), body).still())
}

fn in_use(n: &Network) -> Option<AnyView> {
    (!n.used_by.is_empty()).then(|| {
        let text = format!(
            "It is used by {}. Gateway, prefix, DHCP and reach stay as they are until nobody uses it.",
            can::users(n)
        );
        view! { <Note tone=Tone::Busy>{text}</Note> }.into_any()
    })
}

pub(super) async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let n = find_to(&visit, Action::NetworkEdit).await?;
    let saved = network::edit(visit.domain(), &visit.actor, n.id, values.version()?, read(&values)).await?;
    Ok(Done::new(href(&visit, n.id, ""), format!("Network {} is saved.", saved.name())))
}
