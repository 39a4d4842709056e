//! Things that VCD has and we have not: clients that look for them find that there are none.
use super::page::{missing, page};
use crate::{
    answer::Answer,
    ask::Ask,
    openapi::{Schema, Told},
    routes::Routes,
};
use model::{Result, query::Found};
use serde_json::{Value, json};

/// The collection, one of it, and what one is called.
const ALL: [(&str, &str, &str); 13] = [
    ("/cloudapi/1.0.0/edgeGateways", "/cloudapi/1.0.0/edgeGateways/{id}", "edge gateway"),
    ("/cloudapi/1.0.0/externalNetworks", "/cloudapi/1.0.0/externalNetworks/{id}", "external network"),
    ("/cloudapi/1.0.0/vdcGroups", "/cloudapi/1.0.0/vdcGroups/{id}", "group of VDCs"),
    ("/cloudapi/1.0.0/ipSpaces", "/cloudapi/1.0.0/ipSpaces/{id}", "IP space"),
    ("/cloudapi/1.0.0/ipSpaceUplinks", "/cloudapi/1.0.0/ipSpaceUplinks/{id}", "uplink of an IP space"),
    ("/cloudapi/1.0.0/firewallGroups", "/cloudapi/1.0.0/firewallGroups/{id}", "firewall group"),
    ("/cloudapi/1.0.0/applicationPortProfiles", "/cloudapi/1.0.0/applicationPortProfiles/{id}", "port profile"),
    ("/cloudapi/1.0.0/networkContextProfiles", "/cloudapi/1.0.0/networkContextProfiles/{id}", "context profile"),
    ("/cloudapi/1.0.0/segmentProfileTemplates", "/cloudapi/1.0.0/segmentProfileTemplates/{id}", "segment profile"),
    ("/cloudapi/1.0.0/virtualCenters", "/cloudapi/1.0.0/virtualCenters/{id}", "vCenter"),
    ("/cloudapi/1.0.0/logicalVmGroups", "/cloudapi/1.0.0/logicalVmGroups/{id}", "group of VMs"),
    ("/cloudapi/1.0.0/vgpuProfiles", "/cloudapi/1.0.0/vgpuProfiles/{id}", "vGPU profile"),
    ("/cloudapi/1.0.0/ssl/certificateLibrary", "/cloudapi/1.0.0/ssl/certificateLibrary/{id}", "certificate"),
];

pub(crate) fn routes(routes: Routes) -> Routes {
    let of = Told::page("There are none here", "Nothing", &[]);
    ALL.into_iter().fold(routes, |routes, (all, one, what)| {
        let none = move |_: Ask| async move { Ok(missing(what)) };
        routes.get(all, list).told(of).get(one, none).told(Told::one("There is none here", "Nothing"))
    })
}

pub(crate) fn schemas() -> Vec<Schema> {
    vec![("Nothing", json!({"type": "object"}))]
}

/// Whatever is asked for.
async fn list(ask: Ask) -> Result<Answer> {
    let q = ask.params().fiql()?;
    Ok(page(&ask, &q, Found { items: Vec::new(), total: 0 }, |none: Value| none))
}
