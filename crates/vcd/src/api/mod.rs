//! `/api`: documents in XML, one file a thing.
pub(crate) mod access;
pub(crate) mod admin_org;
pub(crate) mod affinity;
pub(crate) mod catalog;
pub(crate) mod catalog_item;
pub(crate) mod disk;
pub(crate) mod entity;
pub(crate) mod media;
pub(crate) mod metadata;
pub(crate) mod network;
pub(crate) mod org;
pub(crate) mod owner;
pub(crate) mod power;
pub(crate) mod provider;
pub(crate) mod query;
pub(crate) mod role;
pub(crate) mod snapshot;
pub(crate) mod task;
pub(crate) mod template;
pub(crate) mod template_vm;
pub(crate) mod upload;
pub(crate) mod user;
pub(crate) mod vapp;
pub(crate) mod vdc;
pub(crate) mod vm;

use crate::routes::Routes;

pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = org::routes(routes);
    let routes = metadata::routes(routes);
    let routes = access::routes(routes);
    let routes = owner::routes(routes);
    let routes = catalog::routes(routes);
    let routes = catalog_item::routes(routes);
    let routes = template::routes(routes);
    let routes = template_vm::routes(routes);
    let routes = media::routes(routes);
    let routes = upload::routes(routes);
    let routes = disk::routes(routes);
    let routes = user::routes(routes);
    let routes = role::routes(routes);
    let routes = network::routes(routes);
    let routes = affinity::routes(routes);
    let routes = vapp::routes(routes);
    let routes = vm::routes(routes);
    let routes = power::routes(routes);
    let routes = snapshot::routes(routes);
    let routes = query::routes(routes);
    let routes = vdc::routes(routes);
    let routes = provider::routes(routes);
    let routes = admin_org::routes(routes);
    let routes = entity::routes(routes);
    task::routes(routes)
}
