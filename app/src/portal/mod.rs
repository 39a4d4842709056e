//! What all pages share: who visits and where, forms and how they are answered, lists, and the table of routes.
mod answer;
mod csv;
mod flash;
mod form;
mod frame;
mod list;
mod objects;
mod render;
mod routes;
mod visit;

pub use answer::status;
pub use csv::Csv;
pub use form::{Fill, FormState, Values, with_problems};
pub(crate) use frame::task_state;
pub use list::ListView;
pub use objects::{object_href, object_link, org_link};
pub(crate) use render::respond_error;
pub use render::{respond_page, respond_public};
pub(crate) use routes::read_values;
pub use routes::{RouteInfo, Routes};
pub use visit::{Ask, Done, Place, Portal, PortalOptions, Sheet, Visit, Visitor};
