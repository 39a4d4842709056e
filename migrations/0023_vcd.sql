-- What VCD's clients need to find again as they left it.

-- A vApp that came with a VM of its own and goes with it.
alter table vapps add column auto boolean not null default false;

-- What clients set on a VM and KubeVirt has nothing like: kept as it was given.
alter table vms add column besides jsonb not null default '{}';

-- Where clients put a disk: adapter, bus and unit.
alter table disks add column slot jsonb;

-- A network in a vApp has an address of its own.
alter table vapp_networks add column id uuid not null default gen_random_uuid();
create unique index vapp_networks_id_taken on vapp_networks (id);
