//! What each address under `/api` is for, and where it differs from VCD's. The first row that fits is the one: endings that many
//! things share come after those of one thing.

/// None: nobody has said it yet, and a test fails.
pub(crate) fn of(path: &str) -> Option<&'static str> {
    let rest = path.strip_prefix("/api/").or(Some("").filter(|_| path == "/api"))?;
    let rest = rest.strip_prefix("admin/extension/").unwrap_or(rest);
    let rest = rest.strip_prefix("admin/").unwrap_or(rest);
    WHOLE
        .iter()
        .find(|(at, _)| *at == rest)
        .or_else(|| ENDS.iter().find(|(end, _)| ends(rest, end)))
        .map(|(_, what)| *what)
}

/// All that is said.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    WHOLE.iter().chain(&ENDS).map(|(_, what)| *what)
}

fn ends(rest: &str, end: &str) -> bool {
    rest.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

const WHOLE: [(&str, &str); 83] = [
    ("admin", "Where a provider's client begins: organizations, provider VDCs, rights and roles"),
    ("extension", "Where a provider's client begins that looks at what is behind: references to the lists below"),
    ("externalNetworkReferences", "An empty list: VDCs have networks of their own only"),
    ("hostReferences", "An empty list: nodes are the hubs' business"),
    ("vimServerReferences", "An empty list: there is no vCenter"),
    ("networkPoolReferences", "The one network pool, which stands for what hubs make networks of"),
    ("networkPool/{id}", "The one network pool"),
    ("providerVdcReferences", "The one provider VDC, which stands for all hubs"),
    ("providervdc/{id}", "The provider VDC: its storage policies, and what hubs have and use in all"),
    ("providervdc/{id}/metadata", "An empty list: the provider VDC has none"),
    ("providervdc/{id}/vdcReferences", "All VDCs"),
    ("pvdcStorageProfile/{id}", "A storage policy of the provider: a StorageClass of each hub"),
    (
        "catalog/{id}",
        "A catalog with its items. Change its words; delete it, with `recursive` and `force` also with items",
    ),
    (
        "catalog/{id}/action/upload",
        "Begin an upload of a template or medium; the answer has the links that files go to",
    ),
    ("catalog/{id}/catalogItems", "Refused: what is in a catalog is uploaded or captured there, and is in no other"),
    ("catalog/{id}/catalogItems/query", "The items of a catalog, as the query service lists them"),
    (
        "catalog/{id}/action/captureVApp",
        "Make a template of a stopped vApp; it can be deployed on the hub of that vApp",
    ),
    ("catalog/{id}/action/publish", "Share a catalog with every organization, or with none any more"),
    (
        "catalog/{id}/action/publishToExternalOrganizations",
        "Refused, but for taking it back: catalogs are shared inside one installation",
    ),
    ("catalog/{id}/action/sync", "Refused: nothing is subscribed"),
    ("org/{org}/catalog/{id}/controlAccess", "Whom a catalog is shared with"),
    (
        "org/{org}/catalog/{id}/action/controlAccess",
        "Share a catalog with users of the organization or other organizations",
    ),
    ("catalogItem/{id}", "What a catalog calls a template or medium. Change its words; delete it with what it is"),
    ("disk/{id}", "An independent disk. Change its words or make it larger; delete it while it is in no VM"),
    ("disk/{id}/attachedVms", "The VM that it is in; a disk is in one at a time"),
    ("vdc/{id}/disk", "Create an independent disk in a VDC"),
    ("entity/{id}", "What a URN stands for: its name and address"),
    ("extensibility", "An empty list: there are no API extensions"),
    ("media/{id}", "A medium of a catalog. Change its words; delete it while no VM uses it"),
    ("network/{id}", "An isolated network of a VDC. Change its words, pools and DNS; delete it while nothing is on it"),
    ("network/{id}/action/reset", "Refused: isolated networks have no gateway to set up anew"),
    ("network/{id}/allocatedAddresses", "The addresses that NICs have on a network"),
    ("vdc/{id}/networks", "Create an isolated network in a VDC; routed and direct ones are refused by name"),
    ("vdc/{id}/edgeGateways", "An empty list: there are no edge gateways"),
    ("org", "The organizations that you see: your own, or all for the provider"),
    ("orgs", "Create an organization"),
    (
        "org/{id}",
        "An organization with links to what is in it. The provider changes it, and deletes one that is disabled and empty",
    ),
    ("org/{id}/action/enable", "Let its users sign in again, and power on"),
    ("org/{id}/action/disable", "Nobody of it signs in or powers on; what runs goes on running"),
    ("org/{id}/catalogs", "Create a catalog"),
    ("org/{id}/catalogs/query", "Catalogs of an organization, as the query service lists them"),
    ("org/{id}/vdcs/query", "VDCs of an organization, as the query service lists them"),
    ("org/{id}/groups", "Refused: whoever signs in by OpenID Connect has roles by its groups"),
    ("org/{id}/rights", "The rights an organization has: all of a tenant. Taking one away is refused"),
    ("org/{id}/roles", "Create a role"),
    ("org/{id}/users", "Create a user who signs in with a password"),
    ("org/{id}/vdcsparams", "Create a VDC"),
    ("org/{id}/settings", "All settings of an organization"),
    ("org/{id}/settings/general", "Quotas of VMs, sharing, and where it is published"),
    ("org/{id}/settings/ldap", "None: users are local or come by OpenID Connect. Another choice is refused"),
    ("org/{id}/settings/passwordPolicy", "How often somebody may fail to sign in; locking out is refused"),
    ("org/{id}/settings/vAppLeaseSettings", "The longest leases of vApps, and what happens at their end"),
    ("org/{id}/settings/vAppTemplateLeaseSettings", "The longest leases of templates, and what happens at their end"),
    ("query", "The query service: records of every kind, filtered, sorted and in pages"),
    ("session", "The session that asks. Sign out"),
    ("sessions", "Sign in with user@org and a password. Sign out"),
    ("supportedSystemsInfo", "The guest systems that can be named"),
    ("versions", "The versions of the API that are answered: 36.0 to 39.0"),
    (
        "task/{id}",
        "A task: how far it is, and why it failed. Setting its status to `aborted` takes it back, and nothing else can be set",
    ),
    ("task/{id}/action/cancel", "Take back what was not begun; see above"),
    ("tasksList/{id}", "The latest tasks of an organization"),
    ("right/{id}", "A right"),
    ("role/{id}", "A role with its rights. Change or delete one that the organization made"),
    ("role/{id}/action/linkToTemplate", "Refused: roles do not follow templates"),
    ("role/{id}/action/unlinkFromTemplate", "Refused: no role follows a template"),
    ("user/{id}", "A user, never with the password. Change, disable or delete one"),
    ("user/{id}/action/takeOwnership", "What the user owns becomes yours"),
    ("user/{id}/action/unlock", "Done at once: nobody is ever locked; who fails too often waits a while"),
    (
        "vdc/{id}",
        "A VDC: its quota and use, networks, vApps and policies. The provider changes it, and deletes one that is disabled",
    ),
    ("vdc/{id}/action/enable", "vApps can be made and powered on again"),
    ("vdc/{id}/action/disable", "Nothing new is made or powered on; what runs goes on running"),
    ("vdc/{id}/computePolicies", "The sizes that its VMs can have"),
    ("vdc/{id}/hwv/{version}", "What a virtual hardware version can, as far as hubs can"),
    ("vdc/{id}/vApps/query", "vApps of a VDC, as the query service lists them"),
    ("vdc/{id}/controlAccess", "Everybody of the organization"),
    ("vdc/{id}/action/controlAccess", "Sharing with fewer is refused: rights and quotas say who does what"),
    ("vdc/{id}/vmAffinityRules", "Which of its VMs are kept together and which apart. Create a rule"),
    ("vmAffinityRule/{id}", "One such rule. Change it; delete it"),
    ("vdc/{id}/vdcStorageProfiles", "Let a VDC use a storage policy, with a limit, or not any more"),
    (
        "vdcStorageProfile/{id}",
        "A storage policy of a VDC: its limit and use. The provider changes the limit and the default",
    ),
    ("vdcStorageProfile/{id}/metadata", "An empty list: storage policies have none"),
    ("vAppTemplate/vappTemplate-{id}", "A template with its VMs. Change its words; delete it"),
    ("vAppTemplate/vappTemplate-{id}/owner", "Who owns the template's catalog"),
];

const ENDS: [(&str, &str); 69] = [
    // what can be made in a VDC
    ("action/cloneVApp", "Copy a stopped vApp, into another VDC too; with `IsSourceDelete` it is moved"),
    ("action/composeVApp", "Make a vApp of templates' VMs and copies of VMs, or an empty one"),
    ("action/createVm", "Make a VM that the body describes, in a vApp of its own"),
    ("action/instantiateVAppTemplate", "Deploy a template"),
    ("action/instantiateVmFromTemplate", "Make one VM of a template, in a vApp of its own"),
    // vApps and VMs
    (
        "vApp/vapp-{id}",
        "A vApp with its VMs and sections. Change its words; delete it, with `force` also while it runs",
    ),
    ("vApp/vm-{id}", "A VM with its sections. Change what the body says; delete it"),
    ("action/recomposeVApp", "Add VMs to a vApp, take VMs out, or move them in from another"),
    ("vms", "The same as recomposing: add a VM to a vApp"),
    ("vms/query", "VMs of a vApp, as the query service lists them"),
    ("action/deploy", "Power on, if `powerOn` says so; there is nothing else to deploy"),
    (
        "action/undeploy",
        "Stop it in the way that the body says; by default a vApp in the way of its startup section, and a VM is powered off",
    ),
    ("action/enableDownload", "Refused: disks stay on hubs"),
    ("action/disableDownload", "Refused: nothing can be downloaded"),
    ("action/discardSuspendedState", "Give up the memory of suspended VMs: they are off then"),
    ("action/createSnapshot", "Take a snapshot in the place of the one that is there; with memory is refused"),
    ("action/revertToCurrentSnapshot", "Bring disks back to the snapshot"),
    ("action/removeAllSnapshots", "Delete all snapshots"),
    ("power/action/powerOn", "Power on"),
    ("power/action/powerOff", "Power off, without asking the guest"),
    ("power/action/shutdown", "Ask the guest to shut down"),
    ("power/action/reboot", "Ask the guest to restart"),
    ("power/action/reset", "Restart without asking the guest"),
    ("power/action/suspend", "Pause the guest: its memory stays on its node"),
    ("leaseSettingsSection", "When its leases end. Renew them, within the organization's longest"),
    ("networkConfigSection", "The networks of a vApp. Bring in networks of the VDC, and make isolated ones of its own"),
    ("networkSection", "The names of a vApp's networks"),
    ("snapshotSection", "The current snapshot"),
    ("startupSection", "In what order its VMs start and stop, and the delays between"),
    ("action/bootOptions", "The same as `PUT bootOptions`"),
    ("bootOptions", "Firmware and boot order; delays and retries are kept, and hubs are not told"),
    ("action/consolidate", "Done at once: disks are never chains of deltas"),
    ("action/customizeAtNextPowerOn", "Tell the guest its settings once more, at its next start"),
    ("action/enableNestedHypervisor", "Kept and read back: whether guests can run VMs is the hub's choice"),
    ("action/disableNestedHypervisor", "Kept and read back: whether guests can run VMs is the hub's choice"),
    ("action/reconfigureVm", "Change everything that the body names: words, size, disks, NICs, guest"),
    (
        "action/upgradeHardwareVersion",
        "To the newest version that is named; it is kept and read back, and hubs are not told",
    ),
    ("checkpostcustomizationscript", "Whether the guest has started since it was last told something"),
    ("guestCustomizationStatus", "Whether the guest has started since it was last told something"),
    ("guestcustomizationstatus", "Another spelling of `guestCustomizationStatus`"),
    ("disk/action/attach", "Put an independent disk in: at once where the hub can, else at the next start"),
    ("disk/action/detach", "Take an independent disk out"),
    ("media/action/insertMedia", "Insert a medium; into a running VM it comes at the next start"),
    ("media/action/ejectMedia", "Eject a medium"),
    ("environment", "What the guest is told as OVF properties"),
    (
        "guestCustomizationSection",
        "What the guest is told: name, password, script. Passwords are read by those who may set them",
    ),
    ("networkConnectionSection", "Its NICs: networks, addresses, MACs. All of them are as the body says"),
    ("operatingSystemSection", "The guest's system"),
    ("productSections", "OVF properties; guests are told those of their own VM"),
    ("question", "Always nothing: hubs ask no questions about VMs"),
    ("runtimeInfoSection", "What the guest agent says; without one, nothing"),
    ("screen", "A picture of the screen; refused while somebody has the console open"),
    ("screen/action/acquireMksTicket", "A ticket for the console, by WebSocket; see above"),
    ("screen/action/acquireTicket", "The same ticket in the older form"),
    ("virtualHardwareSection", "The whole hardware. CPUs, memory, disks, cards and extra configuration are changed"),
    ("virtualHardwareSection/cpu", "Its CPUs, and cores of a socket"),
    ("virtualHardwareSection/memory", "Its memory"),
    ("virtualHardwareSection/disks", "Its disks: added, made larger, removed. All of them are as the body says"),
    ("virtualHardwareSection/media", "Its CD drives"),
    ("virtualHardwareSection/networkCards", "Its network cards. All of them are as the body says"),
    ("vmCapabilities", "Hot add of CPUs and memory: kept and read back; hubs decide by what they can"),
    // templates
    ("vAppTemplate/vm-{id}", "A VM of a template"),
    (
        "customizationSection",
        "Whether guests are customized: kept and read back; guests are told what their VM's settings say",
    ),
    // what many things have
    ("action/controlAccess", "Share it with users of the organization"),
    ("controlAccess", "Whom it is shared with"),
    ("owner", "Who owns it. Give it to another user of the organization"),
    ("metadata", "Its metadata. Add to it, or change what is there"),
    ("metadata/{key}", "One entry that everybody may see"),
    ("metadata/{domain}/{key}", "One entry of the domain GENERAL or SYSTEM"),
];
