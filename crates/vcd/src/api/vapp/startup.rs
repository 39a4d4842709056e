//! In which order the machines of a vApp start.
use super::{Shown, nothing};
use crate::{
    answer::Answer,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, link},
        media,
    },
};
use domain::{recompose, vapp};
use model::{Error, Kind, Result, VmId, vm::Vm};
use std::fmt::Display;
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.get("/api/vApp/vapp-{id}/startupSection", get).put("/api/vApp/vapp-{id}/startupSection", set)
}

pub(crate) fn section(w: &mut Writer, ask: &Ask, shown: &Shown) {
    let href = format!("{}/startupSection/", ask.base().vapp(shown.vapp.id));
    let attributes: [(&str, &dyn Display); 2] = [("vcloud:href", &href), ("vcloud:type", &media::STARTUP)];
    w.el("ovf:StartupSection", &attributes, |w| content(w, &href, &shown.vms));
}

fn content(w: &mut Writer, href: &str, vms: &[Vm]) {
    w.text("ovf:Info", "VApp startup section");
    for vm in vms {
        w.empty(
            "ovf:Item",
            &[
                ("ovf:id", &vm.name),
                ("ovf:order", &vm.start_order),
                ("ovf:startAction", &"powerOn"),
                ("ovf:startDelay", &vm.start_delay_s),
                ("ovf:stopAction", &"powerOff"),
                ("ovf:stopDelay", &0),
            ],
        );
    }
    link(w, "edit", href, media::STARTUP);
}

async fn get(ask: Ask) -> Result<Answer> {
    let (v, vms) = vapp::with_vms(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    let href = format!("{}/startupSection/", ask.base().vapp(v.id));
    let text = document("ovf:StartupSection", &[("vcloud:href", &href), ("vcloud:type", &media::STARTUP)], |w| {
        content(w, &href, &vms);
    });
    Ok(Answer::xml(media::STARTUP, text))
}

async fn set(ask: Ask) -> Result<Answer> {
    let body = ask.xml("StartupSection")?;
    let (v, vms) = vapp::with_vms(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    let one = |item: &Element| -> Result<(VmId, i32, i32)> {
        let name = item.attr("id").unwrap_or_default();
        let vm = vms.iter().find(|vm| vm.name == name && !vm.deleted);
        let vm =
            vm.ok_or_else(|| Error::BadRequest(format!("There is no VM {} in the vApp.", crate::ask::shown(name))))?;
        Ok((
            vm.id,
            item.number("order")?.unwrap_or(vm.start_order),
            item.number("startDelay")?.unwrap_or(vm.start_delay_s),
        ))
    };
    let order = body.all("Item").map(one).collect::<Result<Vec<_>>>()?;
    let changed = |(id, order, delay): &(VmId, i32, i32)| {
        vms.iter().any(|vm| vm.id == *id && (vm.start_order, vm.start_delay_s) != (*order, *delay))
    };
    if order.iter().any(changed) {
        recompose::set_start_order(ask.d(), &ask.actor, v.id, order).await?;
    }
    nothing(&ask, &v).await
}
