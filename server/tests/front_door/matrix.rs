//! Every route, tried by everybody, with ids of one's own, foreign, missing and malformed ones. The routes come from the router;
//! one without a line here fails.
pub(crate) mod world;

use crate::harness::{ADMINISTRATOR, TestApp};
use model::{
    Action::{self, *},
    Actor, Kind,
    decide::{Decision, Resource, decide},
    org::PROVIDER,
};
use std::collections::BTreeSet;
use world::{Session, World};

/// Who gets in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    /// Nothing: who is signed in gets the second status, who is not the first.
    Nothing(u16, u16),
    /// Anybody who is signed in.
    SomeUser,
    /// The action's right. Where an action reaches one's own things without it, lists show those.
    May(Action),
    /// The same, and what is made is one's own.
    Makes(Action),
}

use Takes::*;

/// Method, address, who gets in, and what the address's `{id}` is.
pub(crate) type Line = (&'static str, &'static str, Takes, Option<Kind>);

/// A tenant finds nothing at the provider's addresses, and nothing at another organization's.
#[rustfmt::skip]
pub(crate) const TABLE: &[Line] = &[
    ("GET",  "/",                                       Nothing(303, 303),   None),
    ("GET",  "/sign-in",                                Nothing(200, 303),   None),
    ("POST", "/sign-in",                                Nothing(401, 401),   None),
    ("GET",  "/sign-in/sso",                            Nothing(401, 303),   None),
    ("GET",  "/sign-in/sso/callback",                   Nothing(401, 401),   None),
    ("POST", "/sign-out",                               Nothing(303, 303),   None),
    ("POST", "/theme",                                  Nothing(303, 303),   None),
    ("GET",  "/profile",                                SomeUser,            None),
    ("GET",  "/profile/edit",                           SomeUser,            None),
    ("POST", "/profile/edit",                           SomeUser,            None),
    ("GET",  "/profile/password",                       SomeUser,            None),
    ("POST", "/profile/password",                       SomeUser,            None),
    ("POST", "/profile/sessions/end",                   SomeUser,            None),
    ("GET",  "/provider",                               SomeUser,            None),
    ("GET",  "/provider/organizations",                 May(OrgList),        None),
    ("GET",  "/provider/organizations.csv",             May(OrgList),        None),
    ("GET",  "/provider/organizations/new",             May(OrgCreate),      None),
    ("POST", "/provider/organizations/new",             May(OrgCreate),      None),
    ("GET",  "/provider/organizations/{id}",            May(OrgView),        Some(Kind::Org)),
    ("GET",  "/provider/organizations/{id}/edit",       May(OrgEdit),        Some(Kind::Org)),
    ("POST", "/provider/organizations/{id}/edit",       May(OrgEdit),        Some(Kind::Org)),
    ("POST", "/provider/organizations/{id}/enable",     May(OrgEnable),      Some(Kind::Org)),
    ("POST", "/provider/organizations/{id}/disable",    May(OrgDisable),     Some(Kind::Org)),
    ("GET",  "/provider/organizations/{id}/delete",     May(OrgDelete),      Some(Kind::Org)),
    ("POST", "/provider/organizations/{id}/delete",     May(OrgDelete),      Some(Kind::Org)),
    ("GET",  "/provider/users",                         May(UserList),       None),
    ("GET",  "/provider/users.csv",                     May(UserList),       None),
    ("GET",  "/provider/users/new",                     May(UserCreate),     None),
    ("POST", "/provider/users/new",                     May(UserCreate),     None),
    ("GET",  "/provider/users/{id}",                    May(UserView),       Some(Kind::User)),
    ("GET",  "/provider/users/{id}/edit",               May(UserEdit),       Some(Kind::User)),
    ("POST", "/provider/users/{id}/edit",               May(UserEdit),       Some(Kind::User)),
    ("GET",  "/provider/users/{id}/password",           May(UserResetPassword), Some(Kind::User)),
    ("POST", "/provider/users/{id}/password",           May(UserResetPassword), Some(Kind::User)),
    ("POST", "/provider/users/{id}/enable",             May(UserEnable),     Some(Kind::User)),
    ("POST", "/provider/users/{id}/disable",            May(UserDisable),    Some(Kind::User)),
    ("GET",  "/provider/users/{id}/delete",             May(UserDelete),     Some(Kind::User)),
    ("POST", "/provider/users/{id}/delete",             May(UserDelete),     Some(Kind::User)),
    ("GET",  "/provider/roles",                         May(RoleList),       None),
    ("GET",  "/provider/roles.csv",                     May(RoleList),       None),
    ("GET",  "/provider/roles/new",                     May(RoleCreate),     None),
    ("POST", "/provider/roles/new",                     May(RoleCreate),     None),
    ("GET",  "/provider/roles/{id}",                    May(RoleView),       Some(Kind::Role)),
    ("GET",  "/provider/roles/{id}/edit",               May(RoleEdit),       Some(Kind::Role)),
    ("POST", "/provider/roles/{id}/edit",               May(RoleEdit),       Some(Kind::Role)),
    ("GET",  "/provider/roles/{id}/delete",             May(RoleDelete),     Some(Kind::Role)),
    ("POST", "/provider/roles/{id}/delete",             May(RoleDelete),     Some(Kind::Role)),
    ("GET",  "/provider/networks", May(NetworkList), None),
    ("GET",  "/provider/networks.csv", May(NetworkList), None),
    ("GET",  "/provider/networks/new", May(NetworkCreate), None),
    ("POST", "/provider/networks/new", May(NetworkCreate), None),
    ("GET",  "/provider/networks/{id}", May(NetworkView), Some(Kind::Network)),
    ("GET",  "/provider/networks/{id}/edit", May(NetworkEdit), Some(Kind::Network)),
    ("POST", "/provider/networks/{id}/edit", May(NetworkEdit), Some(Kind::Network)),
    ("GET",  "/provider/networks/{id}/delete", May(NetworkDelete), Some(Kind::Network)),
    ("POST", "/provider/networks/{id}/delete", May(NetworkDelete), Some(Kind::Network)),
    ("GET",  "/provider/vms/{id}/guest", May(VmGuest), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/guest", May(VmGuest), Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/guest/preview", May(VmGuest), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/guest/preview", May(VmGuest), Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/nics", May(VmNics), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/nics", May(VmNics), Some(Kind::Vm)),
    ("GET",  "/provider/vapps/{id}/networks/add", May(VappAddNetwork), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/networks/add", May(VappAddNetwork), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/networks/remove", May(VappRemoveNetwork), Some(Kind::Vapp)),
    ("GET",  "/provider/vapps/{id}/start-order", May(VappStartOrder), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/start-order", May(VappStartOrder), Some(Kind::Vapp)),
    ("GET",  "/provider/vapps/{id}/lease", May(VappLease), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/lease", May(VappLease), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/lease/renew", May(VappLease), Some(Kind::Vapp)),
    ("POST", "/provider/templates/{id}/lease/renew", May(TemplateLease), Some(Kind::Template)),
    ("GET",  "/provider/vapps/{id}/metadata", May(VappView), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/metadata", May(VappMetadata), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/metadata/remove", May(VappMetadata), Some(Kind::Vapp)),
    ("GET",  "/provider/vms/{id}/metadata", May(VmView), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/metadata", May(VmMetadata), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/metadata/remove", May(VmMetadata), Some(Kind::Vm)),
    ("GET",  "/provider/catalogs/{id}/metadata", May(CatalogView), Some(Kind::Catalog)),
    ("POST", "/provider/catalogs/{id}/metadata", May(CatalogMetadata), Some(Kind::Catalog)),
    ("POST", "/provider/catalogs/{id}/metadata/remove", May(CatalogMetadata), Some(Kind::Catalog)),
    ("GET",  "/provider/templates/{id}/metadata", May(TemplateView), Some(Kind::Template)),
    ("POST", "/provider/templates/{id}/metadata", May(TemplateMetadata), Some(Kind::Template)),
    ("POST", "/provider/templates/{id}/metadata/remove", May(TemplateMetadata), Some(Kind::Template)),
    ("GET",  "/provider/disks/{id}/metadata", May(DiskView), Some(Kind::Disk)),
    ("POST", "/provider/disks/{id}/metadata", May(DiskMetadata), Some(Kind::Disk)),
    ("POST", "/provider/disks/{id}/metadata/remove", May(DiskMetadata), Some(Kind::Disk)),
    ("GET",  "/provider/networks/{id}/metadata", May(NetworkView), Some(Kind::Network)),
    ("POST", "/provider/networks/{id}/metadata", May(NetworkMetadata), Some(Kind::Network)),
    ("POST", "/provider/networks/{id}/metadata/remove", May(NetworkMetadata), Some(Kind::Network)),
    ("GET",  "/provider/vdcs/{id}/metadata", May(VdcView), Some(Kind::Vdc)),
    ("POST", "/provider/vdcs/{id}/metadata", May(VdcMetadata), Some(Kind::Vdc)),
    ("POST", "/provider/vdcs/{id}/metadata/remove", May(VdcMetadata), Some(Kind::Vdc)),
    ("GET",  "/provider/organizations/{id}/metadata", May(OrgView), Some(Kind::Org)),
    ("POST", "/provider/organizations/{id}/metadata", May(OrgMetadata), Some(Kind::Org)),
    ("POST", "/provider/organizations/{id}/metadata/remove", May(OrgMetadata), Some(Kind::Org)),
    ("GET",  "/provider/vdcs/{id}/affinity", May(AffinityCreate), Some(Kind::Vdc)),
    ("POST", "/provider/vdcs/{id}/affinity", May(AffinityCreate), Some(Kind::Vdc)),
    ("GET",  "/provider/affinity/{id}/edit", May(AffinityEdit), Some(Kind::AffinityRule)),
    ("POST", "/provider/affinity/{id}/edit", May(AffinityEdit), Some(Kind::AffinityRule)),
    ("GET",  "/provider/affinity/{id}/delete", May(AffinityDelete), Some(Kind::AffinityRule)),
    ("POST", "/provider/affinity/{id}/delete", May(AffinityDelete), Some(Kind::AffinityRule)),
    ("GET",  "/provider/tags", Makes(VappList), None),
    ("GET",  "/provider/vms/{id}/tags", May(VmTags), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/tags", May(VmTags), Some(Kind::Vm)),
    ("GET",  "/provider/vdcs",                          May(VdcList),        None),
    ("GET",  "/provider/vdcs.csv",                      May(VdcList),        None),
    ("GET",  "/provider/vdcs/new",                      May(VdcCreate),      None),
    ("POST", "/provider/vdcs/new",                      May(VdcCreate),      None),
    ("GET",  "/provider/vdcs/{id}",                     May(VdcView),        Some(Kind::Vdc)),
    ("GET",  "/provider/vdcs/{id}/edit",                May(VdcEdit),        Some(Kind::Vdc)),
    ("POST", "/provider/vdcs/{id}/edit",                May(VdcEdit),        Some(Kind::Vdc)),
    ("POST", "/provider/vdcs/{id}/enable",              May(VdcEnable),      Some(Kind::Vdc)),
    ("POST", "/provider/vdcs/{id}/disable",             May(VdcDisable),     Some(Kind::Vdc)),
    ("GET",  "/provider/vdcs/{id}/delete",              May(VdcDelete),      Some(Kind::Vdc)),
    ("POST", "/provider/vdcs/{id}/delete",              May(VdcDelete),      Some(Kind::Vdc)),
    ("GET",  "/provider/vapps",                       May(VappList),      None),
    ("GET",  "/provider/vapps.csv",                   May(VappList),      None),
    ("GET",  "/provider/vapps/new",                   Makes(VappCreate),  None),
    ("POST", "/provider/vapps/new",                   Makes(VappCreate),  None),
    ("GET",  "/provider/vapps/{id}",                  May(VappView),      Some(Kind::Vapp)),
    ("GET",  "/provider/vapps/{id}/edit",             May(VappEdit),      Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/edit",             May(VappEdit),      Some(Kind::Vapp)),
    ("GET",  "/provider/vapps/{id}/add",              May(VmCreate),      Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/add",              May(VmCreate),      Some(Kind::Vapp)),
    ("GET",  "/provider/vapps/{id}/delete",           May(VappDelete),    Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/delete",           May(VappDelete),    Some(Kind::Vapp)),
    ("GET",  "/provider/vapps/{id}/capture",           May(VappCapture),   Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/capture",           May(VappCapture),   Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/power-on",         May(VappPowerOn),   Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/shutdown",         May(VappShutdown),  Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/reboot",           May(VappReboot),    Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/suspend",          May(VappSuspend),   Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/power-off",        May(VappPowerOff),  Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/reset",            May(VappReset),     Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/discard",          May(VappDiscard),   Some(Kind::Vapp)),
    ("GET",  "/provider/vms",                         May(VappList),      None),
    ("GET",  "/provider/vms.csv",                     May(VappList),      None),
    ("GET",  "/provider/vms/{id}",                    May(VmView),        Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/console",            May(VmConsole),     Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/console",            May(VmConsole),     Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/edit",               May(VmEdit),        Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/edit",               May(VmEdit),        Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/resize",             May(VmResize),      Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/resize",             May(VmResize),      Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/delete",             May(VmDelete),      Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/delete",             May(VmDelete),      Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/power-on",           May(VmPowerOn),     Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/shutdown",           May(VmShutdown),    Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/reboot",             May(VmReboot),      Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/suspend",            May(VmSuspend),     Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/power-off",          May(VmPowerOff),    Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/reset",              May(VmReset),       Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/discard",            May(VmDiscard),     Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/disks/add", May(VmDiskAdd), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/disks/add", May(VmDiskAdd), Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/disks/edit", May(VmDiskEdit), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/disks/edit", May(VmDiskEdit), Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/disks/remove", May(VmDiskRemove), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/disks/remove", May(VmDiskRemove), Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/disks/attach", May(VmDiskAttach), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/disks/attach", May(VmDiskAttach), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/disks/detach", May(VmDiskDetach), Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/media/insert", May(VmMediaInsert), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/media/insert", May(VmMediaInsert), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/media/eject", May(VmMediaEject), Some(Kind::Vm)),
    ("GET",  "/provider/disks", May(DiskList), None),
    ("GET",  "/provider/disks.csv", May(DiskList), None),
    ("GET",  "/provider/disks/new", Makes(DiskCreate), None),
    ("POST", "/provider/disks/new", Makes(DiskCreate), None),
    ("GET",  "/provider/disks/{id}", May(DiskView), Some(Kind::Disk)),
    ("GET",  "/provider/disks/{id}/edit", May(DiskEdit), Some(Kind::Disk)),
    ("POST", "/provider/disks/{id}/edit", May(DiskEdit), Some(Kind::Disk)),
    ("GET",  "/provider/disks/{id}/delete", May(DiskDelete), Some(Kind::Disk)),
    ("POST", "/provider/disks/{id}/delete", May(DiskDelete), Some(Kind::Disk)),
    ("GET",  "/provider/storage", May(PolicyList), None),
    ("GET",  "/provider/storage/new", May(PolicyCreate), None),
    ("POST", "/provider/storage/new", May(PolicyCreate), None),
    ("GET",  "/provider/storage/{id}", May(PolicyView), Some(Kind::StoragePolicy)),
    ("GET",  "/provider/storage/{id}/edit", May(PolicyEdit), Some(Kind::StoragePolicy)),
    ("POST", "/provider/storage/{id}/edit", May(PolicyEdit), Some(Kind::StoragePolicy)),
    ("GET",  "/provider/storage/{id}/delete", May(PolicyDelete), Some(Kind::StoragePolicy)),
    ("POST", "/provider/storage/{id}/delete", May(PolicyDelete), Some(Kind::StoragePolicy)),
    ("GET",  "/provider/sizing", May(SizingList), None),
    ("GET",  "/provider/sizing/new", May(SizingCreate), None),
    ("POST", "/provider/sizing/new", May(SizingCreate), None),
    ("GET",  "/provider/sizing/{id}", May(SizingView), Some(Kind::SizingPolicy)),
    ("GET",  "/provider/sizing/{id}/edit", May(SizingEdit), Some(Kind::SizingPolicy)),
    ("POST", "/provider/sizing/{id}/edit", May(SizingEdit), Some(Kind::SizingPolicy)),
    ("GET",  "/provider/sizing/{id}/delete", May(SizingDelete), Some(Kind::SizingPolicy)),
    ("POST", "/provider/sizing/{id}/delete", May(SizingDelete), Some(Kind::SizingPolicy)),
    ("GET",  "/provider/vdcs/{id}/sizing", May(VdcSizing), Some(Kind::Vdc)),
    ("POST", "/provider/vdcs/{id}/sizing", May(VdcSizing), Some(Kind::Vdc)),
    ("GET",  "/provider/vdcs/{id}/storage", May(VdcStorage), Some(Kind::Vdc)),
    ("POST", "/provider/vdcs/{id}/storage", May(VdcStorage), Some(Kind::Vdc)),
    ("GET",  "/provider/vms/{id}/snapshots/new", May(VmSnapshot), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/snapshots/new", May(VmSnapshot), Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/snapshots/revert", May(VmRevert), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/snapshots/revert", May(VmRevert), Some(Kind::Vm)),
    ("GET",  "/provider/vms/{id}/snapshots/delete", May(VmSnapshotDelete), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/snapshots/delete", May(VmSnapshotDelete), Some(Kind::Vm)),
    ("GET", "/provider/vapps/bulk", May(VappList), None),
    ("POST", "/provider/vapps/bulk", May(VappList), None),
    ("GET", "/provider/vms/bulk", May(VappList), None),
    ("POST", "/provider/vms/bulk", May(VappList), None),
    ("GET", "/provider/disks/bulk", SomeUser, None),
    ("POST", "/provider/disks/bulk", SomeUser, None),
    ("GET", "/provider/networks/bulk", SomeUser, None),
    ("POST", "/provider/networks/bulk", SomeUser, None),
    ("GET", "/provider/templates/bulk", SomeUser, None),
    ("POST", "/provider/templates/bulk", SomeUser, None),
    ("GET", "/provider/vapps/{id}/sharing", May(VappShare), Some(Kind::Vapp)),
    ("GET", "/provider/vapps/{id}/owner", May(VappOwner), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/sharing", May(VappShare), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/owner", May(VappOwner), Some(Kind::Vapp)),
    ("GET", "/provider/catalogs/{id}/sharing", May(CatalogShare), Some(Kind::Catalog)),
    ("GET", "/provider/catalogs/{id}/owner", May(CatalogOwner), Some(Kind::Catalog)),
    ("POST", "/provider/catalogs/{id}/sharing", May(CatalogShare), Some(Kind::Catalog)),
    ("POST", "/provider/catalogs/{id}/owner", May(CatalogOwner), Some(Kind::Catalog)),
    ("GET", "/provider/disks/{id}/owner", May(DiskOwner), Some(Kind::Disk)),
    ("POST", "/provider/disks/{id}/owner", May(DiskOwner), Some(Kind::Disk)),
    ("GET", "/provider/stranded", May(StrandedList), None),
    ("POST", "/provider/stranded", May(StrandedGive), None),
    ("GET", "/provider/stranded.csv", May(StrandedList), None),
    ("GET", "/tenant/{org}/vapps/bulk", May(VappList), None),
    ("POST", "/tenant/{org}/vapps/bulk", May(VappList), None),
    ("GET", "/tenant/{org}/vms/bulk", May(VappList), None),
    ("POST", "/tenant/{org}/vms/bulk", May(VappList), None),
    ("GET", "/tenant/{org}/disks/bulk", SomeUser, None),
    ("POST", "/tenant/{org}/disks/bulk", SomeUser, None),
    ("GET", "/tenant/{org}/networks/bulk", SomeUser, None),
    ("POST", "/tenant/{org}/networks/bulk", SomeUser, None),
    ("GET", "/tenant/{org}/templates/bulk", SomeUser, None),
    ("POST", "/tenant/{org}/templates/bulk", SomeUser, None),
    ("GET", "/tenant/{org}/vapps/{id}/sharing", May(VappShare), Some(Kind::Vapp)),
    ("GET", "/tenant/{org}/vapps/{id}/owner", May(VappOwner), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/sharing", May(VappShare), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/owner", May(VappOwner), Some(Kind::Vapp)),
    ("GET", "/tenant/{org}/catalogs/{id}/sharing", May(CatalogShare), Some(Kind::Catalog)),
    ("GET", "/tenant/{org}/catalogs/{id}/owner", May(CatalogOwner), Some(Kind::Catalog)),
    ("POST", "/tenant/{org}/catalogs/{id}/sharing", May(CatalogShare), Some(Kind::Catalog)),
    ("POST", "/tenant/{org}/catalogs/{id}/owner", May(CatalogOwner), Some(Kind::Catalog)),
    ("GET", "/tenant/{org}/disks/{id}/owner", May(DiskOwner), Some(Kind::Disk)),
    ("POST", "/tenant/{org}/disks/{id}/owner", May(DiskOwner), Some(Kind::Disk)),
    ("GET", "/tenant/{org}/stranded", May(StrandedList), None),
    ("POST", "/tenant/{org}/stranded", May(StrandedGive), None),
    ("GET", "/tenant/{org}/stranded.csv", May(StrandedList), None),
    ("GET", "/provider/vapps/{id}/copy", May(VappCopy), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/copy", May(VappCopy), Some(Kind::Vapp)),
    ("GET", "/provider/vapps/{id}/move", May(VappMove), Some(Kind::Vapp)),
    ("POST", "/provider/vapps/{id}/move", May(VappMove), Some(Kind::Vapp)),
    ("GET", "/provider/vms/{id}/copy", May(VmCopy), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/copy", May(VmCopy), Some(Kind::Vm)),
    ("GET", "/provider/vms/{id}/move", May(VmMove), Some(Kind::Vm)),
    ("POST", "/provider/vms/{id}/move", May(VmMove), Some(Kind::Vm)),
    ("GET", "/tenant/{org}/vapps/{id}/copy", May(VappCopy), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/copy", May(VappCopy), Some(Kind::Vapp)),
    ("GET", "/tenant/{org}/vapps/{id}/move", May(VappMove), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/move", May(VappMove), Some(Kind::Vapp)),
    ("GET", "/tenant/{org}/vms/{id}/copy", May(VmCopy), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/copy", May(VmCopy), Some(Kind::Vm)),
    ("GET", "/tenant/{org}/vms/{id}/move", May(VmMove), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/move", May(VmMove), Some(Kind::Vm)),
    ("GET",  "/provider/catalogs",                    May(CatalogList),   None),
    ("GET",  "/provider/catalogs.csv",                May(CatalogList),   None),
    ("GET",  "/provider/catalogs/new",                May(CatalogCreate), None),
    ("POST", "/provider/catalogs/new",                May(CatalogCreate), None),
    ("GET",  "/provider/catalogs/{id}",               May(CatalogView),   Some(Kind::Catalog)),
    ("GET",  "/provider/catalogs/{id}/edit",          May(CatalogEdit),   Some(Kind::Catalog)),
    ("POST", "/provider/catalogs/{id}/edit",          May(CatalogEdit),   Some(Kind::Catalog)),
    ("GET",  "/provider/catalogs/{id}/delete",        May(CatalogDelete), Some(Kind::Catalog)),
    ("POST", "/provider/catalogs/{id}/delete",        May(CatalogDelete), Some(Kind::Catalog)),
    ("GET",  "/provider/templates/{id}",              May(TemplateView),  Some(Kind::Template)),
    ("GET",  "/provider/templates/{id}/deploy",       Makes(VappCreate),  Some(Kind::Template)),
    ("POST", "/provider/templates/{id}/deploy",       Makes(VappCreate),  Some(Kind::Template)),
    ("GET",  "/provider/templates/{id}/deploy/preview", Makes(VappCreate), Some(Kind::Template)),
    ("POST", "/provider/templates/{id}/deploy/preview", Makes(VappCreate), Some(Kind::Template)),
    ("GET",  "/provider/catalogs/{id}/upload",         May(TemplateUpload),  Some(Kind::Catalog)),
    ("POST", "/provider/catalogs/{id}/upload",         May(TemplateUpload),  Some(Kind::Catalog)),
    ("GET",  "/provider/templates/{id}/upload",        May(TemplateUpload),  Some(Kind::Template)),
    ("POST", "/provider/templates/{id}/upload",        May(TemplateUpload),  Some(Kind::Template)),
    ("GET",  "/provider/templates/{id}/delete",        May(TemplateDelete),  Some(Kind::Template)),
    ("POST", "/provider/templates/{id}/delete",        May(TemplateDelete),  Some(Kind::Template)),
    ("GET",  "/provider/templates/{id}/versions/delete", May(VersionDelete),  Some(Kind::Template)),
    ("POST", "/provider/templates/{id}/versions/delete", May(VersionDelete),  Some(Kind::Template)),
    ("GET",  "/provider/uploads/{id}/cancel",          May(UploadCancel),  Some(Kind::Upload)),
    ("POST", "/provider/uploads/{id}/cancel",          May(UploadCancel),  Some(Kind::Upload)),
    ("GET",  "/provider/uploads/{id}",                 May(UploadView),  Some(Kind::Upload)),
    ("GET",  "/provider/hubs",                          May(HubList),        None),
    ("GET",  "/provider/hubs/new",                      May(HubRegister),    None),
    ("POST", "/provider/hubs/new",                      May(HubRegister),    None),
    ("GET",  "/provider/hubs/new/test",                 May(HubRegister),    None),
    ("POST", "/provider/hubs/new/test",                 May(HubRegister),    None),
    ("GET",  "/provider/hubs/{id}",                     May(HubView),        Some(Kind::Hub)),
    ("GET",  "/provider/hubs/{id}/edit",                May(HubEdit),        Some(Kind::Hub)),
    ("POST", "/provider/hubs/{id}/edit",                May(HubEdit),        Some(Kind::Hub)),
    ("GET",  "/provider/hubs/{id}/kubeconfig",          May(HubCredential),  Some(Kind::Hub)),
    ("POST", "/provider/hubs/{id}/kubeconfig",          May(HubCredential),  Some(Kind::Hub)),
    ("POST", "/provider/hubs/{id}/cordon",              May(HubCordon),      Some(Kind::Hub)),
    ("POST", "/provider/hubs/{id}/uncordon",            May(HubUncordon),    Some(Kind::Hub)),
    ("POST", "/provider/hubs/{id}/faults",              May(HubFault),       Some(Kind::Hub)),
    ("POST", "/provider/hubs/{id}/by-hand",             May(HubFault),       Some(Kind::Hub)),
    ("GET",  "/provider/hubs/{id}/delete",              May(HubDelete),      Some(Kind::Hub)),
    ("POST", "/provider/hubs/{id}/delete",              May(HubDelete),      Some(Kind::Hub)),
    ("GET",  "/provider/hubs/{id}/abandon",             May(HubAbandon),     Some(Kind::Hub)),
    ("POST", "/provider/hubs/{id}/abandon",             May(HubAbandon),     Some(Kind::Hub)),
    ("GET",  "/provider/work",                          May(WorkList),       None),
    ("POST", "/provider/work/retry",                    May(WorkRetry),      None),
    ("GET",  "/provider/tasks",                         May(TaskList),       None),
    ("GET",  "/provider/tasks.csv",                     May(TaskList),       None),
    ("GET",  "/provider/tasks/{id}",                    May(TaskView),       Some(Kind::Task)),
    ("POST", "/provider/tasks/{id}/cancel",             May(TaskCancel),     Some(Kind::Task)),
    ("GET",  "/provider/events",                        May(EventList),      None),
    ("GET",  "/provider/events.csv",                    May(EventList),      None),
    ("GET",  "/provider/audit",                         May(AuditList),      None),
    ("GET",  "/provider/audit.csv",                     May(AuditList),      None),
    ("GET",  "/tenant/{org}",                           SomeUser,            None),
    ("GET",  "/tenant/{org}/organization",              May(OrgView),        None),
    ("GET",  "/tenant/{org}/organization/edit",         May(OrgEdit),        None),
    ("POST", "/tenant/{org}/organization/edit",         May(OrgEdit),        None),
    ("GET",  "/tenant/{org}/users",                     May(UserList),       None),
    ("GET",  "/tenant/{org}/users.csv",                 May(UserList),       None),
    ("GET",  "/tenant/{org}/users/new",                 May(UserCreate),     None),
    ("POST", "/tenant/{org}/users/new",                 May(UserCreate),     None),
    ("GET",  "/tenant/{org}/users/{id}",                May(UserView),       Some(Kind::User)),
    ("GET",  "/tenant/{org}/users/{id}/edit",           May(UserEdit),       Some(Kind::User)),
    ("POST", "/tenant/{org}/users/{id}/edit",           May(UserEdit),       Some(Kind::User)),
    ("GET",  "/tenant/{org}/users/{id}/password",       May(UserResetPassword), Some(Kind::User)),
    ("POST", "/tenant/{org}/users/{id}/password",       May(UserResetPassword), Some(Kind::User)),
    ("POST", "/tenant/{org}/users/{id}/enable",         May(UserEnable),     Some(Kind::User)),
    ("POST", "/tenant/{org}/users/{id}/disable",        May(UserDisable),    Some(Kind::User)),
    ("GET",  "/tenant/{org}/users/{id}/delete",         May(UserDelete),     Some(Kind::User)),
    ("POST", "/tenant/{org}/users/{id}/delete",         May(UserDelete),     Some(Kind::User)),
    ("GET",  "/tenant/{org}/roles",                     May(RoleList),       None),
    ("GET",  "/tenant/{org}/roles.csv",                 May(RoleList),       None),
    ("GET",  "/tenant/{org}/roles/new",                 May(RoleCreate),     None),
    ("POST", "/tenant/{org}/roles/new",                 May(RoleCreate),     None),
    ("GET",  "/tenant/{org}/roles/{id}",                May(RoleView),       Some(Kind::Role)),
    ("GET",  "/tenant/{org}/roles/{id}/edit",           May(RoleEdit),       Some(Kind::Role)),
    ("POST", "/tenant/{org}/roles/{id}/edit",           May(RoleEdit),       Some(Kind::Role)),
    ("GET",  "/tenant/{org}/roles/{id}/delete",         May(RoleDelete),     Some(Kind::Role)),
    ("POST", "/tenant/{org}/roles/{id}/delete",         May(RoleDelete),     Some(Kind::Role)),
    ("GET",  "/tenant/{org}/networks", May(NetworkList), None),
    ("GET",  "/tenant/{org}/networks.csv", May(NetworkList), None),
    ("GET",  "/tenant/{org}/networks/new", May(NetworkCreate), None),
    ("POST", "/tenant/{org}/networks/new", May(NetworkCreate), None),
    ("GET",  "/tenant/{org}/networks/{id}", May(NetworkView), Some(Kind::Network)),
    ("GET",  "/tenant/{org}/networks/{id}/edit", May(NetworkEdit), Some(Kind::Network)),
    ("POST", "/tenant/{org}/networks/{id}/edit", May(NetworkEdit), Some(Kind::Network)),
    ("GET",  "/tenant/{org}/networks/{id}/delete", May(NetworkDelete), Some(Kind::Network)),
    ("POST", "/tenant/{org}/networks/{id}/delete", May(NetworkDelete), Some(Kind::Network)),
    ("GET",  "/tenant/{org}/vms/{id}/guest", May(VmGuest), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/guest", May(VmGuest), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/guest/preview", May(VmGuest), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/guest/preview", May(VmGuest), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/nics", May(VmNics), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/nics", May(VmNics), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vapps/{id}/networks/add", May(VappAddNetwork), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/networks/add", May(VappAddNetwork), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/networks/remove", May(VappRemoveNetwork), Some(Kind::Vapp)),
    ("GET",  "/tenant/{org}/vapps/{id}/start-order", May(VappStartOrder), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/start-order", May(VappStartOrder), Some(Kind::Vapp)),
    ("GET",  "/tenant/{org}/vapps/{id}/lease", May(VappLease), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/lease", May(VappLease), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/lease/renew", May(VappLease), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/templates/{id}/lease/renew", May(TemplateLease), Some(Kind::Template)),
    ("GET",  "/tenant/{org}/vapps/{id}/metadata", May(VappView), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/metadata", May(VappMetadata), Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/metadata/remove", May(VappMetadata), Some(Kind::Vapp)),
    ("GET",  "/tenant/{org}/vms/{id}/metadata", May(VmView), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/metadata", May(VmMetadata), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/metadata/remove", May(VmMetadata), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/catalogs/{id}/metadata", May(CatalogView), Some(Kind::Catalog)),
    ("POST", "/tenant/{org}/catalogs/{id}/metadata", May(CatalogMetadata), Some(Kind::Catalog)),
    ("POST", "/tenant/{org}/catalogs/{id}/metadata/remove", May(CatalogMetadata), Some(Kind::Catalog)),
    ("GET",  "/tenant/{org}/templates/{id}/metadata", May(TemplateView), Some(Kind::Template)),
    ("POST", "/tenant/{org}/templates/{id}/metadata", May(TemplateMetadata), Some(Kind::Template)),
    ("POST", "/tenant/{org}/templates/{id}/metadata/remove", May(TemplateMetadata), Some(Kind::Template)),
    ("GET",  "/tenant/{org}/disks/{id}/metadata", May(DiskView), Some(Kind::Disk)),
    ("POST", "/tenant/{org}/disks/{id}/metadata", May(DiskMetadata), Some(Kind::Disk)),
    ("POST", "/tenant/{org}/disks/{id}/metadata/remove", May(DiskMetadata), Some(Kind::Disk)),
    ("GET",  "/tenant/{org}/networks/{id}/metadata", May(NetworkView), Some(Kind::Network)),
    ("POST", "/tenant/{org}/networks/{id}/metadata", May(NetworkMetadata), Some(Kind::Network)),
    ("POST", "/tenant/{org}/networks/{id}/metadata/remove", May(NetworkMetadata), Some(Kind::Network)),
    ("GET",  "/tenant/{org}/vdcs/{id}/metadata", May(VdcView), Some(Kind::Vdc)),
    ("POST", "/tenant/{org}/vdcs/{id}/metadata", May(VdcMetadata), Some(Kind::Vdc)),
    ("POST", "/tenant/{org}/vdcs/{id}/metadata/remove", May(VdcMetadata), Some(Kind::Vdc)),
    ("GET",  "/tenant/{org}/organization/metadata", May(OrgView), None),
    ("POST", "/tenant/{org}/organization/metadata", May(OrgMetadata), None),
    ("POST", "/tenant/{org}/organization/metadata/remove", May(OrgMetadata), None),
    ("GET",  "/tenant/{org}/vdcs/{id}/affinity", May(AffinityCreate), Some(Kind::Vdc)),
    ("POST", "/tenant/{org}/vdcs/{id}/affinity", May(AffinityCreate), Some(Kind::Vdc)),
    ("GET",  "/tenant/{org}/affinity/{id}/edit", May(AffinityEdit), Some(Kind::AffinityRule)),
    ("POST", "/tenant/{org}/affinity/{id}/edit", May(AffinityEdit), Some(Kind::AffinityRule)),
    ("GET",  "/tenant/{org}/affinity/{id}/delete", May(AffinityDelete), Some(Kind::AffinityRule)),
    ("POST", "/tenant/{org}/affinity/{id}/delete", May(AffinityDelete), Some(Kind::AffinityRule)),
    ("GET",  "/tenant/{org}/tags", Makes(VappList), None),
    ("GET",  "/tenant/{org}/vms/{id}/tags", May(VmTags), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/tags", May(VmTags), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vdcs",                      May(VdcList),        None),
    ("GET",  "/tenant/{org}/vdcs.csv",                  May(VdcList),        None),
    ("GET",  "/tenant/{org}/vdcs/new",                  May(VdcCreate),      None),
    ("POST", "/tenant/{org}/vdcs/new",                  May(VdcCreate),      None),
    ("GET",  "/tenant/{org}/vdcs/{id}",                 May(VdcView),        Some(Kind::Vdc)),
    ("GET",  "/tenant/{org}/vdcs/{id}/edit",            May(VdcEdit),        Some(Kind::Vdc)),
    ("POST", "/tenant/{org}/vdcs/{id}/edit",            May(VdcEdit),        Some(Kind::Vdc)),
    ("POST", "/tenant/{org}/vdcs/{id}/enable",          May(VdcEnable),      Some(Kind::Vdc)),
    ("POST", "/tenant/{org}/vdcs/{id}/disable",         May(VdcDisable),     Some(Kind::Vdc)),
    ("GET",  "/tenant/{org}/vdcs/{id}/delete",          May(VdcDelete),      Some(Kind::Vdc)),
    ("POST", "/tenant/{org}/vdcs/{id}/delete",          May(VdcDelete),      Some(Kind::Vdc)),
    ("GET",  "/tenant/{org}/vapps",                   May(VappList),      None),
    ("GET",  "/tenant/{org}/vapps.csv",               May(VappList),      None),
    ("GET",  "/tenant/{org}/vapps/new",               Makes(VappCreate),  None),
    ("POST", "/tenant/{org}/vapps/new",               Makes(VappCreate),  None),
    ("GET",  "/tenant/{org}/vapps/{id}",              May(VappView),      Some(Kind::Vapp)),
    ("GET",  "/tenant/{org}/vapps/{id}/edit",         May(VappEdit),      Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/edit",         May(VappEdit),      Some(Kind::Vapp)),
    ("GET",  "/tenant/{org}/vapps/{id}/add",          May(VmCreate),      Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/add",          May(VmCreate),      Some(Kind::Vapp)),
    ("GET",  "/tenant/{org}/vapps/{id}/delete",       May(VappDelete),    Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/delete",       May(VappDelete),    Some(Kind::Vapp)),
    ("GET",  "/tenant/{org}/vapps/{id}/capture",       May(VappCapture),   Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/capture",       May(VappCapture),   Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/power-on",     May(VappPowerOn),   Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/shutdown",     May(VappShutdown),  Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/reboot",       May(VappReboot),    Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/suspend",      May(VappSuspend),   Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/power-off",    May(VappPowerOff),  Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/reset",        May(VappReset),     Some(Kind::Vapp)),
    ("POST", "/tenant/{org}/vapps/{id}/discard",      May(VappDiscard),   Some(Kind::Vapp)),
    ("GET",  "/tenant/{org}/vms",                     May(VappList),      None),
    ("GET",  "/tenant/{org}/vms.csv",                 May(VappList),      None),
    ("GET",  "/tenant/{org}/vms/{id}",                May(VmView),        Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/console",        May(VmConsole),     Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/console",        May(VmConsole),     Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/edit",           May(VmEdit),        Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/edit",           May(VmEdit),        Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/resize",         May(VmResize),      Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/resize",         May(VmResize),      Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/delete",         May(VmDelete),      Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/delete",         May(VmDelete),      Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/power-on",       May(VmPowerOn),     Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/shutdown",       May(VmShutdown),    Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/reboot",         May(VmReboot),      Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/suspend",        May(VmSuspend),     Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/power-off",      May(VmPowerOff),    Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/reset",          May(VmReset),       Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/discard",        May(VmDiscard),     Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/disks/add", May(VmDiskAdd), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/disks/add", May(VmDiskAdd), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/disks/edit", May(VmDiskEdit), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/disks/edit", May(VmDiskEdit), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/disks/remove", May(VmDiskRemove), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/disks/remove", May(VmDiskRemove), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/disks/attach", May(VmDiskAttach), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/disks/attach", May(VmDiskAttach), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/disks/detach", May(VmDiskDetach), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/media/insert", May(VmMediaInsert), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/media/insert", May(VmMediaInsert), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/media/eject", May(VmMediaEject), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/disks", May(DiskList), None),
    ("GET",  "/tenant/{org}/disks.csv", May(DiskList), None),
    ("GET",  "/tenant/{org}/disks/new", Makes(DiskCreate), None),
    ("POST", "/tenant/{org}/disks/new", Makes(DiskCreate), None),
    ("GET",  "/tenant/{org}/disks/{id}", May(DiskView), Some(Kind::Disk)),
    ("GET",  "/tenant/{org}/disks/{id}/edit", May(DiskEdit), Some(Kind::Disk)),
    ("POST", "/tenant/{org}/disks/{id}/edit", May(DiskEdit), Some(Kind::Disk)),
    ("GET",  "/tenant/{org}/disks/{id}/delete", May(DiskDelete), Some(Kind::Disk)),
    ("POST", "/tenant/{org}/disks/{id}/delete", May(DiskDelete), Some(Kind::Disk)),
    ("GET",  "/tenant/{org}/vms/{id}/snapshots/new", May(VmSnapshot), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/snapshots/new", May(VmSnapshot), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/snapshots/revert", May(VmRevert), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/snapshots/revert", May(VmRevert), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/vms/{id}/snapshots/delete", May(VmSnapshotDelete), Some(Kind::Vm)),
    ("POST", "/tenant/{org}/vms/{id}/snapshots/delete", May(VmSnapshotDelete), Some(Kind::Vm)),
    ("GET",  "/tenant/{org}/catalogs",                May(CatalogList),   None),
    ("GET",  "/tenant/{org}/catalogs.csv",            May(CatalogList),   None),
    ("GET",  "/tenant/{org}/catalogs/new",            May(CatalogCreate), None),
    ("POST", "/tenant/{org}/catalogs/new",            May(CatalogCreate), None),
    ("GET",  "/tenant/{org}/catalogs/{id}",           May(CatalogView),   Some(Kind::Catalog)),
    ("GET",  "/tenant/{org}/catalogs/{id}/edit",      May(CatalogEdit),   Some(Kind::Catalog)),
    ("POST", "/tenant/{org}/catalogs/{id}/edit",      May(CatalogEdit),   Some(Kind::Catalog)),
    ("GET",  "/tenant/{org}/catalogs/{id}/delete",    May(CatalogDelete), Some(Kind::Catalog)),
    ("POST", "/tenant/{org}/catalogs/{id}/delete",    May(CatalogDelete), Some(Kind::Catalog)),
    ("GET",  "/tenant/{org}/templates/{id}",          May(TemplateView),  Some(Kind::Template)),
    ("GET",  "/tenant/{org}/templates/{id}/deploy",   Makes(VappCreate),  Some(Kind::Template)),
    ("POST", "/tenant/{org}/templates/{id}/deploy",   Makes(VappCreate),  Some(Kind::Template)),
    ("GET",  "/tenant/{org}/templates/{id}/deploy/preview", Makes(VappCreate), Some(Kind::Template)),
    ("POST", "/tenant/{org}/templates/{id}/deploy/preview", Makes(VappCreate), Some(Kind::Template)),
    ("GET",  "/tenant/{org}/catalogs/{id}/upload",     May(TemplateUpload),  Some(Kind::Catalog)),
    ("POST", "/tenant/{org}/catalogs/{id}/upload",     May(TemplateUpload),  Some(Kind::Catalog)),
    ("GET",  "/tenant/{org}/templates/{id}/upload",    May(TemplateUpload),  Some(Kind::Template)),
    ("POST", "/tenant/{org}/templates/{id}/upload",    May(TemplateUpload),  Some(Kind::Template)),
    ("GET",  "/tenant/{org}/templates/{id}/delete",    May(TemplateDelete),  Some(Kind::Template)),
    ("POST", "/tenant/{org}/templates/{id}/delete",    May(TemplateDelete),  Some(Kind::Template)),
    ("GET",  "/tenant/{org}/templates/{id}/versions/delete", May(VersionDelete),  Some(Kind::Template)),
    ("POST", "/tenant/{org}/templates/{id}/versions/delete", May(VersionDelete),  Some(Kind::Template)),
    ("GET",  "/tenant/{org}/uploads/{id}/cancel",      May(UploadCancel),  Some(Kind::Upload)),
    ("POST", "/tenant/{org}/uploads/{id}/cancel",      May(UploadCancel),  Some(Kind::Upload)),
    ("GET",  "/tenant/{org}/uploads/{id}",             May(UploadView),  Some(Kind::Upload)),
    ("GET",  "/tenant/{org}/tasks",                     May(TaskList),       None),
    ("GET",  "/tenant/{org}/tasks.csv",                 May(TaskList),       None),
    ("GET",  "/tenant/{org}/tasks/{id}",                May(TaskView),       Some(Kind::Task)),
    ("POST", "/tenant/{org}/tasks/{id}/cancel",         May(TaskCancel),     Some(Kind::Task)),
    ("GET",  "/tenant/{org}/events",                    May(EventList),      None),
    ("GET",  "/tenant/{org}/events.csv",                May(EventList),      None),
    ("GET",  "/tenant/{org}/audit",                     May(AuditList),      None),
    ("GET",  "/tenant/{org}/audit.csv",                 May(AuditList),      None),
];

/// What is not the portal's: these are for anybody (or, `/metrics`, for anybody near), and a stream for nobody is empty.
const OTHERS: &[(&str, u16, u16)] = &[
    ("/healthz", 200, 200),
    ("/readyz", 200, 200),
    ("/metrics", 200, 200),
    ("/favicon.ico", 200, 200),
    ("/a/dev/nothing.css", 404, 404),
    ("/events", 204, 200),
    ("/console/x", 426, 426),
    ("/api/versions", 200, 200),
    ("/api/nothing", 404, 404),
    ("/fn/anything", 404, 404),
];

#[tokio::test]
async fn every_route_of_the_portal_has_its_line() {
    let app = TestApp::start().await;
    let served: BTreeSet<(String, String)> =
        server::portal_routes(&app.state).into_iter().map(|r| (r.method.to_string(), r.path)).collect();
    let listed: BTreeSet<(String, String)> = TABLE.iter().map(|(m, p, ..)| ((*m).into(), (*p).into())).collect();
    assert_eq!(listed.len(), TABLE.len(), "a line stands twice");
    let missing: Vec<_> = served.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&served).collect();
    assert!(missing.is_empty() && gone.is_empty(), "without a line: {missing:?}\nwithout a route: {gone:?}");
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Own,
    Foreign,
    Missing,
    Malformed,
}

const MISSING: &str = "01900000-0000-7000-8000-0000deadbeef";

/// The status that the table, and the one function that decides, say.
fn expected(line: &Line, actor: Option<&Actor>, world: &World, which: Which) -> u16 {
    let (method, path, takes, id) = *line;
    // a test or preview changes nothing, and its answer is the page; so is that of a ticket that is drawn
    let looks = ["/test", "/bulk", "/preview", "/console"].iter().any(|end| path.ends_with(end));
    let done = if method == "GET" || looks { 200 } else { 303 };
    if let Nothing(nobody, somebody) = takes {
        return if actor.is_some() { somebody } else { nobody };
    }
    let Some(actor) = actor else { return if method == "GET" { 303 } else { 401 } };
    let provider_place = path.starts_with("/provider");
    if provider_place && !actor.provider || path.starts_with("/tenant") && !actor.provider && actor.org != world.acme.id
    {
        return 404;
    }
    let (action, on) = match takes {
        May(action) => (action, Resource::Of(world.acme.id)),
        Makes(action) => (action, Resource::Owned(world.acme.id, actor.user)),
        Nothing(..) | SomeUser => return done,
    };
    // in the provider's own portal no organization is foreign
    let there = matches!(which, Which::Own) || which == Which::Foreign && provider_place;
    match (decide(actor, action, on), id) {
        (Decision::Forbid(_) | Decision::Short(_), _) => 403,
        (Decision::Allow, Some(_)) if there && blind(line, actor) => 403,
        (Decision::Allow, None) => done,
        (Decision::Allow, Some(_)) if there => done,
        (Decision::Allow | Decision::Hide, Some(_)) => 404,
        // a list of one's own things, where one can have some
        (Decision::Hide, None) if provider_place || actor.org == world.acme.id => done,
        (Decision::Hide, None) => 404,
    }
}

/// Who puts a disc into a VM must see the disc as well.
fn blind((method, _, takes, _): &Line, actor: &Actor) -> bool {
    *method == "POST" && matches!(takes, May(VmMediaInsert)) && !actor.has(model::Right::TemplateView)
}

async fn walk(session: Session) {
    let world = World::new().await;
    let (client, actor) = world.visitor(session).await;
    let outsider = actor.as_ref().is_none_or(|a| !a.provider && a.org != world.zebra.id);
    let untouched = world.zebra_rows().await;
    let mut failures = vec![];
    for (path, nobody, somebody) in OTHERS {
        let want = if actor.is_some() { *somebody } else { *nobody };
        let got = client.begin(client.request("GET", path).body(Default::default()).unwrap()).await.status().as_u16();
        if got != want {
            failures.push(format!("GET {path}: {got}, not {want}"));
        }
    }
    // signing out comes last
    let (rest, end): (Vec<&Line>, Vec<&Line>) = TABLE.iter().partition(|(_, path, ..)| *path != "/sign-out");
    for line in rest.into_iter().chain(end) {
        let (method, pattern, takes, kind) = *line;
        let whiches: &[Which] = match kind {
            Some(_) => &[Which::Own, Which::Foreign, Which::Missing, Which::Malformed],
            None => &[Which::Own],
        };
        let mut unseen: Vec<String> = vec![];
        for which in whiches {
            let want = expected(line, actor.as_ref(), &world, *which);
            let id = match (kind, which) {
                (None, _) => String::new(),
                (Some(kind), Which::Own) => world.own(kind, pattern, method == "POST" && want == 303).await,
                // the provider may change it, so that the next one finds something else: one of acme's will do
                (Some(kind), Which::Foreign) if want == 303 => world.own(kind, pattern, true).await,
                (Some(kind), Which::Foreign) => world.foreign(kind).await,
                (Some(_), Which::Missing) => MISSING.into(),
                (Some(_), Which::Malformed) => "not-an-id".into(),
            };
            let path = pattern.replace("{org}", "acme").replace("{id}", &id);
            client.forget_cookie("toast"); // what an earlier request did is said once, on any page
            let answer = world.ask(&client, method, &path, &id).await;
            let got = answer.status.as_u16();
            if got != want {
                failures.push(format!("{method} {pattern} {which:?}: {got}, not {want}: {}", answer.location()));
                continue;
            }
            if got == 303
                && actor.is_none()
                && !matches!(takes, Nothing(..))
                && !answer.location().starts_with("/sign-in?next=")
            {
                failures.push(format!("{method} {pattern} {which:?} leads to {}", answer.location()));
            }
            let body = answer.apart_from(&[&path]);
            if outsider && (body.contains("zebra") || body.contains("Zebra")) {
                failures.push(format!("{method} {pattern} {which:?} shows what is another's: {}", answer.text()));
            }
            // in the provider's portal a foreign VM is there, and the disc is what is not seen
            let there = *which == Which::Foreign && actor.as_ref().is_some_and(|a| a.provider && blind(line, a));
            if matches!(got, 403 | 404) && *which != Which::Own && !there {
                unseen.push(body);
            }
            let reached = actor.is_some()
                && method == "POST"
                && (got == 403 || got == 404 && in_place(&world, actor.as_ref(), pattern));
            if reached {
                let sql = format!("audit where request_id = '{}' and result = 'refused'", answer.request_id());
                let rows = world.app.db.count(&sql).await;
                if rows != 1 {
                    failures
                        .push(format!("{method} {pattern} {which:?}: the refusal stands {rows} times in the audit"));
                }
            }
        }
        if unseen.windows(2).any(|two| two[0] != two[1]) {
            failures.push(format!("{method} {pattern}: foreign, missing and malformed ids differ"));
        }
    }
    if outsider && world.zebra_rows().await != untouched {
        failures.push("something of another organization was changed".into());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Did the request get as far as what it asked for?
fn in_place(world: &World, actor: Option<&Actor>, pattern: &str) -> bool {
    actor.is_some_and(|a| a.provider || pattern.starts_with("/tenant") && a.org == world.acme.id)
}

macro_rules! visitors {
    ($($name:ident $session:expr),* $(,)?) => {$(
        #[tokio::test]
        async fn $name() {
            walk($session).await;
        }
    )*};
}

visitors! {
    nobody_is_sent_to_the_door Session::None,
    an_expired_session_is_nobody Session::Expired,
    a_disabled_user_is_nobody Session::Disabled,
    the_provider_goes_everywhere Session::Of(PROVIDER, ADMINISTRATOR),
    a_user_of_the_providers_has_the_rights_of_the_role Session::Of(PROVIDER, "clerk"),
    an_organizations_administrator_stays_in_the_organization Session::Of("acme", "an-admin"),
    a_catalog_author_stays_within_the_role Session::Of("acme", "an-author"),
    a_vapp_author_stays_within_the_role Session::Of("acme", "a-builder"),
    a_vapp_user_stays_within_the_role Session::Of("acme", "a-user"),
    who_has_console_access_only_stays_within_the_role Session::Of("acme", "a-console"),
    who_defers_to_an_identity_provider_stays_within_the_role Session::Of("acme", "a-deferrer"),
    another_tenants_administrator_finds_nothing_here Session::Of("zebra", "zebra-admin"),
}

#[tokio::test]
async fn another_organizations_address_is_answered_like_one_that_is_not_there() {
    let world = World::new().await;
    let (client, _) = world.visitor(Session::Of("acme", "an-admin")).await;
    let untouched = world.zebra_rows().await;
    for (method, pattern, ..) in TABLE.iter().filter(|(_, path, ..)| path.starts_with("/tenant")) {
        let mut answers = vec![];
        for org in ["zebra", "Zebra", "nowhere", "System", "%2e%2e", "%20"] {
            let id = if pattern.contains("/users") { world.foreign(Kind::User).await } else { String::from("x") };
            let path = pattern.replace("{org}", org).replace("{id}", &id);
            let answer = world.ask(&client, method, &path, &id).await;
            assert_eq!(answer.status.as_u16(), 404, "{method} {path}");
            answers.push(answer.apart_from(&[&path, &path.replace("%2e", ".").replace("%20", " ")]));
        }
        assert!(answers.windows(2).all(|two| two[0] == two[1]), "{method} {pattern}: {answers:#?}");
    }
    assert_eq!(world.zebra_rows().await, untouched);
}

#[tokio::test]
async fn ids_that_stand_in_a_query_or_a_form_are_looked_at_too() {
    let world = World::new().await;
    let (client, _) = world.visitor(Session::Of("acme", "an-admin")).await;
    let entry = format!("select id::text from audit where org_id = '{}' limit 1", world.zebra.id);
    let entry = world.app.db.text(&entry).await;
    let role = world.foreign(Kind::Role).await;
    for (address, foreign) in [("audit?entry=", entry.as_str()), ("roles/new?copy=", role.as_str())] {
        let mut answers = vec![];
        for id in [foreign, "01900000-0000-7000-8000-0000deadbeef", "not-an-id"] {
            let path = format!("/tenant/acme/{address}{id}");
            answers.push(client.get(&path).await.must(404).apart_from(&[&path]));
        }
        assert!(answers.windows(2).all(|two| two[0] == two[1]), "{address}: {answers:#?}");
    }
    // what is made in an organization's portal is made in that organization, whatever the form says
    let zebra = world.zebra.id.to_string();
    let form = [("org", zebra.as_str()), ("name", "smuggled"), ("allocation_model", "PayAsYouGo")];
    client.post("/tenant/acme/vdcs/new", &form).await.must(303);
    let owner = "select o.name from vdcs v join organizations o on o.id = v.org_id where v.name = 'smuggled'";
    assert_eq!(world.app.db.text(owner).await, "acme");
}
