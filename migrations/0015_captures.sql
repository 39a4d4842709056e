-- Templates captured from vApps: their images are copies of disks on one hub, and no file is behind them.
alter table images alter column file_id drop not null;
alter table images add column hub_id text;                   -- captured: the only hub that can have it
alter table images add column taken_from text not null default ''; -- namespace/claim of the disk on that hub
alter table item_versions add column ready_at timestamptz default now(); -- null: its images are still being copied
