//! Which APIs a hub has. What is off answers like a cluster on which it was never installed.

/// A part of the API that a cluster may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Kubernetes itself: always there.
    Kubernetes,
    KubeVirt,
    Snapshot,
    Cdi,
    OpenShift,
    Templates,
    UserDefinedNetworks,
    HyperShift,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flavour {
    /// KubeVirt's version as its objects report it, such as `v1.6.6`; none without KubeVirt.
    pub kubevirt: Option<String>,
    pub snapshot: bool,
    pub cdi: bool,
    /// `config.openshift.io`, routes and quotas over namespaces.
    pub openshift: bool,
    pub templates: bool,
    pub user_defined_networks: bool,
    pub hypershift: bool,
    /// What `/version` says.
    pub kubernetes: String,
}

impl Default for Flavour {
    /// An OpenShift cluster with OpenShift Virtualization.
    fn default() -> Self {
        Self {
            kubevirt: Some("v1.6.6".to_owned()),
            snapshot: true,
            cdi: true,
            openshift: true,
            templates: true,
            user_defined_networks: true,
            hypershift: true,
            kubernetes: "v1.35.8".to_owned(),
        }
    }
}

impl Flavour {
    /// Kubernetes and nothing else.
    pub fn bare() -> Self {
        Self {
            kubevirt: None,
            snapshot: false,
            cdi: false,
            openshift: false,
            templates: false,
            user_defined_networks: false,
            hypershift: false,
            ..Self::default()
        }
    }

    pub fn has(&self, part: Part) -> bool {
        match part {
            Part::Kubernetes => true,
            Part::KubeVirt => self.kubevirt.is_some(),
            Part::Snapshot => self.kubevirt.is_some() && self.snapshot,
            Part::Cdi => self.cdi,
            Part::OpenShift => self.openshift,
            Part::Templates => self.templates,
            Part::UserDefinedNetworks => self.user_defined_networks,
            Part::HyperShift => self.hypershift,
        }
    }
}
