-- What a VM's object asked for when it had been brought to what is asked for here (model::form), part by part: what differs later
-- is somebody else's doing, and which part it is in can be said. Empty: not known.
alter table vms add column hub_form text not null default '' constraint vms_hub_form_form check (hub_form ~ '^([0-9a-f]{64})?$');

-- Which cluster a hub is: the uid of its namespace kube-system. Empty: not seen yet.
alter table hubs add column cluster_uid text not null default '' constraint hubs_cluster_uid_length check (length(cluster_uid) <= 64);

-- What a hub's own namespace may use, where images are. Null: as much as there is.
alter table hubs
  add column quota_cpus bigint constraint hubs_quota_cpus_range check (quota_cpus between 0 and 10000000),
  add column quota_memory_mb bigint constraint hubs_quota_memory_mb_range check (quota_memory_mb between 0 and 1099511627776),
  add column quota_storage_mb bigint constraint hubs_quota_storage_mb_range check (quota_storage_mb between 0 and 1099511627776);
