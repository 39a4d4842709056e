//! Everything somebody can do, with its key (as in tasks, events and the audit), the right it takes and how far it reaches.
use crate::{Kind, Right, share::Access};

/// On whose things an action may be done by somebody who has its right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The provider only.
    Provider,
    /// One's own organization; the provider: any.
    Org,
    /// As `Org` with the right; without it one's own things.
    OrgOrOwn,
    /// With the right: one's own things and what is shared with one, and everybody's of the organization for who may see all of
    /// that kind.
    Mine,
    /// One's own user only, no right needed.
    Oneself,
}

macro_rules! actions {
    ($($variant:ident $key:literal $kind:ident $right:ident $reach:ident $change:ident $phrase:literal $past:literal),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action { $($variant),* }

        impl Action {
            pub const ALL: &'static [Action] = &[$(Action::$variant),*];

            /// The word in tasks, events and the audit.
            pub fn key(self) -> &'static str {
                match self { $(Action::$variant => $key),* }
            }

            pub fn kind(self) -> Kind {
                match self { $(Action::$variant => Kind::$kind),* }
            }

            pub fn right(self) -> Option<Right> {
                match self { $(Action::$variant => actions!(@right $right)),* }
            }

            pub fn reach(self) -> Reach {
                match self { $(Action::$variant => Reach::$reach),* }
            }

            /// Does it change something? Refusals of these are written to the audit.
            pub fn changes(self) -> bool {
                match self { $(Action::$variant => actions!(@change $change)),* }
            }

            /// What one wants to do: "create an organization".
            pub fn phrase(self) -> &'static str {
                match self { $(Action::$variant => $phrase),* }
            }

            /// What was done, before the object's name: "Created organization".
            pub fn past(self) -> &'static str {
                match self { $(Action::$variant => $past),* }
            }
        }
    };
    (@right none) => { None };
    (@right $r:ident) => { Some(Right::$r) };
    (@change changes) => { true };
    (@change reads) => { false };
}

