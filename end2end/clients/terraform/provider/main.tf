# As the provider: an organization, a VDC in it, a size of machines, a machine of that size, somebody to use it.
data "vcd_provider_vdc" "all" {
  name = "kubevirt"
}

data "vcd_catalog" "linux" {
  org  = var.catalog_org
  name = var.catalog
}

data "vcd_catalog_vapp_template" "image" {
  org        = var.catalog_org
  catalog_id = data.vcd_catalog.linux.id
  name       = var.template
}

resource "vcd_org" "company" {
  name             = "${var.prefix}-company"
  full_name        = var.later ? "Company & Sons" : "Company"
  description      = var.later ? "makes more things" : "makes things"
  is_enabled       = true
  delete_force     = true
  delete_recursive = true

  vapp_lease {
    maximum_runtime_lease_in_sec          = var.later ? 172800 : 86400
    power_off_on_runtime_lease_expiration = true
    maximum_storage_lease_in_sec          = 2592000
    delete_on_storage_lease_expiration    = false
  }

  vapp_template_lease {
    maximum_storage_lease_in_sec       = 0
    delete_on_storage_lease_expiration = false
  }
}

resource "vcd_vm_sizing_policy" "medium" {
  name        = "${var.prefix}-medium"
  description = var.later ? "not so small" : "small"

  cpu {
    count            = 2
    cores_per_socket = 1
  }

  memory {
    size_in_mb = 1536
  }
}

resource "vcd_org_vdc" "works" {
  org               = vcd_org.company.name
  name              = "${var.prefix}-works"
  description       = var.later ? "larger works" : "works"
  allocation_model  = "AllocationPool"
  provider_vdc_name = data.vcd_provider_vdc.all.name
  vm_quota          = var.later ? 20 : 10
  network_quota     = 10
  enabled           = true
  delete_force      = true
  delete_recursive  = true

  compute_capacity {
    cpu {
      allocated = var.later ? 8000 : 4000
      limit     = var.later ? 8000 : 4000
    }
    memory {
      allocated = 8192
      limit     = 8192
    }
  }

  storage_profile {
    name    = "standard"
    limit   = var.later ? 204800 : 102400
    default = true
    enabled = true
  }

  default_compute_policy_id = vcd_vm_sizing_policy.medium.id
  vm_sizing_policy_ids      = [vcd_vm_sizing_policy.medium.id]

  metadata_entry {
    key         = "cost"
    type        = "MetadataNumberValue"
    value       = var.later ? "12" : "11"
    user_access = "READWRITE"
    is_system   = false
  }
}

# No administrator: an organization's last one can't be deleted.
resource "vcd_org_user" "worker" {
  org       = vcd_org.company.name
  name      = "${var.prefix}-worker"
  role      = "vApp Author"
  password  = "Work-at-it-1"
  full_name = var.later ? "Wo Worker" : "W. Worker"
}

resource "vcd_vm" "machine" {
  org              = vcd_org.company.name
  vdc              = vcd_org_vdc.works.name
  name             = "${var.prefix}-machine"
  computer_name    = "machine"
  vapp_template_id = data.vcd_catalog_vapp_template.image.id
  sizing_policy_id = vcd_vm_sizing_policy.medium.id
  power_on         = var.later
  guest_properties = { "machine.kind" = "drill" }
}
