-- Is an image needed on a hub (null: on any), whether its version was deleted or not? Machines that are still to be made of it need it,
-- and those whose disks are still being copied from it. One of which nothing was begun may still go to any hub.
create function image_needed(of_image uuid, on_hub text) returns boolean language sql stable as $$
    select exists (
        select from disks k join vms m on m.id = k.vm_id
        where k.image = 'image/' || of_image and k.gone_at is null and k.deleted_at is null and m.gone_at is null and m.deleted_at is null
          and (m.uid is null or m.obs_state in ('', 'provisioning'))
          and (on_hub is null or m.attempted_at is null or m.hub_id = on_hub))
$$;
create index disks_by_image on disks (image) where gone_at is null;
