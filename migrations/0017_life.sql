-- How long things live: leases of vApps and templates.

-- The least length is a setting, and no longer a rule of the table.
alter table organizations drop constraint organizations_runtime_lease_range;
alter table organizations add constraint organizations_runtime_lease_range check (runtime_lease_s > 0);
alter table organizations drop constraint organizations_storage_lease_range;
alter table organizations add constraint organizations_storage_lease_range check (storage_lease_s > 0);
-- what happens at their end
alter table organizations add column runtime_lease_end text not null default 'suspend'
    constraint organizations_runtime_end_known check (runtime_lease_end in ('suspend', 'power_off'));
alter table organizations add column storage_lease_end text not null default 'mark'
    constraint organizations_storage_end_known check (storage_lease_end in ('mark', 'delete'));
alter table organizations add column template_lease_s bigint constraint organizations_template_lease_range check (template_lease_s > 0);
alter table organizations add column template_lease_end text not null default 'mark'
    constraint organizations_template_end_known check (template_lease_end in ('mark', 'delete'));
alter table organizations add column lease_warning_s bigint default 259200 constraint organizations_lease_warning_range check (lease_warning_s > 0);

-- One row a vApp or template. It stands apart from them, so that a change of one VM's power locks no vApp.
create table leases (
    object_id  uuid primary key,
    kind       text not null constraint leases_kind_known check (kind in ('vapp', 'vapptemplate')),
    org_id     uuid not null references organizations (id),
    runtime_s  bigint constraint leases_runtime_lease_range check (runtime_s > 0), -- null: for ever
    storage_s  bigint constraint leases_storage_lease_range check (storage_s > 0),
    running    boolean not null default false,               -- which of the two counts now
    ends_at    timestamptz,                                  -- null: never
    warned_at  timestamptz,
    expired_at timestamptz                                   -- its end came, and it was only marked
);
create index leases_by_end on leases (ends_at) where expired_at is null;
create index leases_warned on leases (org_id) where warned_at is not null or expired_at is not null;

-- What is there by now begins its lease now.
insert into leases (object_id, kind, org_id, runtime_s, storage_s, running, ends_at)
select a.id, 'vapp', a.org_id, o.runtime_lease_s, o.storage_lease_s, r.running,
       now() + make_interval(secs => case when r.running then o.runtime_lease_s else o.storage_lease_s end)
from vapps a join organizations o on o.id = a.org_id
cross join lateral (select exists (select from vms v where v.vapp_id = a.id and v.deleted_at is null and v.power = 'on') as running) r
where a.deleted_at is null;
insert into leases (object_id, kind, org_id, storage_s, ends_at)
select t.id, 'vapptemplate', t.org_id, o.template_lease_s, null from templates t join organizations o on o.id = t.org_id
where t.deleted_at is null and t.source = '' and t.kind = 'template';

-- What people and programs write down beside things: a key and a typed value.
create table metadata (
    object_id   uuid not null,
    domain      text not null constraint metadata_domain_known check (domain in ('general', 'system')),
    key         text not null constraint metadata_key_length check (length(key) between 1 and 256),
    object_kind text not null,
    org_id      uuid not null references organizations (id),
    type        text not null constraint metadata_type_known check (type in ('string', 'number', 'boolean', 'datetime')),
    value       text not null constraint metadata_value_length check (length(value) <= 1000),
    visibility  text not null constraint metadata_visibility_known check (visibility in ('readwrite', 'readonly', 'private')),
    updated_at  timestamptz not null default now(),
    updated_by  text not null default '',
    primary key (object_id, domain, key),
    -- what is general is everybody's who may edit the thing, what is the system's nobody's but the provider's
    constraint metadata_visibility_fits check ((domain = 'general') = (visibility = 'readwrite'))
);
create index metadata_by_key on metadata (key, value) where visibility <> 'private';

-- Security tags of VMs.
create table vm_tags (
    vm_id  uuid not null references vms (id),
    org_id uuid not null references organizations (id),
    tag    text not null constraint vm_tags_tag_form check (tag ~ '^[a-z0-9][a-z0-9_:.-]{0,127}$'),
    primary key (vm_id, tag)
);
create index vm_tags_by_tag on vm_tags (org_id, tag);

-- Sizes with a name. On hubs they are instance types, made where a VM needs them.
create table sizing_policies (
    id          uuid primary key,
    name        text not null constraint sizing_policies_name_form check (name ~ '^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$'),
    description text not null default '' constraint sizing_policies_description_length check (length(description) <= 2000),
    cpus        integer not null constraint sizing_policies_cpus_range check (cpus between 1 and 512),
    memory_mb   bigint not null constraint sizing_policies_memory_range check (memory_mb between 128 and 16777216),
    more        jsonb not null default '{}',                 -- model::sizing::SizingMore
    version     bigint not null default 1,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    updated_by  text not null default '',
    deleted_at  timestamptz,
    gone_at     timestamptz                                  -- nothing of it is left on a hub
);
create unique index sizing_policies_name_taken on sizing_policies (lower(name)) where deleted_at is null;
create index sizing_policies_by_name on sizing_policies (lower(name), id) where deleted_at is null;
create index sizing_policies_by_created on sizing_policies (created_at, id) where deleted_at is null;
create table sizing_places (
    policy_id uuid not null references sizing_policies (id),
    hub_id    text not null references hubs (id) on delete cascade,
    uid       text,
    ready_at  timestamptz,
    primary key (policy_id, hub_id)
);
create table vdc_sizing (
    vdc_id     uuid not null references vdcs (id),
    policy_id  uuid not null references sizing_policies (id),
    is_default boolean not null default false,
    primary key (vdc_id, policy_id)
);
create unique index vdc_sizing_one_default on vdc_sizing (vdc_id) where is_default;
alter table vms add column sizing_id uuid references sizing_policies (id);
create index vms_by_sizing on vms (sizing_id) where sizing_id is not null and gone_at is null;

-- Which VMs of a VDC are kept on one node, and which apart.
create table affinity_rules (
    id         uuid primary key,
    org_id     uuid not null references organizations (id),
    vdc_id     uuid not null references vdcs (id),
    name       text not null constraint affinity_rules_name_length check (length(name) between 1 and 128),
    together   boolean not null,
    mandatory  boolean not null,
    enabled    boolean not null,
    version    bigint not null default 1,
    created_at timestamptz not null default now(),
    changed_at timestamptz not null default now(),           -- when it last came to ask VMs for something else
    updated_at timestamptz not null default now(),
    updated_by text not null default '',
    deleted_at timestamptz
);
create unique index affinity_rules_name_taken on affinity_rules (vdc_id, lower(name)) where deleted_at is null;
create table affinity_vms (
    rule_id uuid not null references affinity_rules (id),
    vm_id   uuid not null references vms (id),
    primary key (rule_id, vm_id)
);
create index affinity_vms_by_vm on affinity_vms (vm_id);
