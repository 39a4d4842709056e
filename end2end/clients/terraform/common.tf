# What every configuration has: the provider, and what the runner tells.
terraform {
  required_providers {
    vcd = { source = "vmware/vcd" }
  }
}

variable "host" { type = string }
variable "org" { type = string }
variable "vdc" { type = string }
variable "network" { type = string }
variable "catalog_org" { type = string }
variable "catalog" { type = string }
variable "template" { type = string }
variable "pair" { type = string }
variable "member" { type = string }
variable "files" { type = string }

# Who signs in, and in which organization.
variable "login" {
  type = object({ org = string, user = string, password = string, token_file = string })
}

# Everything that is made here begins with it.
variable "prefix" { type = string }

# false: as it is made at first; true: with the changes.
variable "later" {
  type    = bool
  default = false
}

provider "vcd" {
  url                  = "${var.host}/api"
  auth_type            = var.login.token_file == "" ? "integrated" : "api_token_file"
  user                 = var.login.user
  password             = var.login.password
  api_token_file       = var.login.token_file == "" ? null : var.login.token_file
  allow_api_token_file = true
  sysorg               = var.login.org
  org                  = var.org
  vdc                  = var.vdc
  allow_unverified_ssl = true
}
