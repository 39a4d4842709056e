-- Organizations, who may do what in them, their virtual data centers, and the record of everything done.
-- Conventions: ids are UUID v7 made by us; deleted_at is a tombstone and frees the name; version counts edits;
-- constraint names are mapped to form fields in store/src/constraint.rs.

create table organizations (
    id               uuid primary key,
    name             text not null constraint organizations_name_form check (name ~ '^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$'),
    display_name     text not null constraint organizations_display_name_length check (length(display_name) between 1 and 128),
    description      text not null default '' constraint organizations_description_length check (length(description) <= 2000),
    enabled          boolean not null default true,
    is_provider      boolean not null default false,
    -- limits: null means no limit
    vdc_limit        bigint constraint organizations_vdc_limit_range check (vdc_limit >= 0),
    vm_limit         bigint constraint organizations_vm_limit_range check (vm_limit >= 0),
    cpu_limit        bigint constraint organizations_cpu_limit_range check (cpu_limit >= 0),
    memory_limit_mb  bigint constraint organizations_memory_limit_range check (memory_limit_mb >= 0),
    storage_limit_mb bigint constraint organizations_storage_limit_range check (storage_limit_mb >= 0),
    -- what is in use, kept by quota reservations in the same transaction as what uses it
    vms_used         bigint not null default 0 constraint organizations_vms_used_range check (vms_used >= 0),
    cpus_used        bigint not null default 0 constraint organizations_cpus_used_range check (cpus_used >= 0),
    memory_used_mb   bigint not null default 0 constraint organizations_memory_used_range check (memory_used_mb >= 0),
    storage_used_mb  bigint not null default 0 constraint organizations_storage_used_range check (storage_used_mb >= 0),
    -- leases: null means for ever
    runtime_lease_s  bigint constraint organizations_runtime_lease_range check (runtime_lease_s >= 3600),
    storage_lease_s  bigint constraint organizations_storage_lease_range check (storage_lease_s >= 3600),
    version          bigint not null default 1,
    created_at       timestamptz not null default now(),
    updated_at       timestamptz not null default now(),
    updated_by       text not null default '',
    deleted_at       timestamptz
);
create unique index organizations_name_taken on organizations (lower(name)) where deleted_at is null;
create unique index organizations_one_provider on organizations (is_provider) where is_provider and deleted_at is null;
create index organizations_by_name on organizations (lower(name), id) where deleted_at is null;
create index organizations_by_created on organizations (created_at, id) where deleted_at is null;

create table rights (
    name        text primary key,
    category    text not null,
    for_tenants boolean not null
);

create table roles (
    id          uuid primary key,
    org_id      uuid references organizations (id),          -- null: predefined, the same in every organization
    name        text not null constraint roles_name_length check (length(name) between 1 and 128),
    description text not null default '' constraint roles_description_length check (length(description) <= 2000),
    version     bigint not null default 1,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now(),
    updated_by  text not null default '',
    deleted_at  timestamptz
);
create unique index roles_name_taken on roles (org_id, lower(name)) nulls not distinct where deleted_at is null;
create index roles_by_name on roles (lower(name), id) where deleted_at is null;
create index roles_by_created on roles (created_at, id) where deleted_at is null;

create table role_rights (
    role_id    uuid not null references roles (id),
    right_name text not null references rights (name),
    primary key (role_id, right_name)
);

