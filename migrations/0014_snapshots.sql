-- Snapshots of machines: a tree. They are brought about by work on their machine.
create table snapshots (
    id          uuid primary key,
    org_id      uuid not null references organizations (id),
    vm_id       uuid not null references vms (id),
    parent_id   uuid references snapshots (id),              -- what the machine's disks came from when it was taken
    name        text not null constraint snapshots_name_length check (length(name) between 1 and 128),
    description text not null default '' constraint snapshots_description_length check (length(description) <= 2000),
    size_mb     bigint not null default 0,                   -- of the machine's disks then
    hub_name    text not null,
    uid         text,                                        -- known once it is made: every later call carries it
    state       text not null default 'asked' constraint snapshots_state_known check (state in ('asked', 'ready', 'failed')),
    reason      text not null default '',
    taken_at    timestamptz,
    created_at  timestamptz not null default now(),
    created_by  text not null default '',
    deleted_at  timestamptz,
    gone_at     timestamptz
);
create unique index snapshots_name_taken on snapshots (vm_id, lower(name)) where deleted_at is null;
create index snapshots_by_vm on snapshots (vm_id) where gone_at is null;
create index snapshots_by_parent on snapshots (parent_id) where parent_id is not null;

alter table vms add column snapshot_id uuid references snapshots (id);        -- the one that its disks stem from
alter table vms add column revert_to uuid references snapshots (id);          -- it is to be brought back to that one
alter table vms add column revert_id uuid;
alter table vms add column snapshot_problem text not null default '';         -- why the last snapshot or revert did not work
