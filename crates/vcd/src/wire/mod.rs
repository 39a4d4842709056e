//! How things are written and read on the wire: addresses, media types, documents, filters.
pub(crate) mod as_json;
pub(crate) mod body;
pub(crate) mod doc;
pub(crate) mod href;
pub(crate) mod media;
pub(crate) mod operation;
pub(crate) mod params;
pub(crate) mod product;
pub(crate) mod rasd;
pub(crate) mod status;
pub(crate) mod times;
pub(crate) mod units;
