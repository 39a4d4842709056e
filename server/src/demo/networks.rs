//! The demonstration's networks: two isolated ones of acme's, each with a pool of addresses.

use domain::{Domain, bootstrap, network, vdc};
use model::{
    Action, Result,
    list::{ListQuery, VDCS},
    network::NetworkForm,
};

/// Name, what it is for, the first three numbers of its addresses.
const NETWORKS: [(&str, &str, &str); 2] = [
    ("acme-net", "Between the shop's machines.", "192.168.10"),
    ("acme-net-2", "For whoever needs a second one.", "192.168.20"),
];

pub async fn run(d: &Domain) -> Result<()> {
    let operator = bootstrap::operator(d).await?;
    let names = NETWORKS.map(|(name, ..)| name.to_owned());
    let made = d.store.made_by_operator(&names).await?;
    let Some(org) = d.store.org_id("acme").await? else { return Ok(()) };
    let vdcs = vdc::list(d, &operator, Some(org), &ListQuery::first(&VDCS)).await?;
    let Some(prod) = vdcs.items.into_iter().find(|v| v.name == "acme-prod") else { return Ok(()) };
    for (name, description, net) in NETWORKS {
        if made.iter().any(|m| m.action == Action::NetworkCreate.key() && m.name == name) {
            continue;
        }
        let form = NetworkForm {
            name: name.into(),
            description: description.into(),
            gateway: format!("{net}.1"),
            prefix: "24".into(),
            dns1: format!("{net}.1"),
            dns_suffix: "acme.example".into(),
            ranges: format!("{net}.100-{net}.199"),
            ..NetworkForm::default()
        };
        super::taken_is_fine(network::create(d, &operator, prod.id, form).await)?;
    }
    Ok(())
}
