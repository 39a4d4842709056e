//! What the state of a thing allows and why not. Buttons, API faults and links all ask here.
use crate::{Action, Error, Result, UserId, org::Org, role::Role, user::User, vdc::Vdc};

/// Why something can't be done now, and what to do about it.
pub type WhyNot = String;

pub fn org(org: &Org, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::OrgDisable if org.is_provider => Err("The provider's own organization can't be disabled.".into()),
        Action::OrgDelete if org.is_provider => Err("The provider's own organization can't be deleted.".into()),
        Action::OrgDisable if !org.enabled => Err("It is disabled already.".into()),
        Action::OrgEnable if org.enabled => Err("It is enabled already.".into()),
        Action::OrgDelete if org.enabled => Err("Disable it first.".into()),
        Action::OrgDelete if org.vdcs > 0 => {
            Err(format!("It has {}. Delete them first.", count(org.vdcs, "VDC", "VDCs")))
        }
        _ => Ok(()),
    }
}

pub fn vdc(vdc: &Vdc, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::VdcDisable if !vdc.enabled => Err("It is disabled already.".into()),
        Action::VdcEnable if vdc.enabled => Err("It is enabled already.".into()),
        Action::VdcDelete if vdc.used.vms > 0 => {
            Err(format!("It has {}. Delete them first.", count(vdc.used.vms, "VM", "VMs")))
        }
        Action::VdcDelete if !vdc.used.is_zero() => Err("Disks in it are still in use. Delete them first.".into()),
        _ => Ok(()),
    }
}

/// `me`: the one who asks.
pub fn user(user: &User, action: Action, me: Option<UserId>) -> Result<(), WhyNot> {
    let myself = me == Some(user.id);
    match action {
        Action::UserDisable if !user.enabled => Err("The user is disabled already.".into()),
        Action::UserEnable if user.enabled => Err("The user is enabled already.".into()),
        Action::UserDisable if myself => Err("You can't disable yourself. Another administrator can.".into()),
        Action::UserDelete if myself => Err("You can't delete yourself. Another administrator can.".into()),
        Action::UserResetPassword if !user.local() => {
            Err("The user signs in by the identity provider. The password is set there.".into())
        }
        Action::UserResetPassword if myself => Err("Change your own password on your profile.".into()),
        Action::UserDelete if user.used.vms > 0 => {
            Err(format!("The user owns {}. Give them to somebody else first.", count(user.used.vms, "VM", "VMs")))
        }
        _ => Ok(()),
    }
}

pub fn role(role: &Role, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::RoleEdit | Action::RoleDelete if role.predefined() => {
            Err("Predefined roles are the same everywhere. Make a role of your own.".into())
        }
        Action::RoleDelete if role.users > 0 => Err(format!("{} it. Give them another role first.", has(role.users))),
        _ => Ok(()),
    }
}

/// For operations: the reason as an error.
pub fn or_not_now(answer: Result<(), WhyNot>) -> Result<()> {
    answer.map_err(|why| Error::NotNow(format!("Not now: {why}")))
}

fn count(n: i64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {many}", crate::quota::thousands(n)) }
}

fn has(users: i64) -> String {
    if users == 1 { "1 user has".into() } else { format!("{} users have", crate::quota::thousands(users)) }
}
