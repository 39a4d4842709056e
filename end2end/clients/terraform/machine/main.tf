# Machines without a vApp, of a template and from nothing, with disks of their own and independent ones.
data "vcd_catalog" "linux" {
  org  = var.catalog_org
  name = var.catalog
}

data "vcd_catalog_vapp_template" "image" {
  catalog_id = data.vcd_catalog.linux.id
  name       = var.template
}

data "vcd_storage_profile" "standard" {
  org  = var.org
  vdc  = var.vdc
  name = "standard"
}

resource "vcd_independent_disk" "data" {
  org             = var.org
  vdc             = var.vdc
  name            = "${var.prefix}-data"
  description     = var.later ? "grown" : "small"
  size_in_mb      = var.later ? 4096 : 1024
  bus_type        = "SCSI"
  bus_sub_type    = "VirtualSCSI"
  storage_profile = data.vcd_storage_profile.standard.name

  metadata_entry {
    key         = "keep"
    type        = "MetadataStringValue"
    value       = var.later ? "longer" : "long"
    user_access = "READWRITE"
    is_system   = false
  }
}

resource "vcd_vm" "tower" {
  org              = var.org
  vdc              = var.vdc
  name             = "${var.prefix}-tower"
  computer_name    = "tower"
  description      = var.later ? "a tall tower" : "a tower"
  vapp_template_id = data.vcd_catalog_vapp_template.image.id
  cpus             = var.later ? 4 : 2
  cpu_cores        = 1
  memory           = 1024
  power_on         = var.later
  guest_properties = { "tower.kind" = "stone" }

  cpu_hot_add_enabled    = true
  memory_hot_add_enabled = true

  network {
    type               = "org"
    name               = var.network
    ip_allocation_mode = "POOL"
    is_primary         = true
    adapter_type       = "VMXNET3"
  }

  disk {
    name        = vcd_independent_disk.data.name
    bus_number  = 1
    unit_number = 0
  }
}

# Without org and vdc: an import of it leaves them out.
resource "vcd_vm_internal_disk" "scratch" {
  vapp_name       = vcd_vm.tower.vapp_name
  vm_name         = vcd_vm.tower.name
  bus_type        = "paravirtual"
  bus_number      = 0
  unit_number     = 2
  size_in_mb      = var.later ? 3072 : 2048
  storage_profile = data.vcd_storage_profile.standard.name
  # it is switched on by the change
  allow_vm_reboot = true
}

resource "vcd_vm" "bare" {
  org              = var.org
  vdc              = var.vdc
  name             = "${var.prefix}-bare"
  computer_name    = "bare"
  os_type          = "ubuntu64Guest"
  hardware_version = "vmx-19"
  cpus             = 1
  cpu_cores        = 1
  memory           = var.later ? 768 : 512
  power_on         = false
}