actions! {
    OrgList "org.list" Org OrgView Provider reads "list organizations" "Listed organizations",
    OrgView "org.view" Org OrgView Org reads "see the organization" "Looked at organization",
    OrgCreate "org.create" Org OrgCreate Provider changes "create an organization" "Created organization",
    OrgEdit "org.edit" Org OrgEdit Org changes "edit the organization" "Edited organization",
    OrgEditLimits "org.limits" Org OrgEditLimits Provider changes "change an organization's limits" "Changed limits of organization",
    OrgChooseHubs "org.hubs" Org OrgEditLimits Provider changes "choose an organization's hubs" "Chose hubs for organization",
    OrgEnable "org.enable" Org OrgEnable Provider changes "enable an organization" "Enabled organization",
    OrgDisable "org.disable" Org OrgEnable Provider changes "disable an organization" "Disabled organization",
    OrgDelete "org.delete" Org OrgDelete Provider changes "delete an organization" "Deleted organization",
    UserList "user.list" User UserView Org reads "list users" "Listed users",
    UserView "user.view" User UserView Org reads "see a user" "Looked at user",
    UserCreate "user.create" User UserManage Org changes "create a user" "Created user",
    UserEdit "user.edit" User UserManage Org changes "edit a user" "Edited user",
    UserEnable "user.enable" User UserManage Org changes "enable a user" "Enabled user",
    UserDisable "user.disable" User UserManage Org changes "disable a user" "Disabled user",
    UserResetPassword "user.reset_password" User UserManage Org changes "set a user's password" "Set the password of user",
    UserDelete "user.delete" User UserManage Org changes "delete a user" "Deleted user",
    RoleList "role.list" Role RightView Org reads "list roles" "Listed roles",
    RoleView "role.view" Role RightView Org reads "see a role" "Looked at role",
    RoleCreate "role.create" Role RoleManage Org changes "create a role" "Created role",
    RoleEdit "role.edit" Role RoleManage Org changes "edit a role" "Edited role",
    RoleDelete "role.delete" Role RoleManage Org changes "delete a role" "Deleted role",
    VdcList "vdc.list" Vdc VdcView Org reads "list VDCs" "Listed VDCs",
    VdcView "vdc.view" Vdc VdcView Org reads "see a VDC" "Looked at VDC",
    VdcCreate "vdc.create" Vdc VdcCreate Org changes "create a VDC" "Created VDC",
    VdcEdit "vdc.edit" Vdc VdcEdit Org changes "edit a VDC" "Edited VDC",
    VdcChooseHubs "vdc.hubs" Vdc VdcEdit Provider changes "choose a VDC's hubs" "Chose hubs for VDC",
    VdcStorage "vdc.storage" Vdc VdcEdit Provider changes "choose a VDC's storage policies" "Chose storage policies for VDC",
    VdcEnable "vdc.enable" Vdc VdcEnable Org changes "enable a VDC" "Enabled VDC",
    VdcDisable "vdc.disable" Vdc VdcEnable Org changes "disable a VDC" "Disabled VDC",
    VdcDelete "vdc.delete" Vdc VdcDelete Org changes "delete a VDC" "Deleted VDC",
    HubList "hub.list" Hub HubView Provider reads "list hubs" "Listed hubs",
    HubView "hub.view" Hub HubView Provider reads "see a hub" "Looked at hub",
    HubRegister "hub.register" Hub HubManage Provider changes "register a hub" "Registered hub",
    HubEdit "hub.edit" Hub HubManage Provider changes "edit a hub" "Edited hub",
    HubCredential "hub.credential" Hub HubManage Provider changes "change a hub's kubeconfig" "Changed the kubeconfig of hub",
    HubCordon "hub.cordon" Hub HubManage Provider changes "cordon a hub" "Cordoned hub",
    HubUncordon "hub.uncordon" Hub HubManage Provider changes "uncordon a hub" "Uncordoned hub",
    HubDelete "hub.delete" Hub HubManage Provider changes "delete a hub" "Deleted hub",
    HubAbandon "hub.abandon" Hub HubManage Provider changes "give up a hub that is lost" "Gave up hub",
    HubFault "hub.fault" Hub HubManage Provider changes "switch a fault of a simulated hub" "Switched a fault of hub",
    PolicyList "storage.list" StoragePolicy HubView Provider reads "list storage policies" "Listed storage policies",
    PolicyView "storage.view" StoragePolicy HubView Provider reads "see a storage policy" "Looked at storage policy",
    PolicyCreate "storage.create" StoragePolicy HubManage Provider changes "create a storage policy" "Created storage policy",
    PolicyEdit "storage.edit" StoragePolicy HubManage Provider changes "edit a storage policy" "Edited storage policy",
    PolicyDelete "storage.delete" StoragePolicy HubManage Provider changes "delete a storage policy" "Deleted storage policy",
    SizingList "sizing.list" SizingPolicy HubView Provider reads "list sizing policies" "Listed sizing policies",
    SizingView "sizing.view" SizingPolicy HubView Provider reads "see a sizing policy" "Looked at sizing policy",
    SizingCreate "sizing.create" SizingPolicy HubManage Provider changes "create a sizing policy" "Created sizing policy",
    SizingEdit "sizing.edit" SizingPolicy HubManage Provider changes "edit a sizing policy" "Edited sizing policy",
    SizingDelete "sizing.delete" SizingPolicy HubManage Provider changes "delete a sizing policy" "Deleted sizing policy",
    VdcSizing "vdc.sizing" Vdc VdcEdit Provider changes "choose a VDC's sizes" "Chose the sizes of VDC",
    WorkList "work.list" Hub HubView Provider reads "see the queue of work" "Looked at the queue of work",
    WorkRetry "work.retry" Hub HubManage Provider changes "try failed work again" "Tried again",
    KeysList "keys.list" Installation HubView Provider reads "see which keys are in use" "Looked at the keys of",
    KeysRotate "keys.rotate" Installation HubManage Provider changes "change the keys that secrets are sealed with" "Changed the keys of",
    CatalogList "catalog.list" Catalog CatalogViewPublished Mine reads "list catalogs" "Listed catalogs",
    CatalogView "catalog.view" Catalog CatalogViewPublished Mine reads "see a catalog" "Looked at catalog",
    CatalogCreate "catalog.create" Catalog CatalogCreate Org changes "create a catalog" "Created catalog",
    CatalogEdit "catalog.edit" Catalog CatalogEdit Mine changes "edit a catalog" "Edited catalog",
    CatalogShare "catalog.share" Catalog CatalogShare Mine changes "share a catalog" "Shared catalog",
    CatalogDelete "catalog.delete" Catalog CatalogCreate Mine changes "delete a catalog" "Deleted catalog",
    CatalogAdd "catalog.add" Catalog CatalogAddVapp Mine changes "add to a catalog" "Added to catalog",
    CatalogViewSharing "catalog.sharing" Catalog CatalogViewAcl Mine reads "see with whom a catalog is shared" "Looked at the sharing of catalog",
    CatalogOwner "catalog.owner" Catalog CatalogOwner Mine changes "give a catalog to somebody" "Changed the owner of catalog",
    TemplateView "template.view" Template TemplateView Mine reads "see a template" "Looked at template",
    TemplateEdit "template.edit" Template TemplateEdit Mine changes "edit a template or media" "Edited",
    TemplateUpload "template.upload" Template TemplateCreate Mine changes "upload" "Uploaded",
    TemplateDelete "template.delete" Template TemplateEdit Mine changes "delete a template or media" "Deleted",
    VersionDelete "template.version_delete" Template TemplateEdit Mine changes "delete a version" "Deleted a version of",
    TemplateLease "template.lease" Template TemplateEdit Mine changes "renew a template's lease" "Renewed the lease of",
    UploadView "upload.view" Upload TemplateCreate Mine reads "see an upload" "Looked at upload",
    UploadCancel "upload.cancel" Template TemplateCreate Mine changes "cancel an upload" "Cancelled the upload of",
    ImageBring "image.bring" Template TemplateView Org changes "bring an image to its hub" "Brought an image to its hub:",
    VappList "vapp.list" Vapp none Mine reads "list vApps and VMs" "Listed vApps",
    VappView "vapp.view" Vapp none Mine reads "see a vApp" "Looked at vApp",
    VappCreate "vapp.create" Vapp VappCreate Mine changes "create a vApp" "Created vApp",
    VappEdit "vapp.edit" Vapp VappEdit Mine changes "edit a vApp" "Edited vApp",
    VappPowerOn "vapp.power_on" Vapp VappPower Mine changes "power on a vApp" "Powered on vApp",
    VappPowerOff "vapp.power_off" Vapp VappPower Mine changes "power off a vApp" "Powered off vApp",
    VappShutdown "vapp.shutdown" Vapp VappPower Mine changes "shut down a vApp" "Shut down vApp",
    VappReboot "vapp.reboot" Vapp VappPower Mine changes "reboot a vApp" "Rebooted vApp",
    VappReset "vapp.reset" Vapp VappPower Mine changes "reset a vApp" "Reset vApp",
    VappSuspend "vapp.suspend" Vapp VappPower Mine changes "suspend a vApp" "Suspended vApp",
    VappDiscard "vapp.discard" Vapp VappPower Mine changes "discard a vApp's suspended state" "Discarded the suspended state of vApp",
    VappDelete "vapp.delete" Vapp VappDelete Mine changes "delete a vApp" "Deleted vApp",
    VappCapture "vapp.capture" Vapp CatalogAddVapp Mine changes "capture a vApp as a template" "Captured",
    VappLease "vapp.lease" Vapp VappEdit Mine changes "change a vApp's lease" "Changed the lease of vApp",
    VappCopy "vapp.copy" Vapp VappCopy Mine changes "copy a vApp" "Copied vApp",
    VappMove "vapp.move" Vapp VappCopy Mine changes "move a vApp to another VDC" "Moved vApp",
    VappViewSharing "vapp.sharing" Vapp VappViewAcl Mine reads "see with whom a vApp is shared" "Looked at the sharing of vApp",
    VappShare "vapp.share" Vapp VappShare Mine changes "share a vApp" "Shared vApp",
    VappOwner "vapp.owner" Vapp VappOwner Mine changes "give a vApp to somebody" "Changed the owner of vApp",
    VmView "vm.view" Vm none Mine reads "see a VM" "Looked at VM",
    VmCreate "vm.create" Vm VappCreate Mine changes "add a VM" "Added VM",
    VmEdit "vm.edit" Vm VmEdit Mine changes "edit a VM" "Edited VM",
    VmResize "vm.resize" Vm VmEditCpu Mine changes "resize a VM" "Resized VM",
    VmGuest "vm.guest" Vm VmEdit Mine changes "change a VM's guest settings" "Changed the guest settings of VM",
    VmPassword "vm.password" Vm VmPassword Mine reads "read or set a VM's administrator password" "Read the administrator's password of VM",
    VmPowerOn "vm.power_on" Vm VappPower Mine changes "power on a VM" "Powered on VM",
    VmPowerOff "vm.power_off" Vm VappPower Mine changes "power off a VM" "Powered off VM",
    VmShutdown "vm.shutdown" Vm VappPower Mine changes "shut down a VM" "Shut down VM",
    VmReboot "vm.reboot" Vm VappPower Mine changes "reboot a VM" "Rebooted VM",
    VmReset "vm.reset" Vm VappPower Mine changes "reset a VM" "Reset VM",
    VmSuspend "vm.suspend" Vm VappPower Mine changes "suspend a VM" "Suspended VM",
    VmDiscard "vm.discard" Vm VappPower Mine changes "discard a VM's suspended state" "Discarded the suspended state of VM",
    VmDelete "vm.delete" Vm VappDelete Mine changes "delete a VM" "Deleted VM",
    VmCopy "vm.copy" Vm VappCopy Mine changes "copy a VM" "Copied VM",
    VmMove "vm.move" Vm VappEdit Mine changes "move a VM to another vApp" "Moved VM",
    VmNics "vm.nics" Vm VmEditNetwork Mine changes "change a VM's NICs" "Changed the NICs of VM",
    VappAddNetwork "vapp.network.add" Vapp VappEdit Mine changes "add a network to a vApp" "Added a network to vApp",
    VappRemoveNetwork "vapp.network.remove" Vapp VappEdit Mine changes "remove a network from a vApp" "Removed a network from vApp",
    NetworkList "network.list" Network NetworkView Org reads "list networks" "Listed networks",
    NetworkView "network.view" Network NetworkView Org reads "see a network" "Looked at network",
    NetworkCreate "network.create" Network NetworkEdit Org changes "create a network" "Created network",
    NetworkEdit "network.edit" Network NetworkEdit Org changes "edit a network" "Edited network",
    NetworkDelete "network.delete" Network NetworkEdit Org changes "delete a network" "Deleted network",
    VmDiskAdd "vm.disk_add" Vm VmEditDisk Mine changes "add a disk to a VM" "Added a disk to VM",
    VmDiskEdit "vm.disk_edit" Vm VmEditDisk Mine changes "change a disk of a VM" "Changed a disk of VM",
    VmDiskRemove "vm.disk_remove" Vm VmEditDisk Mine changes "remove a disk from a VM" "Removed a disk from VM",
    VmDiskAttach "vm.disk_attach" Vm VmEditDisk Mine changes "attach an independent disk to a VM" "Attached an independent disk to VM",
    VmDiskDetach "vm.disk_detach" Vm VmEditDisk Mine changes "detach an independent disk from a VM" "Detached an independent disk from VM",
    VmConsole "vm.console" Vm VappConsole Mine changes "open the console of a VM" "Opened the console of VM",
    VmConsoleClose "vm.console_close" Vm VappConsole Mine changes "close the console of a VM" "Closed the console of VM",
    VmScreen "vm.screen" Vm VappConsole Mine reads "see the screen of a VM" "Looked at the screen of VM",
    VmMediaInsert "vm.media_insert" Vm VmEdit Mine changes "insert media into a VM" "Inserted media into VM",
    VmMediaEject "vm.media_eject" Vm VmEdit Mine changes "eject media from a VM" "Ejected media from VM",
    VmSnapshot "vm.snapshot" Vm VappSnapshot Mine changes "take a snapshot of a VM" "Took a snapshot of VM",
    VmRevert "vm.revert" Vm VappSnapshot Mine changes "revert to a snapshot of a VM" "Reverted to a snapshot of VM",
    VmSnapshotDelete "vm.snapshot_delete" Vm VappSnapshot Mine changes "delete a snapshot of a VM" "Deleted a snapshot of VM",
    VappSnapshot "vapp.snapshot" Vapp VappSnapshot Mine changes "take snapshots of a vApp's VMs" "Took snapshots of vApp",
    VappRevert "vapp.revert" Vapp VappSnapshot Mine changes "revert a vApp's VMs to their snapshots" "Reverted to the snapshots of vApp",
    VappSnapshotDelete "vapp.snapshot_delete" Vapp VappSnapshot Mine changes "delete the snapshots of a vApp's VMs" "Deleted the snapshots of vApp",
    VappRecompose "vapp.recompose" Vapp VappCreate Mine changes "recompose a vApp" "Recomposed vApp",
    VappStartOrder "vapp.start_order" Vapp VappEdit Mine changes "change the order in which a vApp's VMs start" "Changed the starting order of vApp",
    DiskList "disk.list" Disk DiskView Mine reads "list disks" "Listed disks",
    DiskView "disk.view" Disk DiskView Mine reads "see a disk" "Looked at disk",
    DiskCreate "disk.create" Disk DiskCreate Mine changes "create a disk" "Created disk",
    DiskEdit "disk.edit" Disk DiskEdit Mine changes "edit a disk" "Edited disk",
    DiskDelete "disk.delete" Disk DiskDelete Mine changes "delete a disk" "Deleted disk",
    OrgMetadata "org.metadata" Org OrgEdit Org changes "change an organization's metadata" "Changed the metadata of organization",
    VdcMetadata "vdc.metadata" Vdc VdcEdit Org changes "change a VDC's metadata" "Changed the metadata of VDC",
    CatalogMetadata "catalog.metadata" Catalog CatalogEdit Mine changes "change a catalog's metadata" "Changed the metadata of catalog",
    TemplateMetadata "template.metadata" Template TemplateEdit Mine changes "change a template's metadata" "Changed the metadata of",
    NetworkMetadata "network.metadata" Network NetworkEdit Org changes "change a network's metadata" "Changed the metadata of network",
    DiskMetadata "disk.metadata" Disk DiskEdit Mine changes "change a disk's metadata" "Changed the metadata of disk",
    VappMetadata "vapp.metadata" Vapp VappEdit Mine changes "change a vApp's metadata" "Changed the metadata of vApp",
    VmMetadata "vm.metadata" Vm VmEdit Mine changes "change a VM's metadata" "Changed the metadata of VM",
    VmTags "vm.tags" Vm VmEdit Mine changes "change a VM's tags" "Changed the tags of VM",
    AffinityCreate "affinity.create" AffinityRule VmAffinity Org changes "create an affinity rule" "Created affinity rule",
    AffinityEdit "affinity.edit" AffinityRule VmAffinity Org changes "edit an affinity rule" "Edited affinity rule",
    AffinityDelete "affinity.delete" AffinityRule VmAffinity Org changes "delete an affinity rule" "Deleted affinity rule",
    DiskOwner "disk.owner" Disk DiskOwner Mine changes "give a disk to somebody" "Changed the owner of disk",
    StrandedList "stranded.list" User UserManage Org reads "list what nobody looks after" "Listed what nobody looks after",
    StrandedGive "stranded.give" User UserManage Org changes "give away what nobody looks after" "Gave away what nobody looked after of",
    TaskCancel "task.cancel" Task TaskAbort OrgOrOwn changes "cancel a task" "Cancelled task",
    TaskList "task.list" Task TaskView OrgOrOwn reads "list tasks" "Listed tasks",
    TaskView "task.view" Task TaskView OrgOrOwn reads "see a task" "Looked at task",
    EventList "event.list" Event EventView OrgOrOwn reads "list events" "Listed events",
    AuditList "audit.list" Audit AuditView Org reads "read the audit" "Read the audit",
    ProfileView "profile.view" User none Oneself reads "see your profile" "Looked at profile of",
    ProfileEdit "profile.edit" User none Oneself changes "edit your profile" "Edited own profile",
    ProfilePassword "profile.password" User none Oneself changes "change your password" "Changed own password",
    SessionList "session.list" Session none Oneself reads "list your sessions" "Listed own sessions",
    SessionEnd "session.end" Session none Oneself changes "end your other sessions" "Ended other sessions of",
    SignIn "session.sign_in" Session none Oneself changes "sign in" "Signed in",
    SignOut "session.sign_out" Session none Oneself changes "sign out" "Signed out",
    TokenList "token.list" Token TokenManageAll OrgOrOwn reads "list API tokens" "Listed API tokens",
    TokenView "token.view" Token TokenManageAll OrgOrOwn reads "see an API token" "Looked at API token",
    TokenCreate "token.create" Token TokenManage Org changes "create an API token" "Created API token",
    TokenGive "token.give" Token none Oneself changes "be shown an API token" "Was shown API token",
    TokenDelete "token.delete" Token TokenManageAll OrgOrOwn changes "revoke an API token" "Revoked API token",
    TokenUse "token.use" Token none Oneself changes "sign in by an API token" "Signed in by API token",
    IdpView "idp.view" Org OrgEditOAuth Org reads "see the identity provider" "Looked at the identity provider of",
    IdpSet "idp.set" Org OrgEditOAuth Org changes "set the identity provider" "Set the identity provider of",
    IdpRemove "idp.remove" Org OrgEditOAuth Org changes "remove the identity provider" "Removed the identity provider of",
}

