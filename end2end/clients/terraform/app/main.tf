# A vApp of two machines on an isolated network that are kept apart, and that somebody else may change.
data "vcd_org" "here" {
  name = var.org
}

data "vcd_org_vdc" "here" {
  org  = var.org
  name = var.vdc
}

data "vcd_catalog" "linux" {
  org  = var.catalog_org
  name = var.catalog
}

data "vcd_catalog_vapp_template" "image" {
  catalog_id = data.vcd_catalog.linux.id
  name       = var.template
}

data "vcd_org_user" "member" {
  org  = var.org
  name = var.member
}

resource "vcd_network_isolated_v2" "lan" {
  org           = var.org
  owner_id      = data.vcd_org_vdc.here.id
  name          = "${var.prefix}-lan"
  description   = var.later ? "between machines, and more of it" : "between machines"
  gateway       = "10.44.0.1"
  prefix_length = 24
  dns1          = "10.44.0.2"
  dns_suffix    = "lan.example"

  static_ip_pool {
    start_address = "10.44.0.20"
    end_address   = "10.44.0.40"
  }

  dynamic "static_ip_pool" {
    for_each = var.later ? ["60"] : []
    content {
      start_address = "10.44.0.50"
      end_address   = "10.44.0.${static_ip_pool.value}"
    }
  }
}

resource "vcd_vapp" "office" {
  org         = var.org
  vdc         = var.vdc
  name        = "${var.prefix}-office"
  description = var.later ? "an office, moved" : "an office"
  power_on    = false

  lease {
    runtime_lease_in_sec = var.later ? 172800 : 86400
    storage_lease_in_sec = 604800
  }

  dynamic "metadata_entry" {
    for_each = var.later ? { floor = ["MetadataNumberValue", "4"], open = ["MetadataBooleanValue", "true"] } : { floor = ["MetadataNumberValue", "3"] }
    content {
      key         = metadata_entry.key
      type        = metadata_entry.value[0]
      value       = metadata_entry.value[1]
      user_access = "READWRITE"
      is_system   = false
    }
  }
}

resource "vcd_vapp_org_network" "lan" {
  vapp_name              = vcd_vapp.office.name
  org_network_name       = vcd_network_isolated_v2.lan.name
  reboot_vapp_on_removal = true
}

# Without org and vdc: an import of it leaves them out.
resource "vcd_vapp_network" "inside" {
  vapp_name     = vcd_vapp.office.name
  name          = "inside"
  description   = var.later ? "only here" : "here"
  gateway       = "10.45.0.1"
  prefix_length = 24

  static_ip_pool {
    start_address = "10.45.0.20"
    end_address   = "10.45.0.30"
  }

  reboot_vapp_on_removal = true
}

resource "vcd_vapp_vm" "desk" {
  for_each         = { one = "10.44.0.101", two = "10.44.0.102" }
  org              = var.org
  vdc              = var.vdc
  vapp_name        = vcd_vapp.office.name
  name             = "${var.prefix}-${each.key}"
  description      = var.later ? "a desk with a lamp" : "a desk"
  computer_name    = "desk-${each.key}"
  vapp_template_id = data.vcd_catalog_vapp_template.image.id
  cpus             = var.later ? 2 : 1
  cpu_cores        = 1
  memory           = var.later ? 2048 : 1024
  power_on         = each.key == "one" || var.later
  guest_properties = { "desk.lamp" = var.later ? "on & bright" : "off" }

  network {
    type               = "org"
    name               = vcd_vapp_org_network.lan.org_network_name
    ip_allocation_mode = each.key == "one" ? "POOL" : "MANUAL"
    ip                 = each.key == "one" ? null : each.value
    is_primary         = true
    adapter_type       = "VMXNET3"
  }

  dynamic "network" {
    for_each = each.key == "two" && var.later ? [vcd_vapp_network.inside.name] : []
    content {
      type               = "vapp"
      name               = network.value
      ip_allocation_mode = "POOL"
      adapter_type       = "VMXNET3"
    }
  }

  customization {
    enabled    = true
    initscript = var.later ? "#!/bin/sh\necho later\n" : "#!/bin/sh\necho first\n"
  }

  metadata_entry {
    key         = "chair"
    type        = "MetadataStringValue"
    value       = var.later ? "leather" : "wood"
    user_access = "READWRITE"
    is_system   = false
  }
}

resource "vcd_vm_affinity_rule" "apart" {
  org      = var.org
  vdc      = var.vdc
  name     = var.later ? "${var.prefix}-apart-b" : "${var.prefix}-apart"
  polarity = "Anti-Affinity"
  required = true
  enabled  = !var.later
  vm_ids   = [for desk in vcd_vapp_vm.desk : desk.id]
}

resource "vcd_vapp_access_control" "office" {
  org                   = var.org
  vdc                   = var.vdc
  vapp_id               = vcd_vapp.office.id
  shared_with_everyone  = var.later
  everyone_access_level = var.later ? "ReadOnly" : null

  dynamic "shared_with" {
    for_each = var.later ? [] : [data.vcd_org_user.member.id]
    content {
      user_id      = shared_with.value
      access_level = "Change"
    }
  }
}
