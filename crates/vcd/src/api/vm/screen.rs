//! A machine's screen: a picture of it, and tickets for its console. A ticket opens `wss://HOST:PORT/console/TICKET` once, within
//! half a minute: a WebSocket (`binary`) that carries RFB, so that noVNC and other viewers of VNC can use it.
use crate::{
    answer::Answer,
    ask::Ask,
    routes::Routes,
    wire::{
        doc::{action, document, link},
        media,
    },
};
use domain::console::{self, Drawn};
use model::{Action, Kind, Result};
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vApp/vm-{id}/screen", picture)
        .post("/api/vApp/vm-{id}/screen/action/acquireTicket", ticket)
        .post("/api/vApp/vm-{id}/screen/action/acquireMksTicket", mks_ticket)
}

pub(super) fn links(w: &mut Writer, vm: &str, may: impl Fn(Action) -> bool) {
    if may(Action::VmScreen) {
        action(w, "screen:thumbnail", format_args!("{vm}/screen"));
    }
    if may(Action::VmConsole) {
        action(w, "screen:acquireTicket", format_args!("{vm}/screen/action/acquireTicket"));
        link(w, "screen:acquireMksTicket", format_args!("{vm}/screen/action/acquireMksTicket"), media::MKS_TICKET);
    }
}

async fn picture(ask: Ask) -> Result<Answer> {
    Ok(Answer::png(console::picture(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?))
}

async fn draw(ask: &Ask) -> Result<Drawn> {
    console::acquire(ask.d(), &ask.actor, &ask.session, ask.id(Kind::Vm)?).await
}

/// In the form that VCD gives it: `mks://HOST:PORT/vm-ID?ticket=TICKET`.
async fn ticket(ask: Ask) -> Result<Answer> {
    let drawn = draw(&ask).await?;
    let (host, port) = ask.base().host_and_port();
    let text = format!("mks://{host}:{port}/vm-{}?ticket={}", drawn.vm.id, drawn.ticket);
    Ok(Answer::xml(media::SCREEN_TICKET, document("ScreenTicket", &[], |w| w.words(&text))))
}

async fn mks_ticket(ask: Ask) -> Result<Answer> {
    let drawn = draw(&ask).await?;
    let (host, port) = ask.base().host_and_port();
    let text = document("MksTicket", &[], |w| {
        w.text("Host", host);
        // a file on vSphere; clients show it and nothing more
        w.text("Vmx", &drawn.vm.name);
        w.text("Ticket", &drawn.ticket);
        w.text("Port", port);
    });
    Ok(Answer::xml(media::MKS_TICKET, text))
}
