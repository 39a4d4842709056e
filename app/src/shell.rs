//! The frame around every page: the HTML document, the two portals' layout, the sign-in door.
mod bare;
mod document;
mod door;
mod layout;

pub use self::{bare::*, document::*, door::*, layout::*};
