# Somebody with a role that was made for them, and a token.
resource "vcd_role" "helper" {
  org         = var.org
  name        = var.later ? "${var.prefix}-helper-b" : "${var.prefix}-helper"
  description = var.later ? "helps more" : "helps"
  rights = concat([
    "Catalog: View Private and Shared Catalogs",
    "Organization: View",
    "vApp Template / Media: View",
  ], var.later ? ["vApp: Power Operations"] : [])
}

resource "vcd_org_user" "helper" {
  org               = var.org
  name              = "${var.prefix}-helper"
  role              = vcd_role.helper.name
  password          = var.later ? "Second-helper-2" : "First-helper-1"
  full_name         = var.later ? "Hella Helper" : "Hel Helper"
  description       = "of the suite"
  email_address     = "hel@helper.test"
  telephone         = "12345"
  enabled           = true
  deployed_vm_quota = var.later ? 7 : 5
}

resource "vcd_api_token" "mine" {
  name             = "${var.prefix}-token"
  file_name        = "${var.files}/token.json"
  allow_token_file = true
}
