# A catalog, what is uploaded into it and captured from a vApp, and a machine made of the upload.
data "vcd_org_user" "member" {
  org  = var.org
  name = var.member
}

resource "vcd_catalog" "shelf" {
  org              = var.org
  name             = var.later ? "${var.prefix}-shelf-b" : "${var.prefix}-shelf"
  description      = var.later ? "a shelf, moved" : "a shelf"
  delete_force     = true
  delete_recursive = true

  metadata_entry {
    key         = "row"
    type        = "MetadataStringValue"
    value       = var.later ? "b" : "a"
    user_access = "READWRITE"
    is_system   = false
  }
}

resource "vcd_catalog_access_control" "shelf" {
  org                  = var.org
  catalog_id           = vcd_catalog.shelf.id
  shared_with_everyone = false

  shared_with {
    user_id      = data.vcd_org_user.member.id
    access_level = var.later ? "FullControl" : "ReadOnly"
  }
}

resource "vcd_catalog_vapp_template" "box" {
  org               = var.org
  catalog_id        = vcd_catalog.shelf.id
  name              = var.later ? "box-b" : "box"
  description       = var.later ? "a box, opened" : "a box"
  ova_path          = "${var.files}/box.ova"
  upload_piece_size = 1

  # an import does not know where it came from
  lifecycle {
    ignore_changes = [ova_path]
  }

  metadata_entry {
    key         = "lid"
    type        = "MetadataStringValue"
    value       = var.later ? "off" : "on"
    user_access = "READWRITE"
    is_system   = false
  }
}

resource "vcd_catalog_media" "disc" {
  org               = var.org
  catalog_id        = vcd_catalog.shelf.id
  name              = "disc"
  description       = "a disc"
  media_path        = "${var.files}/disc.iso"
  upload_piece_size = 1

  lifecycle {
    ignore_changes = [media_path]
  }
}

resource "vcd_vapp" "reading" {
  org  = var.org
  vdc  = var.vdc
  name = "${var.prefix}-reading"
}

resource "vcd_vapp_vm" "reader" {
  org              = var.org
  vdc              = var.vdc
  vapp_name        = vcd_vapp.reading.name
  name             = "reader"
  computer_name    = "reader"
  vapp_template_id = vcd_catalog_vapp_template.box.id
  memory           = 512
  power_on         = false
}

resource "vcd_inserted_media" "disc" {
  org       = var.org
  vdc       = var.vdc
  catalog   = vcd_catalog.shelf.name
  name      = vcd_catalog_media.disc.name
  vapp_name = vcd_vapp.reading.name
  vm_name   = vcd_vapp_vm.reader.name
  count     = var.later ? 0 : 1
}

resource "vcd_catalog_vapp_template" "captured" {
  count      = var.later ? 1 : 0
  org        = var.org
  catalog_id = vcd_catalog.shelf.id
  name       = "captured"

  capture_vapp {
    source_id = vcd_vapp.reading.id
  }

  depends_on = [vcd_vapp_vm.reader]
}
