-- Lists show what is not yet gone from its hub, so their indexes hold the same.
drop index vms_by_name, vms_by_org_name, vms_by_created, vms_by_org_created;
create index vms_by_name on vms (lower(name), id) where gone_at is null;
create index vms_by_org_name on vms (org_id, lower(name), id) where gone_at is null;
create index vms_by_created on vms (created_at, id) where gone_at is null;
create index vms_by_org_created on vms (org_id, created_at, id) where gone_at is null;
drop index vapps_by_name, vapps_by_org_name, vapps_by_created, vapps_by_org_created;
create index vapps_by_name on vapps (lower(name), id) where gone_at is null;
create index vapps_by_org_name on vapps (org_id, lower(name), id) where gone_at is null;
create index vapps_by_created on vapps (created_at, id) where gone_at is null;
create index vapps_by_org_created on vapps (org_id, created_at, id) where gone_at is null;
