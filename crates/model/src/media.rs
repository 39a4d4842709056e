//! Media in machines: discs of catalogs on a machine's CD drives.
use crate::Fields;

/// An installer and its drivers: machines have so many CD drives.
pub const MOST_IN_VM: usize = 2;

/// A disc as the records of a machine name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disc(pub String);

impl Fields for Disc {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("media", self.0.clone())]
    }
}
