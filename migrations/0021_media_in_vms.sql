-- Media in machines, and what guests tell of themselves.

-- A disc in a machine is a disk of the machine's own, on a CD drive: a copy of the media's image, counted as other disks are.
alter table disks add column media_id uuid references templates (id);
alter table disks add column obs_waits boolean not null default false;        -- its machine runs, and has it from the next start on
create index disks_by_media on disks (media_id) where media_id is not null and gone_at is null;

-- What the hub says of the guest, and what the guest's agent said when it was last asked.
alter table vms add column obs_agent boolean not null default false;          -- the agent answers
alter table vms add column obs_guest jsonb not null default '{}';             -- model::guest::System
alter table vms add column guest jsonb not null default '{}';                 -- model::guest::Told
alter table vms add column guest_at timestamptz;                              -- when it said so
alter table vms add column guest_asked_at timestamptz;
