//! `/api`: documents in XML, one file a thing.
pub(crate) mod access;
pub(crate) mod metadata;
pub(crate) mod org;
pub(crate) mod owner;
pub(crate) mod task;

use crate::routes::Routes;

pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = org::routes(routes);
    let routes = metadata::routes(routes);
    let routes = access::routes(routes);
    let routes = owner::routes(routes);
    task::routes(routes)
}
