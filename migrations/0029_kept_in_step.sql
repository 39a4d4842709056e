-- What is on hubs is looked at again now and then: who changes it by hand is told of, and it is put back.
alter table places
    add column looked_at timestamptz not null default now(),
    add column look      boolean not null default false,       -- it is to be looked at, whatever was applied
    add column shape     text not null default '',             -- a hash of what was applied: what differs from the same shape was changed by hand
    add column drift     text not null default '';             -- what was found and said, until it is put back
create index places_by_look on places (looked_at) where gone_at is null and ready_at is not null;

-- Names reach the hub apart from what is asked of a machine: a new name of its organization must not power it on.
alter table vdcs add column named text not null default '';    -- the names that its machines were told last
update vdcs d set named = o.name || '/' || d.name from organizations o where o.id = d.org_id;
alter table vms
    add column names         bigint not null default 0,
    add column names_applied bigint not null default 0;

-- When something of it was last seen to go on: such a task is waited for beyond its deadline.
alter table tasks add column moved_at timestamptz;

-- A problem from before somebody's wish is not an answer to it.
alter table hub_images add column problem_at timestamptz;
