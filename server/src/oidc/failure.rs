//! What goes wrong between us and an identity provider: one text for the log and the audit, another for the person.
use model::Error;
use store::IdentityProvider;

pub(super) enum Failure {
    /// Somebody is not let in.
    Refused { why: String, say: String },
    /// Something of our own, or nobody's fault.
    Other(Error),
}

impl Failure {
    pub(super) fn refused(why: impl Into<String>, say: impl Into<String>) -> Failure {
        Failure::Refused { why: why.into(), say: say.into() }
    }

    /// For what an honest provider never does: there is nothing a person could do about it.
    pub(super) fn unbelievable(why: impl Into<String>) -> Failure {
        let say = "The identity provider's answer could not be believed, so nobody was signed in. Start again; if it happens \
                   again, tell the administrator.";
        Failure::refused(why, say)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Other(error)
    }
}

/// Unknown organizations, disabled ones and those without a provider are answered alike.
pub(super) fn no_sso() -> Error {
    Error::SignInRefused("This organization has no single sign-on; use a local account.".into())
}

/// A state that this browser has not got: foreign, made up, used already or too old.
pub(super) fn not_begun_here() -> Error {
    Error::SignInRefused(
        "This sign-in was not begun in this browser, was finished already, or took longer than 10 minutes. Start again."
            .into(),
    )
}

pub(super) fn unreachable(p: &IdentityProvider, why: &str) -> Error {
    tracing::warn!(org = p.org_name, issuer = p.issuer, why, "an identity provider does not answer as it should");
    Error::Unavailable(format!(
        "The identity provider of {} does not answer as it should. Try again in a moment, or use a local account.",
        p.org_name
    ))
}
