//! The forms about roles: new (also as a copy), edit, and the page before one is deleted.
use super::{
    choose_org::{choose_org, chosen_org},
    form_error::form_error,
    rights::rights_fields,
    role::{LIST, ON, find, find_to, href, users_href},
};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, Place, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::role;
use leptos::prelude::*;
use model::{
    Action, Error, Kind, Result, Rights, can,
    role::{Role, RoleForm},
};

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/roles/new", new_page, create).both_form("/roles/{id}/edit", edit_page, edit).both_form(
        "/roles/{id}/delete",
        delete_page,
        delete,
    )
}

/// A conflict tells of the rights only those that one side has.
fn labels(fill: &Fill) -> [(&'static str, &'static str); 3] {
    let conflict = matches!(fill.failure(), Some(Error::Conflict(_)));
    let rights = if conflict { "Rights on one side only" } else { "Rights" };
    [("name", "Name"), ("description", "Description"), ("rights", rights)]
}

async fn new_page(visit: Visit) -> Result<Sheet> {
    visit.authorize(Action::RoleCreate)?;
    let Some(org) = chosen_org(&visit)? else { return choose_org(&visit, "New role", ON, LIST, false).await };
    let org = visit.domain().store.org(&visit.actor, Action::RoleCreate, org).await?;
    let grantable = role::possible_rights(visit.domain(), &visit.actor, org.id).await?;
    let start = copied(&visit, grantable).await?;
    let fill = visit.fill();
    let whose = (visit.place == Place::Provider).then(|| {
        let value = org.name.clone();
        view! { <LockedField name="org" label="Organization" value why="chosen before" width=Width::Half /> }
    });
    let names = view! {
        {whose}
        {name_fields(&fill, &start)}
    };
    let rights = rights_fields(&fill, start.rights, grantable, org.is_provider);
    let wished = if fill.returned() { read_form(&fill.typed()) } else { start };
    let code = code::role::create(&visit.site(), (org.id, &org.name), &wished);
    let (cancel, org) = (visit.at(LIST), org.id.to_string());
    let body = view! {
        <PageHead title="New role" lede="A set of rights to give to users." />
        <form method="post" class="form" novalidate>
            {form_error(&fill, &labels(&fill))}
            <input type="hidden" name="org" value=org />
            <FormSection title="Role">{names}</FormSection>
            <FormSection title="Rights" lede="What its users may do.">
                {rights}
            </FormSection>
            <FormEnd submit="Create role" cancel_href=cancel.clone() />
        </form>
    }
    .into_any();
    Ok(Sheet::new("New role", ON, vec![Crumb::new(ON, cancel), Crumb::here("New")], body).still().code(code))
}

/// What a new role begins with: nothing, or what the role in the address has as far as it can be given.
async fn copied(visit: &Visit, grantable: Rights) -> Result<RoleForm> {
    let from = match visit.ask.query("copy") {
        "" => return Ok(RoleForm::default()),
        id => id.parse().map_err(|_| Error::NotFound(Kind::Role))?,
    };
    let from = role::get(visit.domain(), &visit.actor, from, visit.org()).await?;
    Ok(RoleForm {
        name: format!("Copy of {}", from.name),
        description: from.description,
        rights: from.rights.and(grantable),
    })
}

fn name_fields(fill: &Fill, start: &RoleForm) -> impl IntoView + use<> {
    view! {
        <TextField
            name="name"
            label="Name"
            value=fill.value("name", &start.name)
            error=fill.error("name")
            autocomplete="off"
            width=Width::Half
        />
        <TextArea
            name="description"
            label="Description"
            value=fill.value("description", &start.description)
            error=fill.error("description")
            optional=true
        />
    }
}

fn read_form(values: &Values) -> RoleForm {
    RoleForm {
        name: values.text("name"),
        description: values.text("description"),
        rights: Rights::from_names(values.all("rights")),
    }
}

async fn create(visit: Visit, values: Values) -> Result<Done> {
    let org = visit.org_for_new(&values)?;
    let made = role::create(visit.domain(), &visit.actor, org, read_form(&values).with_rights()?).await?;
    Ok(Done::new(
        href(&visit, made.id, ""),
        format!("{} is made and can be given to users of {}.", made.name, made.org_name),
    ))
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let r = find(&visit, Action::RoleEdit).await?;
    let title = format!("Edit {}", r.name);
    let form = match (r.org, can::or_not_now(can::role(&r, Action::RoleEdit))) {
        (Some(org), Ok(())) => {
            let org = visit.domain().store.org(&visit.actor, Action::RoleEdit, org).await?;
            let grantable = role::possible_rights(visit.domain(), &visit.actor, org.id).await?;
            let fill = visit.fill();
            let names = name_fields(&fill, &RoleForm::from(&r));
            let rights = rights_fields(&fill, r.rights, grantable, org.is_provider);
            view! {
                <form method="post" class="form" novalidate>
                    {form_error(&fill, &labels(&fill))}
                    <input type="hidden" name="version" value=fill.version(r.version) />
                    <FormSection title="Role">{names}</FormSection>
                    <FormSection title="Rights" lede="A change counts at once for everybody who has the role.">
                        {rights}
                    </FormSection>
                    <FormEnd submit="Save" cancel_href=href(&visit, r.id, "") />
                </form>
            }
            .into_any()
        }
        (_, refused) => {
            let why = refused.err().map(|e| e.to_string());
            let back = view! {
                <a class="btn" href=href(&visit, r.id, "")>
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
    };
    let body = view! {
        <PageHead title=title.clone() />
        {form}
    }
    .into_any();
    Ok(Sheet::new(title, ON, crumbs(&visit, &r, "Edit"), body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let id = find_to(&visit, Action::RoleEdit).await?.id;
    let form = read_form(&values).with_rights()?;
    let saved = role::edit(visit.domain(), &visit.actor, id, values.version()?, form).await?;
    Ok(Done::new(href(&visit, id, ""), format!("{} is saved.", saved.name)))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let r = find(&visit, Action::RoleDelete).await?;
    let possible = can::or_not_now(can::role(&r, Action::RoleDelete));
    let refused = visit.fill().failure().map(ToString::to_string).or_else(|| possible.err().map(|e| e.to_string()));
    let see = (r.users > 0 && !r.predefined() && visit.may(Action::UserList)).then(|| {
        view! {
            <p>
                <a href=users_href(&visit, &r)>"See who has it"</a>
            </p>
        }
    });
    let body = view! {
        <ConfirmPage
            title=format!("Delete role {}?", r.name)
            verb=format!("Delete {}", r.name)
            keep_href=href(&visit, r.id, "")
            refused
        >
            {see}
        </ConfirmPage>
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", r.name), ON, crumbs(&visit, &r, "Delete"), body).still())
}

async fn delete(visit: Visit, _: Values) -> Result<Done> {
    let id = find_to(&visit, Action::RoleDelete).await?.id;
    let name = role::delete(visit.domain(), &visit.actor, id).await?;
    Ok(Done::new(visit.at(LIST), format!("{name} is deleted.")))
}

fn crumbs(visit: &Visit, r: &Role, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::new(r.name.clone(), href(visit, r.id, "")), Crumb::here(last)]
}
