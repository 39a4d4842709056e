//! From groups to roles. Only what an allow-list names counts, and no tenant gets anything of the provider's this way.
use model::{
    OrgId, Rights, RoleId,
    role::{Predefined, Role},
};

/// What an identity provider's word is worth in an organization.
pub(super) struct AllowList<'a> {
    pub groups: &'a [(String, RoleId)],
    pub default_role: Option<RoleId>,
    /// The roles there are now.
    pub roles: &'a [Role],
    pub org: OrgId,
    pub org_is_provider: bool,
}

impl AllowList<'_> {
    /// The roles for somebody with these groups. None: not even the default one, so there is nothing to come in with.
    pub(super) fn roles_for(&self, groups: &[String]) -> Option<Vec<RoleId>> {
        let listed = self.groups.iter().filter(|(name, _)| groups.contains(name)).map(|(_, role)| *role);
        let mut roles: Vec<RoleId> = listed.filter(|role| self.fits(*role)).collect();
        if roles.is_empty() {
            roles.extend(self.default_role.filter(|role| self.fits(*role)));
        }
        roles.sort_unstable();
        roles.dedup();
        (!roles.is_empty()).then_some(roles)
    }

    /// Looked at again at every sign-in: a role may have been deleted or changed since the list was made.
    fn fits(&self, id: RoleId) -> bool {
        let Some(role) = self.roles.iter().find(|r| r.id == id) else { return false };
        let here = role.org.is_none_or(|org| org == self.org);
        let of_the_provider = Predefined::of(id).is_some_and(Predefined::provider_only)
            || !role.rights.without(Rights::tenant()).is_empty();
        here && id != Predefined::DeferToIdentityProvider.id() && (self.org_is_provider || !of_the_provider)
    }
}

/// A role for the list, by the name somebody typed; or what is wrong with it.
pub(super) fn role_named(roles: &[Role], grantable: Rights, org: &str, name: &str) -> Result<RoleId, String> {
    let usable = |r: &&Role| r.id != Predefined::DeferToIdentityProvider.id();
    let Some(role) = roles.iter().filter(usable).find(|r| r.name.eq_ignore_ascii_case(name)) else {
        let names: Vec<&str> = roles.iter().filter(usable).map(|r| r.name.as_str()).collect();
        return Err(format!("{org} has no role “{name}”. It has: {}.", names.join(", ")));
    };
    match role.rights.without(grantable).iter().next() {
        Some(right) => {
            let (role, right) = (&role.name, right.name());
            Err(format!("You can't give the role {role}: it has the right “{right}”, which you have not got."))
        }
        None => Ok(role.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Right;
    use time::OffsetDateTime;
    use uuid::Uuid;

    const ACME: OrgId = OrgId(Uuid::from_u128(1));
    const GLOBEX: OrgId = OrgId(Uuid::from_u128(2));

    fn role(id: RoleId, org: Option<OrgId>, name: &str, rights: Rights) -> Role {
        let (description, org_name, updated_by) = Default::default();
        let at = OffsetDateTime::UNIX_EPOCH;
        let name = name.to_owned();
        Role {
            id,
            org,
            org_name,
            name,
            description,
            rights,
            users: 0,
            version: 1,
            created_at: at,
            updated_at: at,
            updated_by,
        }
    }

    fn own(n: u128, org: OrgId, rights: Rights) -> Role {
        role(RoleId(Uuid::from_u128(n)), Some(org), "Own", rights)
    }

    fn predefined() -> Vec<Role> {
        Predefined::ALL.into_iter().map(|p| role(p.id(), None, p.name(), p.rights())).collect()
    }

    fn given(groups: &[(&str, RoleId)], default: Option<RoleId>, provider: bool, has: &[&str]) -> Option<Vec<RoleId>> {
        let mut roles = predefined();
        roles.push(own(10, ACME, [Right::VdcView].into_iter().collect()));
        roles.push(own(11, GLOBEX, [Right::VdcView].into_iter().collect()));
        roles.push(own(12, ACME, [Right::VdcView, Right::OrgCreate].into_iter().collect()));
        let groups: Vec<(String, RoleId)> = groups.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect();
        let has: Vec<String> = has.iter().map(|name| (*name).to_owned()).collect();
        let list =
            AllowList { groups: &groups, default_role: default, roles: &roles, org: ACME, org_is_provider: provider };
        list.roles_for(&has)
    }

    const USER: Predefined = Predefined::VappUser;
    const ADMIN: Predefined = Predefined::OrganizationAdministrator;
    const SYSTEM: Predefined = Predefined::SystemAdministrator;

    #[test]
    fn only_listed_groups_count_and_each_gives_its_role_once() {
        let list = [("staff", USER.id()), ("more-staff", USER.id()), ("admins", ADMIN.id())];
        assert_eq!(given(&list, None, false, &["staff", "more-staff", "strangers"]), Some(vec![USER.id()]));
        assert_eq!(given(&list, None, false, &["admins", "staff"]), Some(vec![ADMIN.id(), USER.id()]));
        for none in [&[][..], &["strangers"], &["Staff"], &["staff "], &["System Administrator"], &["*"]] {
            assert_eq!(given(&list, None, false, none), None, "{none:?}");
        }
    }

    #[test]
    fn the_default_role_is_for_those_without_a_listed_group() {
        let list = [("admins", ADMIN.id())];
        assert_eq!(given(&list, Some(USER.id()), false, &["strangers"]), Some(vec![USER.id()]));
        assert_eq!(given(&list, Some(USER.id()), false, &["admins"]), Some(vec![ADMIN.id()]));
        assert_eq!(given(&[], None, false, &["admins"]), None);
    }

    #[test]
    fn no_list_gives_a_tenant_anything_of_the_provider() {
        assert_eq!(given(&[("admins", SYSTEM.id())], None, false, &["admins"]), None);
        assert_eq!(given(&[], Some(SYSTEM.id()), false, &["admins"]), None);
        let with_provider_right = RoleId(Uuid::from_u128(12));
        assert_eq!(given(&[("admins", with_provider_right)], None, false, &["admins"]), None);
        assert_eq!(given(&[("admins", SYSTEM.id())], None, true, &["admins"]), Some(vec![SYSTEM.id()]));
    }

    #[test]
    fn roles_that_are_gone_or_of_others_give_nothing() {
        let (acmes, globexs, gone) = (10, 11, 99);
        let list = |n| [("staff", RoleId(Uuid::from_u128(n)))];
        assert!(given(&list(acmes), None, false, &["staff"]).is_some());
        assert_eq!(given(&list(globexs), None, false, &["staff"]), None);
        assert_eq!(given(&list(gone), None, false, &["staff"]), None);
        assert_eq!(given(&[("staff", Predefined::DeferToIdentityProvider.id())], None, false, &["staff"]), None);
    }

    #[test]
    fn a_list_is_made_of_roles_one_could_give_by_hand() {
        let tenants: Vec<Role> = predefined().into_iter().filter(|r| r.id != SYSTEM.id()).collect();
        assert_eq!(role_named(&tenants, Rights::tenant(), "acme", "vapp user"), Ok(USER.id()));
        for bad in ["System Administrator", "Defer to Identity Provider", "Nobody", ""] {
            assert!(role_named(&tenants, Rights::tenant(), "acme", bad).unwrap_err().contains("acme has no role"));
        }
        assert!(role_named(&tenants, USER.rights(), "acme", ADMIN.name()).unwrap_err().contains("You can't give"));
    }
}
