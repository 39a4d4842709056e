-- Consoles of VMs: a ticket that opens one once and soon, and then somebody at a screen. A row goes when its console closes.
create table consoles (
    id           uuid primary key,
    ticket_hash  bytea not null,                             -- SHA-256 of the ticket
    vm_id        uuid not null references vms (id) on delete cascade,
    user_id      uuid not null references users (id) on delete cascade,
    session_hash bytea not null,                             -- as in sessions: the console lasts no longer than that one
    by_browser   boolean not null,                           -- drawn by a page, so whoever uses it has that session's cookie
    created_at   timestamptz not null,
    expires_at   timestamptz not null,                       -- of the ticket, if nobody uses it
    opened_at    timestamptz,
    alive_at     timestamptz                                 -- said by the server that carries it, every some seconds
);
create unique index consoles_ticket on consoles (ticket_hash);
create index consoles_by_user on consoles (user_id);
