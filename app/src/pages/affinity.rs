//! Affinity rules: the section on their VDC's page, the form, and the page before one is deleted.
use super::{
    form_error::form_error,
    vdc::{ON, crumbs_below, find as find_vdc, find_to as find_vdc_to, href},
};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::{affinity, vdc};
use leptos::prelude::*;
use model::{
    Action, AffinityId, Error, Kind, Result, VdcId,
    affinity::{AffinityRule, AffinitySpec, RuleCandidate, polarity},
    decide::Resource,
    vdc::Vdc,
};

const LABELS: &[(&str, &str)] = &[("name", "Name"), ("polarity", "Rule"), ("vms", "VMs")];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vdcs/{id}/affinity", new_page, create).both_form("/affinity/{id}/edit", edit_page, edit).both_form(
        "/affinity/{id}/delete",
        delete_page,
        delete,
    )
}

fn at(visit: &Visit, id: AffinityId, rest: &str) -> String {
    visit.at(format!("/affinity/{id}{rest}"))
}

async fn find(visit: &Visit, action: Action) -> Result<AffinityRule> {
    let rule = visit.domain().store.affinity(&visit.actor, action, visit.id()).await?.into_inner();
    visit.within(rule.org, Kind::AffinityRule)?;
    Ok(rule)
}

async fn find_to(visit: &Visit, action: Action) -> Result<AffinityRule> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

fn crumbs(visit: &Visit, rule: &AffinityRule, last: &str) -> Vec<Crumb> {
    let vdc = Crumb::new(rule.vdc_name.clone(), href(visit, rule.vdc, ""));
    vec![Crumb::new(ON, visit.at("/vdcs")), vdc, Crumb::here(format!("{last} {}", rule.name))]
}

