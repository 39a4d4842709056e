//! A machine's screen. Consoles are not offered yet, and these addresses say so.
use crate::{answer::Answer, ask::Ask, routes::Routes};
use domain::vm;
use model::{Error, Kind, Result};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vApp/vm-{id}/screen", none)
        .post("/api/vApp/vm-{id}/screen/action/acquireTicket", none)
        .post("/api/vApp/vm-{id}/screen/action/acquireMksTicket", none)
}

async fn none(ask: Ask) -> Result<Answer> {
    let vm = vm::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    Err(Error::NotNow(format!("Not now: consoles are not offered yet, so {} has no screen to look at.", vm.name)))
}
