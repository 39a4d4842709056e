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
