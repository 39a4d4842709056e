//! After a run that may leave machines in trouble: what is left is deleted, as people would, and must be gone without a
//! trace. So the next run on the stage starts from order.
use crate::{
    operation::Subject,
    oracle::Finding,
    run::{PATIENCE, rest},
    stage::Stage,
};
use domain::{disk, item, network, vapp, vdc};
use model::{Action, DiskId, NetworkId, TemplateId, VappId};

pub(crate) async fn up(stage: &Stage, harmed: bool, subject: &Subject) -> Vec<Finding> {
    if !harmed {
        return Vec::new();
    }
    away(stage, subject).await;
    rest(stage, false, PATIENCE).await
}

/// Everything in its VDC and the VDC are deleted; what is anybody's but the stage's own, too.
pub(crate) async fn away(stage: &Stage, subject: &Subject) {
    let db = &stage.app.db;
    // what is copied or moved stays until the copy, which is younger, is given up
    let vapp = subject.vapp.map(|v| format!("'{v}'")).unwrap_or_default();
    let sql = format!(
        "select coalesce(string_agg(id::text, ' ' order by id desc), '') from vapps where deleted_at is null
         and (vdc_id = '{}' or id = any(array[{vapp}]::uuid[]) or moved_from = any(array[{vapp}]::uuid[])
              or id in (select c.vapp_id from vms c join vms o on o.id = c.moved_from where o.vapp_id = any(array[{vapp}]::uuid[]))) and name <> 'steady'",
        subject.vdc,
    );
    for id in db.text(&sql).await.split_whitespace() {
        let asked = vapp::delete(&stage.app.domain, &stage.admin, VappId(id.parse().unwrap()));
        stage.ask(Action::VappDelete, asked).await.unwrap();
    }
    let prod = stage.prod().await;
    if subject.vdc != prod {
        stage
            .until("a VDC without machines", async || {
                db.count(&format!("vms where vdc_id = '{}' and gone_at is null", subject.vdc)).await == 0
            })
            .await;
        let sql = format!(
            "select coalesce(string_agg(id::text, ' '), '') from networks where deleted_at is null and vdc_id = '{}'",
            subject.vdc
        );
        for id in db.text(&sql).await.split_whitespace() {
            let asked = network::delete(&stage.app.domain, &stage.admin, NetworkId(id.parse().unwrap()));
            stage.ask(Action::NetworkDelete, asked).await.unwrap();
        }
        let sql = format!(
            "select coalesce(string_agg(id::text, ' '), '') from disks where independent and deleted_at is null and vdc_id = '{}'",
            subject.vdc
        );
        for id in db.text(&sql).await.split_whitespace() {
            let asked = disk::delete(&stage.app.domain, &stage.admin, DiskId(id.parse().unwrap()));
            stage.ask(Action::DiskDelete, asked).await.unwrap();
        }
        let left = format!("disks where independent and vdc_id = '{}' and gone_at is null", subject.vdc);
        stage.until("a VDC without disks", async || db.count(&left).await == 0).await;
        let left = format!("networks where vdc_id = '{}' and gone_at is null", subject.vdc);
        stage.until("a VDC without networks", async || db.count(&left).await == 0).await;
        if db.count(&format!("vdcs where id = '{}' and deleted_at is null", subject.vdc)).await == 1 {
            let asked = vdc::delete(&stage.app.domain, &stage.admin, subject.vdc);
            stage.ask(Action::VdcDelete, asked).await.unwrap();
        }
    }
    let sql = "select coalesce(string_agg(t.id::text, ' '), '') from templates t join catalogs c on c.id = t.catalog_id
        where c.name = 'own' and t.deleted_at is null and not exists (select from disks k join vms v on v.id = k.vm_id
              where k.media_id = t.id and k.gone_at is null and v.deleted_at is null)";
    for id in db.text(sql).await.split_whitespace() {
        let id = TemplateId(id.parse().unwrap());
        // its VM is still going: it is free then
        let asked = async || stage.ask(Action::TemplateDelete, item::delete(&stage.app.domain, &stage.admin, id)).await;
        stage.until("an item in no VM", async || asked().await.is_ok()).await;
    }
    // those that failed did so for a reason, and are over
    db.execute("update tasks set status = 'aborted' where status = 'error'").await;
}
