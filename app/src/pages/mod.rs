//! The pages, one file a noun: its list, its page, its forms and what they do. `routes` is the table of all of them.
mod about;
mod affinity;
pub mod audit;
mod browser;
mod bulk;
mod capture;
pub mod catalog;
mod catalog_form;
mod choose_org;
mod choose_vdc;
mod copy;
mod deploy;
mod deploy_into;
pub mod disk;
pub mod event;
mod form_error;
mod guest_fields;
pub mod home;
pub mod hub;
mod hub_faults;
mod hub_form;
mod hub_page;
mod hub_tenants;
pub mod item;
mod lease;
mod limits;
mod machine_state;
pub mod metadata;
mod needs;
pub mod network;
mod network_form;
mod nic_fields;
pub mod organization;
mod organization_form;
mod owner;
mod power_menu;
pub mod profile;
mod recent_events;
mod recent_tasks;
mod rights;
pub mod role;
mod role_form;
mod sharing;
pub mod sign_in;
mod sizes;
pub mod sizing;
mod sizing_hubs;
pub mod start_order;
pub mod storage_policy;
pub mod tag;
pub mod task;
pub mod template;
pub mod theme;
pub mod upload;
pub mod user;
mod user_form;
pub mod vapp;
mod vapp_form;
mod vapp_networks;
pub mod vdc;
mod vdc_form;
mod vdc_sizing;
mod vdc_storage;
pub mod vm;
mod vm_agent;
mod vm_console;
mod vm_disks;
mod vm_form;
mod vm_guest;
mod vm_media;
mod vm_nics;
mod vm_page;
mod vm_snapshots;
mod wishes;
pub mod work;

use crate::portal::{Ask, Portal, RouteInfo, Routes, respond_error};
use axum::{Router, body::Body, http::Request, response::Response};
use model::{Error, Kind};

/// The portal's router, and the list of what is in it.
pub fn routes(portal: Portal) -> (Router, Vec<RouteInfo>) {
    // Leptos renders on this; a second call changes nothing
    let _ = any_spawner::Executor::init_tokio();
    let routes = Routes::new(portal);
    let routes = sign_in::routes(routes);
    let routes = theme::routes(routes);
    let routes = home::routes(routes);
    let routes = organization::routes(routes);
    let routes = user::routes(routes);
    let routes = vdc::routes(routes);
    let routes = network::routes(routes);
    let routes = vapp::routes(routes);
    let routes = start_order::routes(lease::routes(routes));
    let routes = capture::routes(routes);
    let routes = bulk::routes(routes);
    let routes = copy::routes(routes);
    let routes = sharing::routes(routes);
    let routes = owner::routes(routes);
    let routes = vm::routes(routes);
    let routes = tag::routes(routes);
    let routes = disk::routes(routes);
    let routes = catalog::routes(routes);
    let routes = template::routes(routes);
    let routes = item::routes(routes);
    let routes = upload::routes(routes);
    let routes = metadata::routes(routes);
    let routes = hub::routes(routes);
    let routes = storage_policy::routes(routes);
    let routes = sizing::routes(routes);
    let routes = work::routes(routes);
    let routes = role::routes(routes);
    let routes = profile::routes(routes);
    let routes = task::routes(routes);
    let routes = event::routes(routes);
    let routes = audit::routes(routes);
    routes.into_router()
}

/// The answer at an address where there is no page, for somebody who is signed in.
pub async fn not_found(portal: Portal, request: Request<Body>) -> Response {
    let (mut parts, _) = request.into_parts();
    let ask = Ask::read(portal, &mut parts).await;
    respond_error(ask, parts, Error::NotFound(Kind::Installation)).await
}

/// The name that a page before a deletion asks for.
fn typed_name(values: &crate::portal::Values, name: &str) -> model::Result<()> {
    if values.get("name").trim() == name {
        return Ok(());
    }
    Err(model::Error::field("name", format!("Type {name} exactly. Nothing was deleted.")))
}
