-- A VM that moves to another VDC is copied there, and the original goes when all of it has come.
alter table vms add column moved_from uuid references vms (id);
create index vms_by_move on vms (moved_from) where moved_from is not null and gone_at is null;
-- it is to run once it has moved
alter table vms add column starts_moved boolean not null default false;
