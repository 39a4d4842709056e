//! The portal's parts: one file for each thing on the screen, rendered on the server. `cargo run -p app --example kit
//! --features ssr` shows all of them in their states.
mod answer;
mod badge;
mod button;
mod code;
mod confirm;
mod copy;
mod diff;
mod field;
mod filters;
mod form;
mod icon;
mod mark;
mod menu;
mod meter;
mod note;
mod page;
mod pager;
mod query;
mod shape;
mod table;
mod time;
mod toast;
mod todo;
mod tray;
mod words;

pub use self::{
    answer::*, badge::*, button::*, code::*, confirm::*, copy::*, diff::*, field::*, filters::*, form::*, icon::*,
    mark::*, menu::*, meter::*, note::*, page::*, pager::*, query::*, shape::*, table::*, time::*, toast::*, todo::*,
    tray::*, words::*,
};
