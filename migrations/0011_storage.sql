-- Storage policies, which of them a VDC may use and how much of each, and disks as things of their own.

-- What tenants choose from: a name for a storage class on each hub.
create table storage_policies (
    id          uuid primary key,
    name        text not null constraint storage_policies_name_form check (name ~ '^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$'),
    description text not null default '' constraint storage_policies_description_length check (length(description) <= 2000),
    -- the class on every hub that is not named below; '': the hub's own default
    class       text not null default '' constraint storage_policies_class_form check (class ~ '^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$'),
    is_default  boolean not null default false,                 -- the one that a new VDC begins with
    version     bigint not null default 1,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    updated_by  text not null default '',
    deleted_at  timestamptz
);
create unique index storage_policies_name_taken on storage_policies (lower(name)) where deleted_at is null;
create unique index storage_policies_one_default on storage_policies (is_default) where is_default and deleted_at is null;
create index storage_policies_by_name on storage_policies (lower(name), id) where deleted_at is null;
create index storage_policies_by_created on storage_policies (created_at, id) where deleted_at is null;

create table storage_policy_classes (
    policy_id uuid not null references storage_policies (id),
    hub_id    text not null references hubs (id) on delete cascade,
    class     text not null constraint storage_policy_classes_class_form check (class ~ '^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$'),
    primary key (policy_id, hub_id)
);

-- A VDC's profile: the policies it may use. One of them is taken where nobody says another.
create table vdc_storage (
    vdc_id     uuid not null references vdcs (id),
    policy_id  uuid not null references storage_policies (id),
    limit_mb   bigint constraint vdc_storage_limit_range check (limit_mb >= 0),
    used_mb    bigint not null default 0,
    is_default boolean not null default false,
    primary key (vdc_id, policy_id)
);
create unique index vdc_storage_one_default on vdc_storage (vdc_id) where is_default;
create index vdc_storage_by_policy on vdc_storage (policy_id);

insert into storage_policies (id, name, description, is_default)
values (gen_random_uuid(), 'default', 'The default storage class of each hub.', true);

-- A disk is counted by quota from the moment it is asked for until it is proven to be gone. An internal disk lives and dies with
-- its machine and is brought about by work on the machine; an independent one has work of its own and survives.
create table disks (
    id            uuid primary key,
    org_id        uuid not null references organizations (id),
    vdc_id        uuid not null references vdcs (id),
    owner_id      uuid references users (id),
    vm_id         uuid references vms (id),                     -- the machine it is in, or is to be in
    leaving_vm_id uuid references vms (id),                     -- an independent disk on its way out of that machine
    independent   boolean not null default false,
    with_vm       boolean not null default false,               -- made together with its machine
    name          text not null constraint disks_name_length check (length(name) between 1 and 128),
    description   text not null default '' constraint disks_description_length check (length(description) <= 2000),
    position      integer not null default 0,                   -- among the disks of its machine
    bus           text not null default '' constraint disks_bus_known check (bus in ('', 'virtio', 'sata', 'scsi')),
    size_mb       bigint not null constraint disks_size_range check (size_mb between 0 and 67108864),
    image         text not null default '',                     -- where its first content comes from
    storage_class text not null default '',                     -- of disks older than policies
    policy_id     uuid not null references storage_policies (id),
    generation    bigint not null default 1,
    applied       bigint,                                       -- of an independent disk: the generation that the hub was brought to
    applied_mb    bigint not null,                              -- the size that the hub was brought to
    -- where it is: an internal disk is where its machine is
    hub_id        text,
    hub_name      text not null default '',                     -- the name of its volume there; '': follows from its machine's
    uid           text,
    attempted_at  timestamptz,
    -- observed
    obs_state     text not null default '' constraint disks_obs_state_known check (obs_state in ('', 'making', 'ready', 'failed', 'missing')),
    obs_reason    text not null default '',
    obs_volume    text not null default '',                     -- what stands behind it on the hub by now
    obs_size_mb   bigint,
    obs_progress  smallint,
    obs_at        timestamptz,
    problem       text not null default '',
    version       bigint not null default 1,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    updated_by    text not null default '',
    deleted_at    timestamptz,
    gone_at       timestamptz
);
create unique index disks_name_taken on disks (vdc_id, lower(name)) where independent and deleted_at is null;
create unique index disks_in_vm_taken on disks (vm_id, lower(name)) where not independent and gone_at is null;
create index disks_by_vm on disks (vm_id) where gone_at is null;
create index disks_by_leaving_vm on disks (leaving_vm_id) where leaving_vm_id is not null;
create index disks_by_name on disks (lower(name), id) where independent and gone_at is null;
create index disks_by_org_name on disks (org_id, lower(name), id) where independent and gone_at is null;
create index disks_by_created on disks (created_at, id) where independent and gone_at is null;
create index disks_by_org_created on disks (org_id, created_at, id) where independent and gone_at is null;
create index disks_by_size on disks (size_mb, id) where independent and gone_at is null;
create index disks_by_org_size on disks (org_id, size_mb, id) where independent and gone_at is null;
create index disks_by_hub on disks (hub_id) where gone_at is null and independent;
create index disks_by_policy on disks (policy_id) where gone_at is null;

insert into disks (id, org_id, vdc_id, owner_id, vm_id, with_vm, name, position, size_mb, applied_mb, image, storage_class, policy_id, created_at, updated_by)
select gen_random_uuid(), v.org_id, v.vdc_id, v.owner_id, v.id, true, coalesce(nullif(d.disk ->> 'name', ''), 'disk-' || d.n), d.n - 1,
       coalesce((d.disk ->> 'size_mb')::bigint, 0), coalesce((d.disk ->> 'size_mb')::bigint, 0),
       coalesce(d.disk ->> 'image', ''), coalesce(d.disk ->> 'storage_class', ''), p.id, v.created_at, v.updated_by
from vms v cross join storage_policies p, jsonb_array_elements(v.disks) with ordinality as d (disk, n)
where v.gone_at is null and p.is_default;

insert into vdc_storage (vdc_id, policy_id, used_mb, is_default)
select v.id, p.id, coalesce((select sum(size_mb) from disks where vdc_id = v.id and gone_at is null), 0), true
from vdcs v cross join storage_policies p where p.is_default;

alter table vms drop column disks, drop column storage_mb;
