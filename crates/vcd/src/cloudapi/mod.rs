//! `/cloudapi`: JSON, one file a thing.

use crate::routes::Routes;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
}
