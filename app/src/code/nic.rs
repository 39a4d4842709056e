//! A machine's NICs, within documents and configurations.
use super::{
    hcl::{self, Block},
    xml::{El, el, text},
};
use model::{
    NetworkId,
    network::Network,
    nic::{Adapter, Attach, IpMode, Nic, NicSpec},
};

/// What the VDC's own network is called on VCD's wire.
const VDC_NETWORK: &str = "vdc-network";

fn on<'a>(nic: &NicSpec, networks: &'a [Network]) -> Option<&'a Network> {
    nic.attach.network().and_then(|id| networks.iter().find(|n| n.id == id))
}

fn name<'a>(nic: &NicSpec, networks: &'a [Network]) -> &'a str {
    match nic.attach {
        Attach::Vdc => VDC_NETWORK,
        Attach::Nothing => "none",
        Attach::Network(_) => on(nic, networks).map_or("none", Network::name),
    }
}

pub(super) fn mode_word(mode: IpMode) -> &'static str {
    match mode {
        IpMode::Pool => "POOL",
        IpMode::Manual => "MANUAL",
        IpMode::Dhcp => "DHCP",
        IpMode::None => "NONE",
    }
}

fn adapter(adapter: Adapter) -> &'static str {
    match adapter {
        Adapter::Auto | Adapter::Virtio => "VMXNET3",
        Adapter::E1000 => "E1000",
        Adapter::E1000e => "E1000E",
    }
}

pub(super) fn section(nics: &[NicSpec], networks: &[Network]) -> El {
    let one = |nic: &NicSpec| {
        let address = nic.address.map(|a| text("IpAddress", a));
        el("NetworkConnection")
            .attr("network", name(nic, networks))
            .with(text("NetworkConnectionIndex", nic.index))
            .and(address)
            .with(text("IsConnected", true))
            .with(text("IpAddressAllocationMode", mode_word(nic.mode)))
            .with(text("NetworkAdapterType", adapter(nic.adapter)))
    };
    el("NetworkConnectionSection")
        .with(text("ovf:Info", "NICs"))
        .with(text("PrimaryNetworkConnectionIndex", nics.first().map_or(0, |n| n.index)))
        .and(nics.iter().map(one))
}

/// Networks of VDCs that a vApp needs for them, as resources of their own; and the blocks within the machine.
pub(super) fn blocks(
    vapp: (&str, &str, &str, &str),
    nics: &[NicSpec],
    networks: &[Network],
) -> (Vec<Block>, Vec<Block>) {
    let (org, vdc, label, vapp_name) = vapp;
    let (mut beside, mut inside) = (Vec::new(), Vec::new());
    for nic in nics {
        let Some(network) = on(nic, networks) else { continue };
        let (kind, of) = match network.vapp {
            Some(_) => ("vapp", hcl::quoted(network.name())),
            None => {
                let own = format!("{label}_{}", network.name());
                let block = hcl::in_vdc(Block::resource("vcd_vapp_org_network", &own), org, vdc)
                    .is("vapp_name", vapp_name)
                    .text("org_network_name", network.name())
                    .is("reboot_vapp_on_removal", true);
                beside.push(block);
                ("org", format!("vcd_vapp_org_network.{}.org_network_name", hcl::label(&own)))
            }
        };
        let block =
            Block::new("network").text("type", kind).is("name", of).text("ip_allocation_mode", mode_word(nic.mode));
        let block = block.said("ip", &nic.address.map(|a| a.to_string()).unwrap_or_default());
        inside.push(block.text("adapter_type", adapter(nic.adapter)).is("is_primary", inside.is_empty()));
    }
    (beside, inside)
}

/// One that there is, as the provider reads it. `inside`: networks within the vApp.
pub(super) fn imported(nic: &Nic, inside: &[NetworkId]) -> Block {
    let block = Block::new("network");
    let block = match nic.spec.attach {
        Attach::Nothing => block.text("type", "none"),
        Attach::Vdc => block.text("type", "org").text("name", VDC_NETWORK),
        Attach::Network(id) => {
            block.text("type", if inside.contains(&id) { "vapp" } else { "org" }).text("name", &nic.network_name)
        }
    };
    let fixed = nic.spec.address.filter(|_| nic.spec.mode == IpMode::Manual);
    block
        .text("ip_allocation_mode", mode_word(nic.spec.mode))
        .said("ip", &fixed.map(|a| a.to_string()).unwrap_or_default())
        .text("adapter_type", adapter(nic.spec.adapter))
        .is("is_primary", nic.spec.primary)
}

/// Is there one that only hubs know?
pub(super) fn hidden(nics: &[NicSpec]) -> bool {
    nics.iter().any(|n| n.attach == Attach::Vdc)
}
