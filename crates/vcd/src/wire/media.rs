//! Media types. Links are found by them, byte for byte.

/// `application/vnd.vmware.vcloud.<x>+xml`
macro_rules! vc {
    ($($name:ident $x:literal),* $(,)?) => {$(
        pub(crate) const $name: &str = concat!("application/vnd.vmware.vcloud.", $x, "+xml");
    )*};
}

/// `application/vnd.vmware.admin.<x>+xml`
macro_rules! ad {
    ($($name:ident $x:literal),* $(,)?) => {$(
        pub(crate) const $name: &str = concat!("application/vnd.vmware.admin.", $x, "+xml");
    )*};
}

vc! {
    API_EXTENSIBILITY "apiextensibility",
    AFFINITY_RULE "vmaffinityrule",
    AFFINITY_RULES "vmaffinityrules",
    ALLOCATED_ADDRESSES "allocatedNetworkAddress",
    CAPTURE_PARAMS "captureVAppParams",
    CATALOG "catalog",
    CATALOG_ITEM "catalogItem",
    CLONE_PARAMS "cloneVAppParams",
    COMPOSE_PARAMS "composeVAppParams",
    CONTROL_ACCESS "controlAccess",
    CREATE_VM_PARAMS "CreateVmParams",
    DEPLOY_PARAMS "deployVAppParams",
    DISK "disk",
    DISK_ATTACH_PARAMS "diskAttachOrDetachParams",
    DISK_CREATE_PARAMS "diskCreateParams",
    ENTITY "entity",
    ERROR "error",
    COMPUTE_POLICIES "vdcComputePolicyReferences",
    GUEST_CUSTOMIZATION "guestCustomizationSection",
    HARDWARE_VERSION "virtualHardwareVersion",
    INSTANTIATE_PARAMS "instantiateVAppTemplateParams",
    INSTANTIATE_VM_PARAMS "instantiateVmTemplateParams",
    LEASE "leaseSettingsSection",
    MEDIA "media",
    MEDIA_PARAMS "mediaInsertOrEjectParams",
    METADATA "metadata",
    METADATA_VALUE "metadata.value",
    NETWORK "network",
    NETWORK_CONFIG "networkConfigSection",
    NETWORK_CONNECTION "networkConnectionSection",
    ORG "org",
    ORG_LIST "orgList",
    ORG_NETWORK "orgNetwork",
    ORG_VDC_NETWORK "orgVdcNetwork",
    OWNER "owner",
    PRODUCT_SECTIONS "productSections",
    QUERY_IDRECORDS "query.idrecords",
    QUERY_LIST "query.queryList",
    QUERY_RECORDS "query.records",
    QUERY_REFERENCES "query.references",
    RASD_ITEM "rasdItem",
    RASD_ITEMS "rasdItemsList",
    RECOMPOSE_PARAMS "recomposeVAppParams",
    SESSION "session",
    SNAPSHOT_PARAMS "createSnapshotParams",
    SNAPSHOT_SECTION "snapshotSection",
    STARTUP "startupSection",
    STORAGE_PROFILE "vdcStorageProfile",
    TASK "task",
    TASKS_LIST "tasksList",
    UNDEPLOY_PARAMS "undeployVAppParams",
    UPLOAD_TEMPLATE_PARAMS "uploadVAppTemplateParams",
    VAPP "vApp",
    VAPP_NETWORK "vAppNetwork",
    VAPP_TEMPLATE "vAppTemplate",
    VDC "vdc",
    VIRTUAL_HARDWARE "virtualHardwareSection",
    VM "vm",
    VM_CAPABILITIES "vmCapabilitiesSection",
    VMS "vms",
    OPERATING_SYSTEM "operatingSystemSection",
    OPERATING_SYSTEMS "supportedOperatingSystemsInfo",
    RUNTIME_INFO "runtimeInfoSection",
    SCREEN_TICKET "screenTicket",
    MKS_TICKET "mksTicket",
}

ad! {
    ADMIN_CATALOG "catalog",
    ADMIN_ORG "organization",
    ADMIN_ORG_SETTINGS "orgSettings",
    ADMIN_RIGHT "right",
    ADMIN_RIGHTS "rights",
    ADMIN_ROLE "role",
    ADMIN_USER "user",
    ADMIN_VCLOUD "vcloud",
    ADMIN_VDC "vdc",
    ADMIN_STORAGE_PROFILE "vdcStorageProfile",
    CREATE_VDC_PARAMS "createVdcParams",
    EXTENSION "vmwExtension",
    EXTERNAL_NETWORKS "vmwExternalNetworkReferences",
    HOSTS "vmwHostReferences",
    NETWORK_POOL "networkPool",
    NETWORK_POOLS "vmwNetworkPoolReferences",
    ORG_RIGHTS "org.rights",
    PROVIDER_VDC "providervdc",
    PROVIDER_VDCS "vmwProviderVdcReferences",
    PROVIDER_STORAGE_PROFILE "pvdcStorageProfile",
    PUBLISH_CATALOG_PARAMS "publishCatalogParams",
    VDC_REFERENCES "vdcReferences",
    VIM_SERVERS "vmwVimServerReferences",
}
