-- A role that only the provider's users can have is not shown to tenants.
alter table roles add column for_tenants boolean not null default true;
