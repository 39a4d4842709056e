//! Consoles by real WebSockets: tickets that open one once, what goes through them, and what ends them.
use crate::{
    harness::{Client, TestApp},
    stage::Stage,
    vcd::{Program, Said},
};
use domain::{console, user, vm};
use futures::{SinkExt, StreamExt};
use hubsim::Fault;
use model::{
    Action, Right, VappId,
    role::Predefined::{ConsoleAccessOnly, VappUser},
    user::UserSpec,
    vm::{Vm, VmState},
};
use server::{listen, shutdown::Shutdown};
use std::{net::SocketAddr, time::Duration};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message, client::IntoClientRequest, http::HeaderValue},
};

/// Much more than it takes: on a busy machine tests wait for one another.
const PATIENCE: Duration = Duration::from_secs(40);

/// The server on a socket.
async fn listening(app: &TestApp) -> SocketAddr {
    let sockets = listen::open(&"127.0.0.1:0".parse().unwrap(), None).await.unwrap();
    let address = sockets[0].address;
    let (router, limits) = (app.router.clone(), app.state.settings.limits.clone());
    let forever = Shutdown::default();
    tokio::spawn(async move { listen::serve(sockets, router, &limits, forever, Duration::ZERO).await });
    address
}

/// Somebody who looks at a screen, as a program that speaks RFB.
struct Viewer {
    socket: WebSocketStream<TcpStream>,
    came: Vec<u8>,
}

/// The status of a refusal and what it says.
type Refusal = (u16, String);

impl Viewer {
    async fn open(at: SocketAddr, ticket: &str, headers: &[(&'static str, &str)]) -> Result<Viewer, Refusal> {
        let mut request = format!("ws://{at}/console/{ticket}").into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
        }
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("binary"));
        match client_async(request, TcpStream::connect(at).await.unwrap()).await {
            Ok((socket, answer)) => {
                assert_eq!(answer.headers()["sec-websocket-protocol"], "binary");
                Ok(Viewer { socket, came: Vec::new() })
            }
            Err(Error::Http(answer)) => {
                let text = answer.body().as_ref().map(|b| String::from_utf8_lossy(b).into_owned());
                Err((answer.status().as_u16(), text.unwrap_or_default()))
            }
            Err(e) => panic!("{e}"),
        }
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.socket.send(Message::Binary(bytes.to_vec().into())).await.unwrap();
    }

    async fn read(&mut self, length: usize) -> Vec<u8> {
        while self.came.len() < length {
            match timeout(PATIENCE, self.socket.next()).await.expect("something comes").unwrap().unwrap() {
                Message::Binary(bytes) => self.came.extend_from_slice(&bytes),
                Message::Close(why) => panic!("closed: {why:?}"),
                _ => {}
            }
        }
        self.came.drain(..length).collect()
    }

    /// Signs in and asks for the whole picture.
    async fn look(&mut self) -> Vec<u8> {
        assert_eq!(self.read(12).await, b"RFB 003.008\n");
        self.send(b"RFB 003.008\n").await;
        assert_eq!(self.read(2).await, [1, 1]);
        self.send(&[1]).await;
        assert_eq!(self.read(4).await, [0; 4]);
        self.send(&[1]).await;
        let init = self.read(24).await;
        assert_eq!(init[..4], [2, 128, 1, 144], "640 by 400");
        let title = usize::from(init[23]);
        self.read(title).await;
        self.picture(false).await
    }

    async fn picture(&mut self, only_news: bool) -> Vec<u8> {
        self.send(&[3, u8::from(only_news), 0, 0, 0, 0, 2, 128, 1, 144]).await;
        assert_eq!(self.read(16).await[..4], [0, 0, 0, 1]);
        self.read(640 * 400 * 4).await
    }

    /// The code and the words with which it ends.
    async fn end(&mut self) -> (u16, String) {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.expect("it ends") {
                Some(Ok(Message::Close(Some(why)))) => return (why.code.into(), why.reason.to_string()),
                Some(Ok(_)) => {}
                other => panic!("it ended without a word: {other:?}"),
            }
        }
    }
}

struct Consoles {
    stage: Stage,
    at: SocketAddr,
    program: Program,
    vm: Vm,
}

fn between<'a>(text: &'a str, tag: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("<{tag}>")).unwrap_or_else(|| panic!("no {tag} in {text}"));
    rest.split_once('<').unwrap().0
}

impl Consoles {
    /// A machine that runs, and its administrator with a program.
    async fn set() -> Consoles {
        let stage = Stage::set().await;
        stage.app.follow_changes();
        let at = listening(&stage.app).await;
        let vapp = stage.deploy("ubuntu-24.04", "mail").await;
        let vm = stage.running(vapp).await.remove(0);
        let program = Program::sign_in(&stage.app, "acme", "acme-admin").await;
        Consoles { stage, at, program, vm }
    }

