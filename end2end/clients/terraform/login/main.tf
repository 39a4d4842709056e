# Somebody signs in and asks for what everybody may know.
data "vcd_resource_list" "orgs" {
  name          = "orgs"
  resource_type = "vcd_org"
}