pub(super) async fn section(visit: &Visit, v: &Vdc) -> Result<AnyView> {
    let rules = affinity::of_vdc(visit.domain(), &visit.actor, v.id).await?;
    let changes = visit.actor.may(Action::AffinityCreate, Resource::Of(v.org));
    let acts = changes.then(|| view! { <a href=href(visit, v.id, "/affinity")>"Add a rule"</a> }).into_any();
    if rules.is_empty() {
        if !changes {
            return Ok(().into_any());
        }
        let none = view! { <p class="muted">"None. A rule keeps VMs on one node, or each on another."</p> };
        return Ok(view! { <Section title="Affinity rules" acts>{none}</Section> }.into_any());
    }
    let rows = rules.iter().map(|r| {
        let vms = listed(r.names()).unwrap_or_else(|| "none".into());
        let how = format!("{}, {}", polarity(r.together), if r.mandatory { "always" } else { "if possible" });
        let state = state(r);
        let menu = changes.then(|| {
            let (edit, delete) = (at(visit, r.id, "/edit"), at(visit, r.id, "/delete"));
            view! {
                <Menu label=format!("Actions for {}", r.name) dots=true>
                    <MenuItem icon=Icon::Settings title="Edit…" href=edit.clone() />
                    <MenuItem icon=Icon::Trash title="Delete…" href=delete.clone() danger=true />
                </Menu>
            }
        });
        let cells = view! {
            <NameCell name=r.name.clone() />
            <StateCell>{state}</StateCell>
            <Cell label="Rule">{how}</Cell>
            <Cell label="VMs" wraps=true>{vms}</Cell>
            <RowActs>{menu}</RowActs>
        };
        view! { <Row id=format!("rule-{}", r.id)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let mut heads = ["Name", "State", "Rule", "VMs"].map(Head::new).to_vec();
    heads.push(Head::hidden("Actions"));
    let table = view! { <Table caption="Affinity rules" heads top=true>{rows}</Table> };
    Ok(view! { <Section title="Affinity rules" sub="which VMs share a node, and which do not" acts>{table}</Section> }
        .into_any())
}

fn state(r: &AffinityRule) -> AnyView {
    let waiting: Vec<String> = r.vms.iter().filter(|v| v.waits).map(|v| v.name.clone()).collect();
    if !r.enabled {
        return view! { <Badge shape=Shape::Ring word="Off" /> }.into_any();
    }
    if r.idle() {
        return view! { <Badge shape=Shape::Ring tone=Tone::Warn word="Does nothing" more="fewer than two VMs are left" /> }
            .into_any();
    }
    match listed(waiting) {
        Some(names) => {
            let more = format!("at the next start of {names}");
            view! { <Badge shape=Shape::Next tone=Tone::Busy word="On" more /> }.into_any()
        }
        None => view! { <Badge shape=Shape::Disc tone=Tone::Ok word="On" /> }.into_any(),
    }
}

fn fields(fill: &Fill, spec: &AffinitySpec, vms: &[RuleCandidate]) -> AnyView {
    let key = |together: bool| if together { "together" } else { "apart" };
    let kinds =
        vec![Choice::new("apart", "Apart: each on another node"), Choice::new("together", "Together: all on one node")];
    let value = fill.value("polarity", key(spec.together));
    let choices: Vec<Choice> =
        vms.iter().map(|v| Choice::new(v.id.to_string(), v.name.clone()).more(format!("in {}", v.vapp_name))).collect();
    let is_ticked = |v: &RuleCandidate| fill.checked("vms", &v.id.to_string(), spec.vms.contains(&v.id));
    let ticked = vms.iter().filter(|v| is_ticked(v)).map(|v| v.id.to_string()).collect();
    let (mandatory, enabled) =
        (fill.checked("mandatory", "on", spec.mandatory), fill.checked("enabled", "on", spec.enabled));
    let (name, name_error) = (fill.value("name", &spec.name), fill.error("name"));
    let (wrong_kind, wrong_vms) = (fill.error("polarity"), fill.error("vms"));
    let rule = view! {
        <TextField name="name" label="Name" value=name error=name_error hint="Unique in its VDC." autocomplete="off" width=Width::Half />
        <SelectField name="polarity" label="Rule" choices=kinds value error=wrong_kind width=Width::Half />
        <CheckField name="mandatory" label="Always" checked=mandatory hint="A VM does not start where that can't be. Else it is a wish." />
        <CheckField name="enabled" label="On" checked=enabled />
    };
    let which = view! { <ChecksField name="vms" label="VMs" choices ticked error=wrong_vms hint="At least two." /> };
    view! {
        <FormSection title="Rule" lede="A VM that runs stays where it is: the rule counts at its next start.">{rule}</FormSection>
        <FormSection title="VMs">{which}</FormSection>
    }
    .into_any()
}

fn read(values: &Values) -> Result<AffinitySpec> {
    let vm = |word: &str| word.parse().map_err(|_| Error::field("vms", "Choose from those that are listed."));
    let together = match values.get("polarity") {
        "together" => true,
        "apart" => false,
        _ => return Err(Error::field("polarity", "Choose together or apart.")),
    };
    Ok(AffinitySpec {
        name: values.text("name"),
        together,
        mandatory: values.has("mandatory"),
        enabled: values.has("enabled"),
        vms: values.all("vms").map(vm).collect::<Result<_>>()?,
    })
}

async fn new_page(visit: Visit) -> Result<Sheet> {
    let v = find_vdc(&visit, Action::AffinityCreate).await?;
    let vms = affinity::candidates(visit.domain(), &visit.actor, v.id).await?;
    let fill = visit.fill();
    let title = format!("Add an affinity rule to {}", v.name);
    let start = AffinitySpec { enabled: true, ..AffinitySpec::default() };
    let body = view! {
        <PageHead title=title.clone() />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            {fields(&fill, &start, &vms)}
            <FormEnd submit="Add rule" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    let wished = if fill.returned() { read(&fill.typed()).unwrap_or(start) } else { start };
    let code = code::affinity::create(&visit.site(), &v, &wished, &vms);
    Ok(Sheet::new(title, ON, crumbs_below(&visit, &v, "Add a rule"), body).still().code(code))
}

async fn create(visit: Visit, values: Values) -> Result<Done> {
    let v = find_vdc_to(&visit, Action::AffinityCreate).await?;
    let spec = read(&values)?;
    let said = format!("The rule {} is made.", spec.name.trim());
    affinity::create(visit.domain(), &visit.actor, v.id, spec).await?;
    Ok(done(&visit, v.id, said))
}

fn done(visit: &Visit, vdc: VdcId, said: String) -> Done {
    Done::new(href(visit, vdc, ""), said)
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let rule = find(&visit, Action::AffinityEdit).await?;
    let vms = affinity::candidates(visit.domain(), &visit.actor, rule.vdc).await?;
    let fill = visit.fill();
    let title = format!("Edit {}", rule.name);
    let body = view! {
        <PageHead title=title.clone() />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(rule.version) />
            {fields(&fill, &rule.spec(), &vms)}
            <FormEnd submit="Save" cancel_href=href(&visit, rule.vdc, "") />
        </form>
    }
    .into_any();
    let org = vdc::get(visit.domain(), &visit.actor, rule.vdc).await.map(|v| v.org_name);
    let code = org.ok().map(|org| code::affinity::thing(&visit.site(), &org, &rule));
    Ok(Sheet::new(title, ON, crumbs(&visit, &rule, "Edit"), body).still().code(code))
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let rule = find_to(&visit, Action::AffinityEdit).await?;
    affinity::edit(visit.domain(), &visit.actor, rule.id, values.version()?, read(&values)?).await?;
    Ok(done(&visit, rule.vdc, format!("The rule {} is saved.", values.get("name").trim())))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let rule = find(&visit, Action::AffinityDelete).await?;
    let refused = visit.fill().failure().map(ToString::to_string);
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec![format!(
            "the rule; its VMs stay where they are: {}",
            listed(rule.names()).unwrap_or_else(|| "none".into())
        )],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete the rule {}?", rule.name)
            verb=format!("Delete {}", rule.name)
            keep_href=href(&visit, rule.vdc, "")
            lost
            refused
        />
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", rule.name), ON, crumbs(&visit, &rule, "Delete"), body).still())
}

async fn delete(visit: Visit, _: Values) -> Result<Done> {
    let rule = find_to(&visit, Action::AffinityDelete).await?;
    affinity::delete(visit.domain(), &visit.actor, rule.id).await?;
    Ok(done(&visit, rule.vdc, format!("The rule {} is deleted.", rule.name)))
}
