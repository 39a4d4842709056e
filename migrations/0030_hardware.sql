-- What a machine is besides its size, disks and cards, as its template says: model::hardware::Hardware.
alter table vms add column hardware jsonb not null default '{}';

-- Captured: the machine whose disk it is a copy of, which stays as it is until the copy is there.
alter table images add column vm_id uuid references vms (id);
create index images_by_vm on images (vm_id) where vm_id is not null;
