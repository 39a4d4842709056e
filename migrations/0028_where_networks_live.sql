-- An isolated network lives on one hub: where the machines on it are, and the vApps that are bridged to it. Nothing is written down
-- for that, so it is free again when the last of them is gone. Networks that are on several hubs from before live on the one of their
-- oldest machine. Whoever places a vApp holds the rows of its networks meanwhile.
create function network_home(network uuid, apart_from uuid) returns text language sql stable as $$
    select u.hub from (
        select case when v.attempted_at is null then a.hub_id else v.hub_id end as hub, v.created_at, v.id
        from vms v join vapps a on a.id = v.vapp_id
        where v.gone_at is null and v.vapp_id is distinct from apart_from
          and v.id in (select c.vm_id from nics c where c.network_id = network
                       union select c.vm_id from addresses x join nics c on c.id = x.nic_id where x.network_id = network)
        union all
        select a.hub_id, a.created_at, a.id from vapp_networks w join vapps a on a.id = w.vapp_id
        where w.network_id = network and a.gone_at is null and a.id is distinct from apart_from
    ) u where u.hub is not null order by u.created_at, u.id limit 1
$$;

-- A VDC on a hub has nothing there but its namespace: no VM, no disk of its own, no vApp that is on its way out or that a template
-- made. An empty vApp is no more than a row here.
create function place_is_empty(vdc uuid, hub text) returns boolean language sql stable as $$
    select not exists (select from vms v where v.vdc_id = vdc and v.hub_id = hub and v.gone_at is null)
       and not exists (select from disks k where k.vdc_id = vdc and k.hub_id = hub and k.gone_at is null and k.independent)
       and not exists (select from vapps a where a.vdc_id = vdc and a.hub_id = hub and a.gone_at is null
                       and (a.deleted_at is not null or a.instance_of is not null
                            or exists (select from vms v where v.vapp_id = a.id and v.gone_at is null)))
$$;

-- Which VDCs name a hub.
create index vdcs_by_hubs on vdcs using gin (hubs) where deleted_at is null and hubs <> '{}';

-- Gone because its hub was given up, and not proven to be: if it comes back it is nobody's, and not removed.
alter table vms add column lost boolean not null default false;
alter table vapps add column lost boolean not null default false;
alter table disks add column lost boolean not null default false;
