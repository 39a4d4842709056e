-- What VCD's clients set on organizations and VDCs and find again, where there is nothing like it here: model::org::OrgBesides,
-- model::vdc::VdcBesides.
alter table organizations add column besides jsonb not null default '{}';
alter table vdcs add column besides jsonb not null default '{}';
