-- Which request asked for the work: its number is in the workers' log lines too.
alter table work add column request_id text not null default '';

-- Whose machine an object says to be that is not where it should be. Placement looks here before it chooses a hub.
alter table strangers add column vm_id uuid;
create index strangers_by_vm on strangers (vm_id) where vm_id is not null;
