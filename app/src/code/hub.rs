//! Hubs: VCD's API has nothing like them.
use super::{AsCode, Way};

fn nowhere() -> [Way; 3] {
    let why = "Hubs are the installation's own business: VCD's API, and so this tool, has nothing like them.";
    [Way::none(why).but("On the server itself they are looked after with ssvirt hub."), Way::none(why), Way::none(why)]
}

pub fn create() -> AsCode {
    let [curl, vcd, terraform] = nowhere();
    AsCode::of_form(curl, vcd, terraform)
}

pub fn thing() -> AsCode {
    let [curl, vcd, terraform] = nowhere();
    AsCode::of_thing(curl, vcd, terraform)
}