create table users (
    id               uuid primary key,
    org_id           uuid not null references organizations (id),
    role_id          uuid not null references roles (id),
    name             text not null constraint users_name_form check (name ~ '^[A-Za-z0-9]([A-Za-z0-9._@+-]{0,126}[A-Za-z0-9])?$'),
    full_name        text not null default '' constraint users_full_name_length check (length(full_name) <= 128),
    email            text not null default '' constraint users_email_form check (email = '' or (email ~ '^[^@[:space:]]+@[^@[:space:]]+$' and length(email) <= 254)),
    enabled          boolean not null default true,
    password_hash    text,                                   -- null: signs in by the identity provider
    issuer           text,
    subject          text,
    vm_limit         bigint constraint users_vm_limit_range check (vm_limit >= 0),
    cpu_limit        bigint constraint users_cpu_limit_range check (cpu_limit >= 0),
    memory_limit_mb  bigint constraint users_memory_limit_range check (memory_limit_mb >= 0),
    storage_limit_mb bigint constraint users_storage_limit_range check (storage_limit_mb >= 0),
    vms_used         bigint not null default 0 constraint users_vms_used_range check (vms_used >= 0),
    cpus_used        bigint not null default 0 constraint users_cpus_used_range check (cpus_used >= 0),
    memory_used_mb   bigint not null default 0 constraint users_memory_used_range check (memory_used_mb >= 0),
    storage_used_mb  bigint not null default 0 constraint users_storage_used_range check (storage_used_mb >= 0),
    last_sign_in_at  timestamptz,
    version          bigint not null default 1,
    created_at       timestamptz not null default now(),
    updated_at       timestamptz not null default now(),
    updated_by       text not null default '',
    deleted_at       timestamptz,
    constraint users_signs_in_somehow check (password_hash is not null or (issuer is not null and subject is not null))
);
create unique index users_name_taken on users (org_id, lower(name)) where deleted_at is null;
create unique index users_identity_taken on users (org_id, issuer, subject) where deleted_at is null and subject is not null;
create index users_by_role on users (role_id) where deleted_at is null;
create index users_by_name on users (lower(name), id) where deleted_at is null;
create index users_by_org_name on users (org_id, lower(name), id) where deleted_at is null;
create index users_by_created on users (created_at, id) where deleted_at is null;
create index users_by_org_created on users (org_id, created_at, id) where deleted_at is null;

create table sessions (
    id_hash      bytea primary key,                          -- SHA-256 of what the cookie holds
    user_id      uuid references users (id),                 -- null before sign-in
    role_ids     uuid[] not null default '{}',               -- what the identity provider's groups gave, for users who defer to it
    data         jsonb not null,
    address      text not null default '',
    agent        text not null default '',
    created_at   timestamptz not null default now(),
    last_seen_at timestamptz not null default now(),
    expires_at   timestamptz not null
);
create index sessions_by_user on sessions (user_id, last_seen_at) where user_id is not null;
create index sessions_by_expiry on sessions (expires_at);

-- Failed sign-ins by name and by address, whether or not such a user exists.
create table sign_in_failures (
    who        text primary key,
    count      integer not null,
    last_at    timestamptz not null,
    not_before timestamptz not null
);

create table api_tokens (
    id           uuid primary key,
    user_id      uuid not null references users (id),
    name         text not null constraint api_tokens_name_length check (length(name) between 1 and 128),
    token_hash   bytea not null constraint api_tokens_token_hash_taken unique,
    expires_at   timestamptz,
    last_used_at timestamptz,
    created_at   timestamptz not null default now(),
    deleted_at   timestamptz
);
create unique index api_tokens_name_taken on api_tokens (user_id, lower(name)) where deleted_at is null;

create table identity_providers (
    org_id        uuid primary key references organizations (id),
    issuer        text not null,
    client_id     text not null,
    client_secret bytea not null,                            -- sealed with the master secret
    groups_claim  text not null default 'groups',
    scopes        text not null default 'openid profile email',
    default_role  uuid references roles (id),
    version       bigint not null default 1,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now()
);
create table identity_provider_groups (
    org_id     uuid not null references identity_providers (org_id) on delete cascade,
    group_name text not null,
    role_id    uuid not null references roles (id),
    primary key (org_id, group_name)
);

