-- What VCD's clients keep with vApps and templates.

alter table vapps
    -- Powered on while it has no VMs: nothing runs, and clients expect it to be on.
    add column empty_on boolean not null default false,
    -- Its product sections, sealed.
    add column properties bytea;

-- Are guests of VMs made from it told what they are? As whoever captured it said.
alter table templates add column customize boolean not null default true;
