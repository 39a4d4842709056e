-- Networks of organizations, NICs as things of their own, and the addresses that NICs have.

create table networks (
    id           uuid primary key,
    org_id       uuid not null references organizations (id),
    vdc_id       uuid not null references vdcs (id),
    vapp_id      uuid references vapps (id),                 -- isolated inside that vApp; null: of the whole VDC
    name         text not null constraint networks_name_length check (length(name) between 1 and 128),
    description  text not null default '' constraint networks_description_length check (length(description) <= 2000),
    network_type text not null default 'isolated' constraint networks_network_type_known check (network_type in ('isolated')),
    gateway      inet not null constraint networks_gateway_form check (family(gateway) = 4 and masklen(gateway) = 32),
    prefix       smallint not null constraint networks_prefix_range check (prefix between 8 and 30),
    dns          inet[] not null default '{}',
    dns_suffix   text not null default '' constraint networks_dns_suffix_length check (length(dns_suffix) <= 253),
    ranges       jsonb not null default '[]',                -- model::network::IpRange
    dhcp         boolean not null default false,             -- its hubs hand out the addresses
    shared       boolean not null default false,             -- every VDC of the organization may use it
    hub_name     text not null,                              -- its name on hubs, from the id
    version      bigint not null default 1,
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now(),
    updated_by   text not null default '',
    deleted_at   timestamptz,
    gone_at      timestamptz                                 -- nothing of it is left on a hub
);
create unique index networks_name_taken on networks (vdc_id, lower(name)) where deleted_at is null and vapp_id is null;
create unique index networks_vapp_name_taken on networks (vapp_id, lower(name)) where deleted_at is null and vapp_id is not null;
create index networks_by_name on networks (lower(name), id) where gone_at is null and vapp_id is null;
create index networks_by_org_name on networks (org_id, lower(name), id) where gone_at is null and vapp_id is null;
create index networks_by_created on networks (created_at, id) where gone_at is null and vapp_id is null;
create index networks_by_org_created on networks (org_id, created_at, id) where gone_at is null and vapp_id is null;
create index networks_by_vdc on networks (vdc_id) where gone_at is null;
create index networks_by_vapp on networks (vapp_id) where gone_at is null and vapp_id is not null;

-- Networks of the VDC that a vApp is bridged to, whether or not a VM of it is on them.
create table vapp_networks (
    vapp_id    uuid not null references vapps (id),
    network_id uuid not null references networks (id),
    primary key (vapp_id, network_id)
);
create index vapp_networks_by_network on vapp_networks (network_id);

-- A network in a VDC's namespace on a hub.
create table network_places (
    network_id uuid not null references networks (id),
    vdc_id     uuid not null references vdcs (id),
    hub_id     text not null references hubs (id) on delete cascade,
    form       text not null default '' constraint network_places_form_known check (form in ('', 'udn', 'cudn', 'nad')),
    uid        text,                                         -- known once it is made: every later call carries it
    ready_at   timestamptz,
    stale      boolean not null default false,               -- it was made for what the network was before: it goes
    created_at timestamptz not null default now(),
    primary key (network_id, vdc_id, hub_id)
);
create index network_places_by_vdc on network_places (vdc_id, hub_id);

create table nics (
    id         uuid primary key,
    vm_id      uuid not null references vms (id),
    idx        smallint not null constraint nics_index_range check (idx between 0 and 9),
    name       text not null,                                -- of the interface, on the hub: it never changes
    attach     text not null constraint nics_attach_known check (attach in ('vdc', 'none', 'network')),
    network_id uuid references networks (id),
    mode       text not null constraint nics_mode_known check (mode in ('pool', 'manual', 'dhcp', 'none')),
    address    inet,
    mac        text not null default '',                     -- kept for life; empty: the hub chose it
    connected  boolean not null default true,
    is_primary boolean not null default false,
    adapter    text not null default '' constraint nics_adapter_known check (adapter in ('', 'virtio', 'e1000', 'e1000e')),
    removed_at timestamptz,                                  -- not wanted any more; the row goes when its interface is proven to be gone
    constraint nics_network_form check ((attach = 'network') = (network_id is not null))
);
create unique index nics_index_taken on nics (vm_id, idx) where removed_at is null;
create unique index nics_name_taken on nics (vm_id, name);
create unique index nics_mac_taken on nics (mac) where mac <> '';
create unique index nics_one_primary on nics (vm_id) where is_primary and removed_at is null;
create index nics_by_network on nics (network_id) where network_id is not null;

-- Who has which address. A NIC that changes its network has the old one too, until its machine is proven to have left it.
create table addresses (
    network_id uuid not null references networks (id),
    address    inet not null,
    nic_id     uuid not null references nics (id),
    taken_at   timestamptz not null default now(),
    constraint addresses_taken primary key (network_id, address)
);
create index addresses_by_nic on addresses (nic_id);

-- Until now a machine's NICs were all on the network of its VDC.
insert into nics (id, vm_id, idx, name, attach, mode, mac, is_primary)
select gen_random_uuid(), v.id, n.ord - 1, coalesce(nullif(n.nic ->> 'name', ''), 'nic-' || (n.ord - 1)),
       case when n.ord = 1 then 'vdc' else 'none' end, case when n.ord = 1 then 'dhcp' else 'none' end, '', n.ord = 1
from vms v, jsonb_array_elements(v.nics) with ordinality as n (nic, ord)
where v.gone_at is null and n.ord <= 10;
alter table vms drop column nics;
alter table vms add column nics_set boolean not null default false;   -- its NICs were chosen here: the hub is brought to them
alter table vms add column obs_nics jsonb not null default '[]';      -- what the hub says of each: name, mac, ips
