-- Hubs, catalogs, vApps and VMs, and the queue of work on them. What people asked for (intent) and what hubs last
-- reported (observed, obs_*) stand in different columns and are written by different hands.

-- Keys that secrets are sealed with, themselves sealed with the master secret: store/src/vault.rs
create table data_keys (
    id         uuid primary key,
    sealed     bytea not null,
    created_at timestamptz not null default now()
);

create table hubs (
    id                    text primary key constraint hubs_id_form check (id ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    uid                   uuid not null unique,                -- what the record knows it by
    description           text not null default '' constraint hubs_description_length check (length(description) <= 2000),
    hub_type              text not null constraint hubs_hub_type_known check (hub_type in ('cluster', 'vmaas', 'hybrid')),
    capabilities          text[] not null default '{}',      -- what the operator opened it for: virtualmachines, clusters
    namespace             text not null constraint hubs_namespace_form check (namespace ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    region                text not null default '',
    zone                  text not null default '',
    is_default            boolean not null default false,
    cordoned              boolean not null default false,
    -- the way in: sealed, never read by anything that answers
    server                text not null,
    credential            bytea not null,
    credential_version    bigint not null default 1,
    credential_expires_at timestamptz,
    trusted               boolean not null default false,    -- the operator's own word: its address is not held against the list
    -- observed
    state                 text not null default 'unknown' constraint hubs_state_known check (state in ('unknown', 'ready', 'degraded', 'unreachable')),
    last_error            text not null default '',
    last_error_kind       text not null default '',
    next_step             text not null default '',
    seen_at               timestamptz,                       -- the last good answer
    checks                jsonb not null default '[]',
    checked_at            timestamptz,
    offers                text[] not null default '{}',      -- what it was found to have: virtualmachine, template, snapshot, udn ...
    kubernetes_version    text not null default '',
    kubevirt_version      text not null default '',
    cpus_capacity         bigint,
    memory_capacity_mb    bigint,
    -- who watches it: only the holder of the lease writes what the hub reports
    lease_owner           text not null default '',
    lease_epoch           bigint not null default 0,
    lease_until           timestamptz not null default '-infinity',
    version               bigint not null default 1,
    created_at            timestamptz not null default now(),
    updated_at            timestamptz not null default now(),
    updated_by            text not null default ''
);
create index hubs_by_capability on hubs using gin (capabilities);
create index hubs_by_type on hubs (hub_type);
create index hubs_by_created on hubs (created_at, id);
create unique index hubs_one_default on hubs (is_default) where is_default;

-- Which hubs an organization's machines go to rather than others, or never.
create table org_hubs (
    org_id uuid not null references organizations (id),
    hub_id text not null references hubs (id) on delete cascade,
    wish   text not null constraint org_hubs_wish_known check (wish in ('prefer', 'avoid')),
    primary key (org_id, hub_id)
);

alter table vdcs add column hubs text[] not null default '{}';       -- empty: every hub that can run VMs
alter table vdcs add column region text not null default '';
alter table vdcs add column zone text not null default '';

-- A VDC on a hub: its namespace there.
create table places (
    vdc_id        uuid not null references vdcs (id),
    hub_id        text not null references hubs (id),
    namespace     text not null,
    namespace_uid text,                                      -- known once it is made: every later call carries it
    quota_uid     text,
    applied       bigint,                                    -- the VDC's version that the hub was brought to
    ready_at      timestamptz,
    last_error    text not null default '',
    gone_at       timestamptz,
    created_at    timestamptz not null default now(),
    primary key (vdc_id, hub_id)
);
create index places_by_hub on places (hub_id) where gone_at is null;

create table catalogs (
    id            uuid primary key,
    org_id        uuid not null references organizations (id),
    owner_id      uuid references users (id),
    name          text not null constraint catalogs_name_form check (name ~ '^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$'),
    description   text not null default '' constraint catalogs_description_length check (length(description) <= 2000),
    shared_to_all boolean not null default false,
    from_hubs     boolean not null default false,            -- filled with the templates that hubs have
    version       bigint not null default 1,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    updated_by    text not null default '',
    deleted_at    timestamptz
);
create unique index catalogs_name_taken on catalogs (org_id, lower(name)) where deleted_at is null;
create index catalogs_by_name on catalogs (lower(name), id) where deleted_at is null;
create index catalogs_by_created on catalogs (created_at, id) where deleted_at is null;
create table catalog_shares (
    catalog_id uuid not null references catalogs (id),
    org_id     uuid not null references organizations (id),
    primary key (catalog_id, org_id)
);

create table templates (
    id          uuid primary key,
    catalog_id  uuid not null references catalogs (id),
    org_id      uuid not null references organizations (id),
    name        text not null constraint templates_name_length check (length(name) between 1 and 128),
    description text not null default '' constraint templates_description_length check (length(description) <= 2000),
    source      text not null default '',                    -- what it is on hubs: template/openshift/fedora, datasource/images/rhel9
    by_instance boolean not null default false,              -- made through a TemplateInstance
    os          text not null default '',
    icon        text not null default '',
    vms         jsonb not null,                              -- model::template::TemplateVm, one each
    parameters  jsonb not null default '[]',
    version     bigint not null default 1,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    deleted_at  timestamptz
);
create unique index templates_name_taken on templates (catalog_id, lower(name)) where deleted_at is null;
create unique index templates_source_taken on templates (catalog_id, source) where deleted_at is null and source <> '';
create index templates_by_name on templates (lower(name), id) where deleted_at is null;
create index templates_by_created on templates (created_at, id) where deleted_at is null;
-- What hubs have now, whether or not a catalog shows it.
create table hub_templates (
    hub_id  text not null references hubs (id) on delete cascade,
    source  text not null,
    uid     text not null,
    hash    text not null,                                   -- of what was read, so that nothing is written twice
    spec    jsonb not null,
    seen_at timestamptz not null default now(),
    primary key (hub_id, source)
);
create index hub_templates_by_source on hub_templates (source);

create table vapps (
    id           uuid primary key,
    org_id       uuid not null references organizations (id),
    vdc_id       uuid not null references vdcs (id),
    owner_id     uuid references users (id),
    template_id  uuid references templates (id),
    name         text not null constraint vapps_name_length check (length(name) between 1 and 128),
    description  text not null default '' constraint vapps_description_length check (length(description) <= 2000),
    -- placement: committed before the first call, unchanged after it
    hub_id       text,
    placement    jsonb,
    placed_at    timestamptz,
    attempted_at timestamptz,
    -- made through a TemplateInstance
    instance_of  text,                                       -- the template's source
    parameters   bytea,                                      -- sealed: they may hold passwords
    instance_uid text,
    version      bigint not null default 1,
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now(),
    updated_by   text not null default '',
    deleted_at   timestamptz,
    gone_at      timestamptz                                 -- nothing of it is left on a hub
);
create unique index vapps_name_taken on vapps (vdc_id, lower(name)) where deleted_at is null;
create index vapps_by_name on vapps (lower(name), id) where deleted_at is null;
create index vapps_by_org_name on vapps (org_id, lower(name), id) where deleted_at is null;
create index vapps_by_created on vapps (created_at, id) where deleted_at is null;
create index vapps_by_org_created on vapps (org_id, created_at, id) where deleted_at is null;
create index vapps_by_vdc on vapps (vdc_id) where deleted_at is null;
create index vapps_by_hub on vapps (hub_id) where gone_at is null;

create table vms (
    id             uuid primary key,
    org_id         uuid not null references organizations (id),
    vdc_id         uuid not null references vdcs (id),
    vapp_id        uuid not null references vapps (id),
    owner_id       uuid references users (id),
    name           text not null constraint vms_name_length check (length(name) between 1 and 128),
    description    text not null default '' constraint vms_description_length check (length(description) <= 2000),
    computer_name  text not null constraint vms_computer_name_form check (computer_name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    -- intent
    cpus           integer not null constraint vms_cpus_range check (cpus between 1 and 512),
    memory_mb      bigint not null constraint vms_memory_range check (memory_mb between 128 and 16777216),
    instance_type  text not null default '',
    preference     text not null default '',
    disks          jsonb not null default '[]',              -- model::vm::Disk
    nics           jsonb not null default '[]',              -- model::vm::Nic
    os             text not null default '',
    cloud_init     bytea,                                    -- sealed: it may hold passwords
    power          text not null constraint vms_power_known check (power in ('on', 'off', 'suspended')),
    start_order    integer not null default 0 constraint vms_start_order_range check (start_order between 0 and 1000),
    start_delay_s  integer not null default 0 constraint vms_start_delay_range check (start_delay_s between 0 and 3600),
    storage_mb     bigint not null default 0,                -- of its disks, as counted by quota
    generation     bigint not null default 1,                -- counts changes of intent
    once           text not null default '',                 -- something to do once: reboot, reset, shutdown
    once_id        uuid,
    once_done      uuid,
    -- where it is
    hub_id         text,
    hub_name       text not null,                            -- its name there, from the id
    uid            text,                                     -- known once it is made: every later call carries it
    attempted_at   timestamptz,
    applied        bigint,                                   -- the generation that the hub was brought to
    hub_generation bigint,                                   -- the object's own, after our last change: a higher one is somebody else's doing
    -- observed
    obs_state      text not null default '',
    obs_reason     text not null default '',
    obs_cpus       integer,
    obs_memory_mb  bigint,
    obs_node       text not null default '',
    obs_ips        text[] not null default '{}',
    obs_guest_os   text not null default '',
    obs_progress   smallint,
    obs_restart    boolean not null default false,           -- a change waits for the next start
    obs_rv         text not null default '',
    obs_at         timestamptz,                              -- when the hub last said so
    obs_since      timestamptz,                              -- since when it is in this state
    outside        text not null default '',                 -- what somebody changed on the hub by hand
    problem        text not null default '',                 -- why it can't be brought to what was asked for
    version        bigint not null default 1,
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now(),
    updated_by     text not null default '',
    deleted_at     timestamptz,
    gone_at        timestamptz
);
create unique index vms_name_taken on vms (vapp_id, lower(name)) where deleted_at is null;
create unique index vms_hub_name_taken on vms (vdc_id, hub_name);
create index vms_by_vapp on vms (vapp_id) where deleted_at is null;
create index vms_by_name on vms (lower(name), id) where deleted_at is null;
create index vms_by_org_name on vms (org_id, lower(name), id) where deleted_at is null;
create index vms_by_created on vms (created_at, id) where deleted_at is null;
create index vms_by_org_created on vms (org_id, created_at, id) where deleted_at is null;
create index vms_by_hub on vms (hub_id) where gone_at is null;
create index vms_by_vdc on vms (vdc_id) where deleted_at is null;

-- Objects under our label that nobody here knows. They are shown, and never deleted.
create table strangers (
    hub_id     text not null references hubs (id) on delete cascade,
    uid        text not null,
    namespace  text not null,
    name       text not null,
    kind       text not null,
    labels     jsonb not null default '{}',
    seen_at    timestamptz not null default now(),
    primary key (hub_id, uid)
);

-- One row an object that needs work. `wanted` counts wishes and `done` those that were met, so that a wish that comes
-- while somebody works on the last one is not lost.
create table work (
    kind        text not null,
    id          uuid not null,
    org_id      uuid not null references organizations (id),
    hub_id      text not null default '',                    -- '': not known yet
    wanted      bigint not null default 1,
    not_before  timestamptz not null default now(),
    lease_owner text not null default '',
    lease_until timestamptz not null default '-infinity',
    lease_epoch bigint not null default 0,
    attempt     integer not null default 0,
    last_error  text not null default '',
    failing     text not null default '',                    -- '', retry, wait or failed
    created_at  timestamptz not null default now(),
    primary key (kind, id)
);
create index work_by_time on work (not_before) where failing <> 'failed';
create index work_by_hub on work (hub_id);

alter table tasks add column goal bigint;                    -- the generation of the object that the task asks for
alter table events add column owner_id uuid;                 -- whose thing it is about: they hear of it
