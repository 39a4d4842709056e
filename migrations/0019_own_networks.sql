-- What a VDC's own network is on a hub: a user-defined network of its namespace, or the pod network with policies. It is chosen
-- before the namespace is made and stays: a hub takes no primary network into a namespace that was made without one.
alter table places add column own_network boolean not null default false;
