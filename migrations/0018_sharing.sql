-- With whom vApps and catalogs are shared inside their organization, and the indexes by which owners are found.

-- Neither a user nor a role: everyone of the organization. A VM is shared with its vApp, a template with its catalog.
create table shares (
    object_id  uuid not null,
    org_id     uuid not null references organizations (id),
    user_id    uuid references users (id),
    role_id    uuid references roles (id),
    access     text not null constraint shares_access_known check (access in ('ReadOnly', 'Change', 'FullControl')),
    created_at timestamptz not null default now(),
    constraint shares_subject_one check (user_id is null or role_id is null),
    constraint shares_subject_once unique nulls not distinct (object_id, user_id, role_id)
);
create index shares_by_subject on shares (org_id, user_id, role_id, object_id);

-- until now everybody with the rights for it could use every catalog of the organization
insert into shares (object_id, org_id, access) select id, org_id, 'FullControl' from catalogs where deleted_at is null;

create index vapps_by_owner on vapps (owner_id) where gone_at is null;
create index catalogs_by_owner on catalogs (owner_id) where deleted_at is null;
create index disks_by_owner on disks (owner_id) where independent and gone_at is null;

-- Copies: a machine whose disks are made from another one's, which stays as it is until they are there. A vApp that is
-- moved is copied first; the one it comes from goes when all of the copy is there.
alter table vms add column copy_of uuid references vms (id);
create index vms_by_copy on vms (copy_of) where copy_of is not null and gone_at is null;
alter table vapps add column moved_from uuid references vapps (id);
create index vapps_by_move on vapps (moved_from) where moved_from is not null and gone_at is null;
