//! Everything that runs in the browser. Islands take no props: the first one would bring a JSON parser into the wasm.
//! Each improves something that also works without it.
mod copying;
mod live;
mod menus;
mod sending;

#[cfg(feature = "hydrate")]
mod dom;
#[cfg(feature = "hydrate")]
mod morph;
#[cfg(feature = "hydrate")]
mod stream;

pub use self::{copying::*, live::*, menus::*, sending::*};