impl Action {
    /// What is asked for, before the object's name: "Create VDC".
    pub fn order(self) -> String {
        let words: Vec<&str> = self.phrase().split(' ').filter(|w| !matches!(*w, "a" | "an" | "the")).collect();
        let words = words.join(" ");
        words.get(..1).unwrap_or_default().to_uppercase() + words.get(1..).unwrap_or_default()
    }

    /// The right with which everybody's things of that kind are seen, not only one's own.
    pub fn sees_all(self) -> Right {
        match self.kind() {
            Kind::Catalog | Kind::Template | Kind::Upload => Right::AdminView,
            _ => Right::VappViewAll,
        }
    }

    /// Is it about something that can be shared, or that is in such a thing?
    pub fn on_shared(self) -> bool {
        matches!(self.kind(), Kind::Vapp | Kind::Vm | Kind::Catalog | Kind::Template | Kind::Upload)
            && !matches!(self, Action::VappCreate | Action::CatalogCreate)
    }

    /// How far a thing has to be shared with somebody who is not its owner.
    pub fn access(self) -> Access {
        use Action::*;
        match self {
            VappDelete | VmDelete | VappMove | VmMove | VappShare | VappOwner | CatalogDelete | CatalogShare
            | CatalogOwner | DiskOwner => Access::FullControl,
            // who may read it may set it
            VmPassword => Access::Change,
            _ if self.changes() => Access::Change,
            _ => Access::ReadOnly,
        }
    }

    /// Does it make something on a hub that was not there before?
    pub fn makes(self) -> bool {
        use Action::*;
        matches!(self, VappCreate | VappCopy | VmCreate | VmCopy | DiskCreate)
    }

    /// Does it turn machines on or off, or something between?
    pub fn is_power(self) -> bool {
        use Action::*;
        matches!(
            self,
            VmPowerOn
                | VmPowerOff
                | VmShutdown
                | VmReboot
                | VmReset
                | VmSuspend
                | VmDiscard
                | VappPowerOn
                | VappPowerOff
                | VappShutdown
                | VappReboot
                | VappReset
                | VappSuspend
                | VappDiscard
        )
    }

    /// Is a machine powered as it was asked for when it has ended? After everything else it is as it was.
    pub fn asks_for_power(self) -> bool {
        self.is_power() || self.makes() || matches!(self, Action::VmRevert | Action::VappRevert)
    }

    pub fn parse(key: &str) -> Option<Action> {
        Action::ALL.iter().copied().find(|a| a.key() == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_the_phrase_without_articles() {
        assert_eq!(Action::VdcCreate.order(), "Create VDC");
        assert_eq!(Action::OrgEditLimits.order(), "Change organization's limits");
    }
}
