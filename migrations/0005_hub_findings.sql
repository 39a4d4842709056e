-- All that the last look found on a hub while it answered: versions, kinds, features, storage classes (hub::check::Report).
alter table hubs add column found jsonb not null default '{}';
