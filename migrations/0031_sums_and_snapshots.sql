-- KubeVirt leaves volumes out of snapshots whose storage can't make any, and says so beforehand, volume by volume.
alter table disks add column obs_no_snapshot text not null default '';        -- why a snapshot would leave it out, in the hub's words

-- The sum that somebody said beforehand their file has.
alter table uploads add column sha256 text not null default '' constraint uploads_sha256_form check (sha256 ~ '^([0-9a-f]{64})?$');
