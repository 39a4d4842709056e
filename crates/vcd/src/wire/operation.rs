//! What operations are called in VCD's tasks.
use model::Action;

/// VCD's name for an action's key; one that it has no name for keeps ours.
pub(crate) fn vcd_name(key: &str) -> &str {
    Action::parse(key).and_then(name).unwrap_or(key)
}

/// Our keys of actions whose name there, or here, fits.
pub(crate) fn keys_of(fits: impl Fn(&str) -> bool) -> Vec<&'static str> {
    Action::ALL.iter().map(|a| a.key()).filter(|key| fits(vcd_name(key)) || fits(key)).collect()
}

fn name(action: Action) -> Option<&'static str> {
    use Action::*;
    Some(match action {
        OrgCreate => "orgCreate",
        OrgEdit | OrgEditLimits | OrgChooseHubs | OrgEnable | OrgDisable => "orgUpdate",
        OrgDelete => "orgDelete",
        VdcCreate => "vdcCreateVdc",
        VdcEdit | VdcStorage | VdcSizing | VdcChooseHubs => "vdcUpdateVdc",
        VdcEnable => "vdcEnable",
        VdcDisable => "vdcDisable",
        VdcDelete => "vdcDeleteVdc",
        CatalogCreate => "catalogCreateCatalog",
        CatalogEdit => "catalogUpdateCatalog",
        CatalogDelete => "catalogDelete",
        TemplateUpload => "vdcUploadOvfContents",
        TemplateDelete => "catalogItemDelete",
        VappCapture => "vdcCaptureTemplate",
        VappCreate => "vdcInstantiateVapp",
        VappEdit => "vappUpdate",
        VappPowerOn | VmPowerOn => "vappDeploy",
        VappPowerOff | VmPowerOff => "vappPowerOff",
        VappShutdown | VmShutdown => "vappShutdownGuest",
        VappReboot | VmReboot => "vappRebootGuest",
        VappReset | VmReset => "vappReset",
        VappSuspend | VmSuspend => "vappSuspend",
        VappDiscard | VmDiscard => "vappDiscardSuspendedState",
        VappDelete => "vdcDeleteVapp",
        VappCopy => "vdcCopyVapp",
        VappMove => "vdcMoveVapp",
        VappLease => "vappUpdateLeaseSettings",
        VappAddNetwork | VappRemoveNetwork => "vappUpdateNetworkConfigSection",
        VmCreate => "vdcRecomposeVapp",
        VmDelete => "vappDeleteVm",
        VmEdit | VmResize | VmGuest | VmNics | VmDiskAdd | VmDiskEdit | VmDiskRemove => "vappUpdateVm",
        VmDiskAttach => "vappAttachDisk",
        VmDiskDetach => "vappDetachDisk",
        VmMediaInsert => "vappInsertCdFloppy",
        VmMediaEject => "vappEjectCdFloppy",
        VmSnapshot => "vappCreateSnapshot",
        VmRevert => "vappRevertToCurrentSnapshot",
        VmSnapshotDelete => "vappRemoveAllSnapshots",
        DiskCreate => "vdcCreateDisk",
        DiskEdit => "vdcUpdateDisk",
        DiskDelete => "vdcDeleteDisk",
        NetworkCreate => "networkCreateOrgVdcNetwork",
        NetworkEdit => "networkUpdateOrgVdcNetwork",
        NetworkDelete => "networkDelete",
        OrgMetadata | VdcMetadata | CatalogMetadata | TemplateMetadata | VappMetadata | VmMetadata | DiskMetadata
        | NetworkMetadata => "metadataUpdate",
        TemplateEdit => "vdcUpdateTemplate",
        TemplateLease => "vappTemplateUpdateLeaseSettings",
        AffinityCreate => "affinityRuleCreate",
        AffinityEdit => "affinityRuleUpdate",
        AffinityDelete => "affinityRuleDelete",
        _ => return None,
    })
}