    async fn draw(&self) -> Said {
        draw(&self.program, &self.vm).await
    }

    async fn ticket(&self) -> String {
        ticket(&self.program, &self.vm).await
    }

    async fn open(&self) -> Viewer {
        let mut viewer = Viewer::open(self.at, &self.ticket().await, &[]).await.unwrap();
        viewer.look().await;
        viewer
    }

    async fn second(&self, name: &str) -> (VappId, Vm) {
        let vapp = self.stage.deploy("ubuntu-24.04", name).await;
        (vapp, self.stage.running(vapp).await.remove(0))
    }

    async fn stopped(&self) {
        self.stage.until("stopped", async || self.stage.vm(self.vm.id).await.state() == VmState::Stopped).await;
    }

    async fn recorded(&self, action: Action, count: i64) {
        let (id, key) = (self.vm.id, action.key());
        for table in ["audit", "events"] {
            let what = if table == "audit" { "action" } else { "kind" };
            let rows = format!("{table} where {what} = '{key}' and object_id = '{id}'");
            self.stage.until(&rows, async || self.stage.app.db.count(&rows).await == count).await;
        }
    }
}

async fn draw(program: &Program, vm: &Vm) -> Said {
    program.post(&format!("/api/vApp/vm-{}/screen/action/acquireMksTicket", vm.id), "").await
}

async fn ticket(program: &Program, vm: &Vm) -> String {
    between(&draw(program, vm).await.must(200).text, "Ticket").to_owned()
}

#[tokio::test]
async fn a_ticket_opens_a_console_once_and_bytes_go_both_ways() {
    let c = Consoles::set().await;
    let drawn = c.draw().await.must(200);
    assert!(drawn.headers["content-type"].to_str().unwrap().contains("mksTicket+xml"));
    assert_eq!((between(&drawn.text, "Host"), between(&drawn.text, "Port")), ("cloud.example.com", "80"));
    assert_eq!(between(&drawn.text, "Vmx"), c.vm.name);
    let ticket = between(&drawn.text, "Ticket").to_owned();
    // looking at the address is not using it
    let plain = c.program.get(&format!("/console/{ticket}")).await.must(426);
    assert_eq!(plain.headers["upgrade"], "websocket");

    let mut viewer = Viewer::open(c.at, &ticket, &[]).await.unwrap();
    let before = viewer.look().await;
    viewer.send(&[4, 1, 0, 0, 0, 0, 0, b'x']).await;
    assert_ne!(viewer.picture(true).await, before, "the key is shown");
    c.recorded(Action::VmConsole, 1).await;
    let again = Viewer::open(c.at, &ticket, &[]).await.err().unwrap();
    assert_eq!(again.0, 404, "{again:?}");
    c.recorded(Action::VmConsoleClose, 0).await;
    viewer.socket.close(None).await.unwrap();
    c.recorded(Action::VmConsoleClose, 1).await;
    let why = "select after->>'reason' from audit where action = 'vm.console_close'";
    assert_eq!(c.stage.app.db.text(why).await, "It was left.");
    assert_eq!(c.stage.app.db.count("consoles").await, 0);
    let kept = format!("audit where row_to_json(audit)::text like '%{ticket}%'");
    assert_eq!(c.stage.app.db.count(&kept).await, 0, "tickets are nowhere to be read");
}

#[tokio::test]
async fn tickets_that_are_late_made_up_or_anothers_open_nothing() {
    let c = Consoles::set().await;
    let ticket = c.ticket().await;
    c.stage.app.clock.advance(time::Duration::seconds(31));
    let refused = async |ticket: &str| Viewer::open(c.at, ticket, &[]).await.err().unwrap().0;
    assert_eq!(refused(&ticket).await, 404, "it is too late");
    assert_eq!(refused("cst-0000000000000000000000000000000000000000000").await, 404);
    assert_eq!(refused("x").await, 404);
    console::clean(&c.stage.app.domain).await.unwrap();
    assert_eq!(c.stage.app.db.count("consoles").await, 0);

    // another tenant gets the answer that anybody gets for what is not there
    c.stage.app.org("zebra").make().await;
    let stranger = Program::sign_in(&c.stage.app, "zebra", "zebra-admin").await;
    let foreign = draw(&stranger, &c.vm).await.must(403);
    let missing = "/api/vApp/vm-01900000-0000-7000-8000-0000deadbeef/screen/action/acquireMksTicket";
    assert_eq!(foreign.text, stranger.post(missing, "").await.must(403).text);
    let path = format!("/api/vApp/vm-{}/screen", c.vm.id);
    stranger.get(&path).await.must(403);

    // who only has the right gets no further than to what is theirs
    c.stage.app.user(c.stage.acme.id, "watcher", ConsoleAccessOnly.id()).await;
    let watcher = Program::sign_in(&c.stage.app, "acme", "watcher").await;
    draw(&watcher, &c.vm).await.must(403);
}