create table vdcs (
    id               uuid primary key,
    org_id           uuid not null references organizations (id),
    name             text not null constraint vdcs_name_form check (name ~ '^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$'),
    description      text not null default '' constraint vdcs_description_length check (length(description) <= 2000),
    namespace_name   text not null constraint vdcs_namespace_name_form check (namespace_name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    allocation_model text not null constraint vdcs_allocation_model_known check (allocation_model in ('PayAsYouGo', 'AllocationPool', 'ReservationPool')),
    enabled          boolean not null default true,
    vm_limit         bigint constraint vdcs_vm_limit_range check (vm_limit >= 0),
    cpu_limit        bigint constraint vdcs_cpu_limit_range check (cpu_limit >= 0),
    memory_limit_mb  bigint constraint vdcs_memory_limit_range check (memory_limit_mb >= 0),
    storage_limit_mb bigint constraint vdcs_storage_limit_range check (storage_limit_mb >= 0),
    vms_used         bigint not null default 0 constraint vdcs_vms_used_range check (vms_used >= 0),
    cpus_used        bigint not null default 0 constraint vdcs_cpus_used_range check (cpus_used >= 0),
    memory_used_mb   bigint not null default 0 constraint vdcs_memory_used_range check (memory_used_mb >= 0),
    storage_used_mb  bigint not null default 0 constraint vdcs_storage_used_range check (storage_used_mb >= 0),
    version          bigint not null default 1,
    created_at       timestamptz not null default now(),
    updated_at       timestamptz not null default now(),
    updated_by       text not null default '',
    deleted_at       timestamptz
);
create unique index vdcs_name_taken on vdcs (org_id, lower(name)) where deleted_at is null;
create unique index vdcs_namespace_name_taken on vdcs (namespace_name) where deleted_at is null;
create index vdcs_by_name on vdcs (lower(name), id) where deleted_at is null;
create index vdcs_by_org_name on vdcs (org_id, lower(name), id) where deleted_at is null;
create index vdcs_by_created on vdcs (created_at, id) where deleted_at is null;
create index vdcs_by_org_created on vdcs (org_id, created_at, id) where deleted_at is null;

create table tasks (
    id          uuid primary key,
    org_id      uuid not null references organizations (id),
    user_id     uuid references users (id),
    user_name   text not null,
    operation   text not null,                               -- an action's key, as in the audit
    object_kind text not null,
    object_id   uuid not null,
    object_name text not null,
    status      text not null constraint tasks_status_known check (status in ('queued', 'running', 'success', 'error', 'aborted')),
    progress    smallint constraint tasks_progress_range check (progress between 0 and 100),
    message     text not null default '',
    request_id  text not null default '',
    started_at  timestamptz not null default now(),
    ended_at    timestamptz,
    deadline    timestamptz not null
);
create index tasks_by_started on tasks (started_at, id);
create index tasks_by_org_started on tasks (org_id, started_at, id);
create index tasks_by_user_started on tasks (user_id, started_at, id);
create index tasks_by_object on tasks (object_id, started_at);
create index tasks_open on tasks (org_id, started_at, id) where status in ('queued', 'running');

create table events (
    id          uuid primary key,
    tx          xid8 not null default pg_current_xact_id(),  -- the order in which listeners may read: store/src/changes.rs
    org_id      uuid not null references organizations (id),
    user_id     uuid,
    user_name   text not null,
    kind        text not null,                               -- an action's key
    object_kind text not null,
    object_id   uuid,
    object_name text not null,
    message     text not null,
    request_id  text not null default '',
    created_at  timestamptz not null default now()
);
create index events_by_created on events (created_at, id);
create index events_by_org_created on events (org_id, created_at, id);
create index events_by_user_created on events (user_id, created_at, id);
create index events_by_object on events (object_id, created_at);
create index events_by_tx on events (tx);

create table audit (
    id          uuid primary key,
    org_id      uuid references organizations (id),          -- whose record it is; null: nobody's, as a sign-in to an unknown organization
    user_id     uuid,
    user_name   text not null,
    user_org    text not null,
    action      text not null,
    right_used  text not null default '',
    object_kind text not null,
    object_id   uuid,
    object_name text not null,
    result      text not null constraint audit_result_known check (result in ('done', 'refused', 'failed')),
    reason      text not null default '',
    before      jsonb,
    after       jsonb,
    via         text not null,
    address     text not null default '',
    request_id  text not null default '',
    created_at  timestamptz not null default now()
);
create index audit_by_created on audit (created_at, id);
create index audit_by_org_created on audit (org_id, created_at, id);
create index audit_by_user_created on audit (user_id, created_at, id);
create index audit_by_object on audit (object_id, created_at);
