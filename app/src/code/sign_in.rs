//! Signing in, the same for all that is printed: passwords and tokens are in variables and nowhere else.
use super::{Site, Way, curl, hcl, shell};

/// For curl, vcd-cli and Terraform.
pub fn sign_in(site: &Site, separator: &str) -> [Way; 3] {
    [with_curl(site), with_vcd(site), hcl::provider(site, separator)]
}

fn with_curl(site: &Site) -> Way {
    let (door, token) = match site.provider {
        true => ("cloudapi/1.0.0/sessions/provider", "oauth/provider/token".to_owned()),
        false => ("cloudapi/1.0.0/sessions", format!("oauth/tenant/{}/token", site.org)),
    };
    let who = shell::word(&format!("{}@{}", site.user, site.org));
    let by_password = format!(
        "SSVIRT_TOKEN=$(curl -sS --fail-with-body -o /dev/null -D - -X POST -u {who}:\"$SSVIRT_PASSWORD\" \\\n  \
         -H 'Accept: application/json;version=39.0' \\\n  {} | \\\n  \
         tr -d '\\r' | grep -i '^x-vmware-vcloud-access-token:' | cut -d ' ' -f 2)",
        shell::word(&site.href(door))
    );
    let by_token = format!(
        "# SSVIRT_TOKEN=$(curl -sS --fail-with-body -d grant_type=refresh_token \\\n#   --data-urlencode \"refresh_token=$SSVIRT_API_TOKEN\" \
         \\\n#   {} | \\\n#   sed 's/.*\"access_token\":\"\\([^\"]*\\)\".*/\\1/')",
        shell::word(&site.href(token))
    );
    Way::code(curl::steps(&[("with the password in SSVIRT_PASSWORD", by_password), ("or with an API token", by_token)]))
        .but("Where the certificate is one that nobody signed, curl needs -k.")
}

fn with_vcd(site: &Site) -> Way {
    let line = shell::vcd(["login", &site.base, &site.org, &site.user, "-i", "-w", "-p"]);
    Way::code(format!("{line} \"$SSVIRT_PASSWORD\"")).but("Without -i the certificate is checked.")
}