#[tokio::test]
async fn a_page_of_another_site_opens_nothing_and_programs_and_replicas_do() {
    let c = Consoles::set().await;
    let ticket = c.ticket().await;
    let foreign = Viewer::open(c.at, &ticket, &[("origin", "https://evil.example.com")]).await.err().unwrap();
    assert_eq!(foreign.0, 403, "{foreign:?}");
    let own = format!("http://{}", c.at);
    let mut viewer = Viewer::open(c.at, &ticket, &[("origin", &own)]).await.expect("the ticket is still good");
    viewer.look().await;

    let replica = c.stage.app.replica().await;
    replica.follow_changes();
    let there = listening(&replica).await;
    let mut other = Viewer::open(there, &c.ticket().await, &[]).await.unwrap();
    other.look().await;
    // KubeVirt shows a screen to one viewer: the first one was put out
    assert_eq!(viewer.end().await.0, 1000);
}

#[tokio::test]
async fn it_ends_with_the_session_that_drew_its_ticket() {
    let c = Consoles::set().await;
    let mut viewer = c.open().await;
    let unused = c.ticket().await;
    c.program.delete("/cloudapi/1.0.0/sessions/current").await.must(204);
    let (code, words) = viewer.end().await;
    assert_eq!((code, words.as_str()), (4401, "Your session has ended. Sign in again."));
    assert_eq!(Viewer::open(c.at, &unused, &[]).await.err().unwrap().0, 404);
    c.recorded(Action::VmConsoleClose, 1).await;
}

#[tokio::test]
async fn it_ends_when_the_right_goes() {
    let c = Consoles::set().await;
    let (d, app) = (&c.stage.app.domain, &c.stage.app);
    let alice = app.user(c.stage.acme.id, "alice", VappUser.id()).await;
    app.db.execute(&format!("update vapps set owner_id = '{alice}'")).await;
    app.db.execute(&format!("update vms set owner_id = '{alice}'")).await;
    let program = Program::sign_in(app, "acme", "alice").await;
    let mut viewer = Viewer::open(c.at, &ticket(&program, &c.vm).await, &[]).await.unwrap();
    viewer.look().await;
    let now = user::get(d, &c.stage.admin, alice).await.unwrap();
    let role = app.role(c.stage.acme.id, "less", &[Right::OrgView]).await;
    let less = UserSpec { role, ..UserSpec::from(&now) };
    user::edit(d, &c.stage.admin, alice, now.version, less).await.unwrap();
    let (code, words) = viewer.end().await;
    assert!(code == 4403 && words.contains("vApp: Use Console"), "{code} {words}");
}

#[tokio::test]
async fn a_machine_that_stops_or_is_deleted_takes_its_console_with_it_and_opens_none() {
    let c = Consoles::set().await;
    let (d, admin) = (&c.stage.app.domain, &c.stage.admin);
    let mut viewer = c.open().await;
    vm::power(d, admin, c.vm.id, Action::VmPowerOff).await.unwrap();
    let (code, words) = viewer.end().await;
    assert!(matches!(code, 1000 | 4409), "{code} {words}");
    c.stopped().await;
    let document = c.program.get(&format!("/api/vApp/vm-{}", c.vm.id)).await.must(200);
    assert!(!document.text.contains("screen:"), "{}", document.text);
    let refused = c.draw().await.must(400);
    assert!(refused.text.contains("It does not run, so there is nothing on its screen."), "{}", refused.text);
    let picture = c.program.get(&format!("/api/vApp/vm-{}/screen", c.vm.id)).await.must(400);
    assert!(picture.text.contains("It does not run"), "{}", picture.text);
    let refusals = "audit where action = 'vm.console' and result = 'refused'";
    assert_eq!(c.stage.app.db.count(refusals).await, 1);

    vm::power(d, admin, c.vm.id, Action::VmPowerOn).await.unwrap();
    c.stage.running(c.vm.vapp).await;
    let mut viewer = c.open().await;
    vm::delete(d, admin, c.vm.id).await.unwrap();
    let (code, words) = viewer.end().await;
    assert!(matches!(code, 1000 | 4409), "{code} {words}");
}

