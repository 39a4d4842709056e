-- Images: uploads on their way into a catalog, versions of what is in it, and copies of images on hubs.

-- What an item of a catalog is: machines to deploy, or a disc to put into one.
alter table templates add column kind text not null default 'template' constraint templates_kind_known check (kind in ('template', 'media'));
-- Who brought it; empty: it came from hubs.
alter table templates add column uploaded_by text not null default '';
-- Counts changes of what is in a catalog; `version` counts those of the catalog itself.
alter table catalogs add column contents bigint not null default 1;

create table uploads (
    id          uuid primary key,
    org_id      uuid not null references organizations (id),
    template_id uuid not null references templates (id),      -- what it becomes a version of
    user_id     uuid references users (id),
    user_name   text not null default '',
    link        text not null unique,                         -- what the transfer URL carries, random
    note        text not null default '' constraint uploads_note_length check (length(note) <= 2000),
    state       text not null default 'open' constraint uploads_state_known check (state in ('open', 'checking', 'done', 'failed', 'cancelled')),
    problem     text not null default '',
    created_at  timestamptz not null default now(),
    touched_at  timestamptz not null default now(),           -- when a byte last came
    ends_at     timestamptz not null                          -- the link is of no use after that
);
create index uploads_by_template on uploads (template_id, created_at);
create index uploads_open on uploads (touched_at) where state = 'open';

-- A file in the transfer area, under its id.
create table upload_files (
    id         uuid primary key,
    upload_id  uuid not null references uploads (id),
    name       text not null constraint upload_files_name_length check (length(name) between 1 and 255),
    size       bigint not null constraint upload_files_size_range check (size > 0),
    received   bigint not null default 0 constraint upload_files_received_range check (received between 0 and size),
    sha256     text not null default '',                      -- what the sender said it would be
    holder     uuid,                                          -- whoever writes a part of it now
    held_until timestamptz not null default '-infinity',
    created_at timestamptz not null default now(),
    removed_at timestamptz
);
create unique index upload_files_name_taken on upload_files (upload_id, name);
create index upload_files_there on upload_files (upload_id) where removed_at is null;

create table item_versions (
    id          uuid primary key,
    template_id uuid not null references templates (id),
    number      integer not null,
    note        text not null default '',
    os          text not null default '',
    vms         jsonb not null default '[]',                  -- model::template::TemplateVm
    size        bigint not null,                              -- of its files, in bytes
    created_at  timestamptz not null default now(),
    created_by  text not null default '',
    deleted_at  timestamptz
);
create unique index item_versions_number_taken on item_versions (template_id, number);

-- A disk or disc of a version: a part of a file in the transfer area.
create table images (
    id           uuid primary key,
    version_id   uuid not null references item_versions (id),
    file_id      uuid not null references upload_files (id),
    name         text not null,
    position     bigint not null,
    size         bigint not null,
    virtual_size bigint not null,
    format       text not null,
    sha256       text not null
);
create index images_by_version on images (version_id);
create index images_by_file on images (file_id);

-- An image on a hub: made when something there first needs it.
create table hub_images (
    id          uuid primary key,
    image_id    uuid not null references images (id),
    hub_id      text not null references hubs (id) on delete cascade,
    uid         text,                                         -- of its DataVolume
    sent        bigint not null default 0,
    ready_at    timestamptz,
    problem     text not null default '',
    unwanted_at timestamptz,                                  -- to be removed
    created_at  timestamptz not null default now(),
    constraint hub_images_once unique (image_id, hub_id)
);
create index hub_images_by_hub on hub_images (hub_id);
