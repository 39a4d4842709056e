//! Secrets that ask for a service account's token get it.

use crate::{
    answer::Result,
    api::Api,
    meta,
    store::{Reference, State},
};
use base64::{Engine, engine::general_purpose::STANDARD};

pub(super) fn fill(api: &Api, state: &mut State, reference: &Reference) -> Result<()> {
    let (id, (namespace, name)) = reference;
    let Some(secret) = state.get(*id, namespace, name) else { return Ok(()) };
    if secret["type"] != "kubernetes.io/service-account-token" || secret["data"]["token"].is_string() {
        return Ok(());
    }
    let annotations = &secret["metadata"]["annotations"];
    let account = annotations["kubernetes.io/service-account.name"].as_str().unwrap_or_default();
    let Some(account) = state.by_name("", "serviceaccounts", namespace, account) else { return Ok(()) };
    let uid = meta::uid(&account);
    let token = api.identity.sign(namespace, meta::name(&account), uid, api.clock.now().unix_timestamp(), None);
    let mut filled = (*secret).clone();
    filled["metadata"]["annotations"]["kubernetes.io/service-account.uid"] = uid.into();
    for (key, value) in [("ca.crt", &api.identity.ca), ("namespace", namespace), ("token", &token)] {
        filled["data"][key] = STANDARD.encode(value).into();
    }
    state.put(*id, filled)?;
    Ok(())
}
