//! The fields for what a guest is told, the same where a VM is asked for and where it is changed.
use crate::{
    parts::*,
    portal::{Fill, Values, Visit},
};
use domain::guest::Preview;
use leptos::prelude::*;
use model::{
    Action, Problems,
    guest::{GuestSettings, Property, is_windows},
    template::Template,
};
use std::collections::BTreeMap;

pub(super) const LABELS: [(&str, &str); 7] = [
    ("ssh_keys", "SSH keys"),
    ("user_data", "cloud-init"),
    ("password", "Password"),
    ("auto_logons", "Sign-ins by itself"),
    ("script", "Script"),
    ("computer_name", "Computer name"),
    ("properties", "Properties"),
];

/// Which password the administrator has.
const MODE: &str = "administrator";

/// `os`: of the guests; a field that only Windows knows is left out for others.
pub(super) fn fields(visit: &Visit, fill: &Fill, g: &GuestSettings, os: &str) -> AnyView {
    let administrator = visit.may(Action::VmPassword).then(|| password_fields(fill, g, os));
    let script_hint =
        "Run once before and once after the rest, with precustomization and postcustomization as its argument.";
    let keys = g.ssh_keys.join("\n");
    view! {
        <TextArea
            name="ssh_keys"
            label="SSH keys"
            value=fill.value("ssh_keys", keys)
            error=fill.error("ssh_keys")
            hint="One a line, as in authorized_keys."
            optional=true
        />
        {administrator}
        <TextArea
            name="script"
            label="Script"
            value=fill.value("script", &g.script)
            error=fill.error("script")
            hint=script_hint
            optional=true
        />
        <TextArea
            name="user_data"
            label="cloud-init"
            value=fill.value("user_data", &g.user_data)
            error=fill.error("user_data")
            hint="User data, begun with #cloud-config. All of this is kept sealed, for those who may change it."
            optional=true
        />
    }
    .into_any()
}

fn password_fields(fill: &Fill, g: &GuestSettings, os: &str) -> AnyView {
    let choices = vec![
        Choice::new("", "As the image has it"),
        Choice::new("auto", "Made up, to be read here"),
        Choice::new("own", "This one"),
    ];
    let now = match (g.set_password, g.auto_password) {
        (false, _) => "",
        (true, true) => "auto",
        (true, false) => "own",
    };
    let hint = if g.password.is_empty() { "" } else { "Empty: it stays as it is." };
    let (value, reset) = (fill.value(MODE, now), fill.checked("reset", "on", g.reset_password));
    let logons = is_windows(os, "").then(|| {
        view! {
            <NumberField
                name="auto_logons"
                label="Sign-ins by itself"
                value=fill.value("auto_logons", g.auto_logons.to_string())
                unit="times"
                error=fill.error("auto_logons")
                width=Width::Third
            />
        }
    });
    view! {
        <SelectField name=MODE label="Administrator's password" choices value width=Width::Half />
        <PasswordField
            name="password"
            label="Password"
            error=fill.error("password")
            hint
            optional=true
            autocomplete="new-password"
            width=Width::Half
        />
        <CheckField name="reset" label="To be changed at the first sign-in" checked=reset />
        {logons}
    }
    .into_any()
}

/// What came in. Properties are read by `properties`.
pub(super) fn read(values: &Values, problems: &mut Problems) -> GuestSettings {
    let keys = values.get("ssh_keys").lines().map(str::trim).filter(|line| !line.is_empty());
    let mode = values.get(MODE);
    let logons = values.get("auto_logons").trim();
    let auto_logons = match logons.parse() {
        Ok(n) => n,
        Err(_) if logons.is_empty() => 0,
        Err(_) => {
            problems.add("auto_logons", "A whole number.");
            0
        }
    };
    GuestSettings {
        ssh_keys: keys.map(str::to_owned).collect(),
        user_data: values.text("user_data"),
        script: values.text("script"),
        set_password: !mode.is_empty(),
        auto_password: mode == "auto",
        password: if mode == "own" { values.text("password") } else { String::new() },
        reset_password: values.has("reset"),
        auto_logons,
        ..GuestSettings::default()
    }
}

