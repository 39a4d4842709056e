-- The generation with which its power was asked for last. Whatever else is asked of a VM leaves its power as it is on its hub: it may have been
-- powered on or off there by hand since.
alter table vms add column power_generation bigint not null default 1;
update vms set power_generation = generation where applied is distinct from generation;