#[tokio::test]
async fn links_and_a_picture_are_there_while_it_runs() {
    let c = Consoles::set().await;
    let document = c.program.get(&format!("/api/vApp/vm-{}", c.vm.id)).await.must(200);
    let mks = document.link("screen:acquireMksTicket", "mksTicket+xml").unwrap();
    assert!(mks.ends_with("/screen/action/acquireMksTicket"));
    let thumbnail = document.link("screen:thumbnail", "").unwrap();
    let picture = c.program.get(&thumbnail).await.must(200);
    assert_eq!(picture.headers["content-type"], "image/png");
    assert!(picture.text.contains("PNG") && picture.text.contains("IDAT"));
    let screen = document.link("screen:acquireTicket", "").unwrap();
    let said = c.program.post(&screen, "").await.must(200);
    let start = format!(">mks://cloud.example.com:80/vm-{}?ticket=cst-", c.vm.id);
    assert!(said.text.contains(&start), "{}", said.text);
    let (_, ticket) = said.text.split_once("ticket=").unwrap();
    let mut viewer = Viewer::open(c.at, ticket.split_once('<').unwrap().0, &[]).await.unwrap();
    viewer.look().await;
    // whoever looks is left alone
    let busy = c.program.get(&thumbnail).await.must(400);
    assert!(busy.text.contains("somebody else looks at its screen"), "{}", busy.text);
    viewer.picture(false).await;
}

#[tokio::test]
async fn nobody_has_more_than_two_at_once_and_a_dead_servers_are_closed() {
    let c = Consoles::set().await;
    let ((_, two), (_, three)) = (c.second("two").await, c.second("three").await);
    let early = ticket(&c.program, &three).await;
    let mut first = c.open().await;
    let mut second = Viewer::open(c.at, &ticket(&c.program, &two).await, &[]).await.unwrap();
    second.look().await;
    let refused = draw(&c.program, &three).await.must(400);
    assert!(refused.text.contains("you have 2 consoles open"), "{}", refused.text);
    assert_eq!(Viewer::open(c.at, &early, &[]).await.err().unwrap().0, 404, "drawn before, and one too many now");
    // the same machine once more is no third one
    c.open().await;
    assert_eq!(first.end().await.0, 1000);

    // one whose server died says nothing any more
    let dead = format!("update consoles set alive_at = alive_at - interval '5 minutes' where vm_id = '{}'", two.id);
    c.stage.app.db.execute(&dead).await;
    draw(&c.program, &three).await.must(200);
    console::clean(&c.stage.app.domain).await.unwrap();
    let closed = format!("audit where action = 'vm.console_close' and object_id = '{}' and via = 'by itself'", two.id);
    assert_eq!(c.stage.app.db.count(&closed).await, 1);
}

#[tokio::test]
async fn a_hub_that_refuses_or_never_answers_is_said_so() {
    let c = Consoles::set().await;
    let faults = c.stage.hubs.hub("one").faults();
    // nobody notices before the console does
    c.stage.hubs.kill_controller();
    for fault in [Fault::Refuse, Fault::BlackHole, Fault::Forbidden] {
        let ticket = c.ticket().await;
        faults.set(fault, true);
        let mut viewer = Viewer::open(c.at, &ticket, &[]).await.unwrap();
        let (code, words) = viewer.end().await;
        assert!(code == 4502 && words.contains("Its hub does not answer"), "{fault:?}: {code} {words}");
        let picture = c.program.get(&format!("/api/vApp/vm-{}/screen", c.vm.id)).await.must(400);
        assert!(picture.text.contains("Its hub does not answer"), "{}", picture.text);
        faults.clear();
    }
    assert_eq!(c.stage.app.db.count("consoles").await, 0);
    c.recorded(Action::VmConsole, 0).await;
    // known to be silent, no ticket is given out
    c.stage.app.db.execute("update hubs set state = 'unreachable'").await;
    let refused = c.draw().await.must(400);
    assert!(refused.text.contains("Its hub does not answer"), "{}", refused.text);
}

#[tokio::test]
async fn a_page_draws_a_ticket_that_is_good_in_its_own_browser() {
    let c = Consoles::set().await;
    let browser: Client = c.stage.app.sign_in("acme", "acme-admin").await;
    let path = format!("/tenant/acme/vms/{}/console", c.vm.id);
    browser.get(&path).await.must(200).says("This page needs JavaScript").says("Ctrl-Alt-Del");
    let page = browser.get(&format!("/tenant/acme/vms/{}", c.vm.id)).await.must(200);
    assert!(page.body.contains(&format!("href=\"{path}\"")), "{}", page.body);
    let drawn = async || {
        let page = browser.post(&path, &[]).await.must(200);
        let (_, rest) = page.body.split_once("data-ticket=\"").expect("a ticket");
        rest.split_once('"').unwrap().0.to_owned()
    };
    assert_eq!(Viewer::open(c.at, &drawn().await, &[]).await.err().unwrap().0, 404, "without the cookie");
    let cookie = format!("session={}", browser.cookie("session").unwrap());
    let mut viewer = Viewer::open(c.at, &drawn().await, &[("cookie", &cookie)]).await.unwrap();
    viewer.look().await;
    browser.post("/sign-out", &[]).await;
    assert_eq!(viewer.end().await.0, 4401);
}
