//! Storage policies: VCD has them from its infrastructure, and makes none.
use super::{
    AsCode, Site, Way, curl,
    hcl::{self, Block},
};
use model::storage::StoragePolicy;

pub fn create() -> AsCode {
    let why = "A storage policy is a class on hubs. VCD takes its policies from its infrastructure, so this is the portal's alone.";
    AsCode::of_form(Way::none(why), Way::none(why), Way::none(why))
}

pub fn thing(site: &Site, p: &StoragePolicy) -> AsCode {
    AsCode::of_thing(
        Way::code(curl::get(site, &format!("cloudapi/1.0.0/pvdcStoragePolicies/{}", p.id))),
        Way::code("vcd search providervdcstorageprofile")
            .but("vcd-cli lists policies, and shows none of them by itself."),
        hcl::all([Block::data("vcd_provider_vdc", "kubevirt").text("name", "kubevirt")])
            .but("Its storage_profile_names has this one. The provider makes no policies."),
    )
}