/// What a template asks for. `at`: before the names of the fields.
pub(super) fn properties<'a>(fill: &Fill, at: &str, all: impl Iterator<Item = &'a Property>) -> AnyView {
    let one = |p: &'a Property| {
        let (name, label, hint) = (format!("{at}{}", p.key), p.label().to_owned(), p.description.clone());
        if !p.user_configurable {
            let value = if p.password { String::new() } else { p.value.clone() };
            return view! { <LockedField name label value why="the template says it" width=Width::Half /> }.into_any();
        }
        let value = fill.value(&name, &p.value);
        let error = p.wrong(&value).filter(|_| fill.returned());
        match p.kind.as_str() {
            _ if p.password => {
                let hint = if p.value.is_empty() { hint } else { format!("{hint} Empty: it stays as it is.") };
                view! { <PasswordField name label error hint optional=true autocomplete="off" width=Width::Half /> }
                    .into_any()
            }
            "boolean" => {
                let choices = ["true", "false"].map(|v| Choice::new(v, v)).to_vec();
                let value = value.to_ascii_lowercase();
                view! { <SelectField name label choices value error hint width=Width::Half /> }.into_any()
            }
            _ => view! { <TextField name label value error hint optional=true autocomplete="off" width=Width::Half /> }
                .into_any(),
        }
    };
    all.map(one).collect_view().into_any()
}

/// What was typed for one of them; None: nothing that counts.
pub(super) fn given(values: &Values, at: &str, p: &Property) -> Option<String> {
    let name = format!("{at}{}", p.key);
    let typed = values.get(&name);
    (p.user_configurable && values.has(&name) && !(p.password && typed.is_empty())).then(|| typed.to_owned())
}

/// What the template asks for: once for the whole, and for each machine what is its own.
pub(super) fn template_sections(fill: &Fill, t: &Template) -> AnyView {
    let shared: Vec<&Property> = of_all(t).collect();
    let whole = (!shared.is_empty()).then(|| {
        let fields = properties(fill, &properties_at(None), shared.into_iter());
        view! { <FormSection title="Properties" lede="What the template asks for.">{fields}</FormSection> }
    });
    let own = t.vms.iter().enumerate().filter(|(_, m)| m.properties.iter().any(|p| !p.shared)).map(|(i, m)| {
        let fields = properties(fill, &properties_at(Some(i)), m.properties.iter().filter(|p| !p.shared));
        let lede = if t.vms.len() == 1 { "What the template asks for.".to_owned() } else { m.name.clone() };
        view! { <FormSection title="Properties" lede>{fields}</FormSection> }
    });
    let own = own.collect_view();
    view! { {whole} {own} }.into_any()
}

/// The properties that all machines have.
fn of_all(t: &Template) -> impl Iterator<Item = &Property> {
    let mut seen = Vec::new();
    t.vms.iter().flat_map(|m| &m.properties).filter(move |p| {
        let first = p.shared && !seen.contains(&p.key);
        seen.push(p.key.clone());
        first
    })
}

/// Before the names of the fields of a machine's properties, or of those of all.
fn properties_at(machine: Option<usize>) -> String {
    machine.map_or_else(|| "property.".to_owned(), |i| format!("property{i}."))
}

pub(super) fn template_given(values: &Values, t: &Template) -> BTreeMap<String, BTreeMap<String, String>> {
    let read = |at: &str, all: &mut dyn Iterator<Item = &Property>| {
        all.filter_map(|p| Some((p.key.clone(), given(values, at, p)?))).collect()
    };
    let mut all = BTreeMap::from([(String::new(), read(&properties_at(None), &mut of_all(t)))]);
    for (i, m) in t.vms.iter().enumerate() {
        let own = read(&properties_at(Some(i)), &mut m.properties.iter().filter(|p| !p.shared));
        all.insert(m.name.clone(), own);
    }
    all
}

/// What guests will be told, before anything is asked for.
pub(super) fn preview_section(files: &[(String, Vec<Preview>)]) -> AnyView {
    let several = files.len() > 1;
    let one = |(vm, files): &(String, Vec<Preview>)| {
        let blocks = files.iter().map(|f| {
            let title = if several { format!("{vm}: {}", f.name) } else { f.name.clone() };
            view! { <CodeBlock title code=f.text.clone() /> }
        });
        let none = files.is_empty().then(|| {
            let text = format!("{vm} is told nothing: its image decides.");
            view! { <p class="muted">{text}</p> }
        });
        view! { {blocks.collect_view()} {none} }
    };
    let all = files.iter().map(one).collect_view();
    let lede = "As it will be, with passwords left out. Nothing is asked for yet.";
    view! { <Section title="What guests are told" sub=lede>{all}</Section> }.into_any()
}
