-- What a guest is told can be changed: this is the generation that changed it last. The settings are sealed in vms.cloud_init.
alter table vms add column guest_generation bigint not null default 0;
