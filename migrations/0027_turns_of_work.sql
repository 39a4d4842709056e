-- What is due is found without looking at all that waits: of each organization on each hub the oldest pieces, and what is held now.
drop index work_by_time;
drop index work_by_hub;
create index work_by_turn on work (hub_id, org_id, not_before, id) where failing <> 'failed';
create index work_held on work (hub_id) where lease_until > '-infinity';

-- No two claims have the same number, not even of a row that was done and came again: a worker that slept would take the later one for its own.
create sequence work_epochs;
select setval('work_epochs', greatest((select max(lease_epoch) from work), 0) + 1);

-- Machines of a vApp are asked for whether they are deleted or not.
drop index vms_by_vapp;
create index vms_by_vapp on vms (vapp_id);
