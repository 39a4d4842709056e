//! The client connects to checked addresses only.
use crate::world::{clock, options, world};
use hub::{
    Client, Error,
    address::{AllowList, Gate, Ports, Resolver},
    error::Reach,
    kubeconfig::Host,
};
use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

fn gate(list: &str, resolver: Resolver) -> Gate {
    Gate { allow: Arc::new(list.parse::<AllowList>().expect("a list")), ports: Ports::any(), resolver }
}

#[tokio::test]
async fn this_machine_is_not_called_unless_it_is_listed() {
    let w = world().await;
    let refused = Client::new(&w.credential, &Gate::new(AllowList::default(), Ports::any()), clock(), options());
    assert!(matches!(refused, Err(Error::Unreachable { why: Reach::NotAllowed, .. })), "{refused:?}");
    let listed =
        Client::new(&w.credential, &gate("127.0.0.1", Resolver::system()), clock(), options()).expect("listed");
    assert!(listed.ping().await.is_ok());
    let ports = Ports::default();
    let at_no_port =
        Client::new(&w.credential, &Gate { ports, ..gate("127.0.0.1", Resolver::system()) }, clock(), options());
    assert!(matches!(at_no_port, Err(Error::Unreachable { why: Reach::NotAllowed, .. })), "{at_no_port:?}");
}

#[tokio::test]
async fn a_name_that_moves_to_another_address_is_not_followed_there() {
    let w = world().await;
    let mut credential = w.credential.clone();
    credential.server.host = Host::Name("hub.example.org".into());
    credential.tls_server_name = Some("localhost".into());
    let moved = Arc::new(AtomicBool::new(false));
    let resolver = Resolver::from_fn({
        let moved = moved.clone();
        move |_| {
            let good: IpAddr = [127, 0, 0, 1].into();
            Ok(if moved.load(Ordering::SeqCst) { vec![good, [169, 254, 169, 254].into()] } else { vec![good] })
        }
    });
    let gate = gate("hub.example.org, 127.0.0.1", resolver);
    let client = Client::new(&credential, &gate, clock(), options()).expect("a client");
    assert!(client.ping().await.is_ok());
    moved.store(true, Ordering::SeqCst);
    // the open connection goes; the next lookup answers something else
    w.sim.faults().set(hubsim::Fault::Refuse, true);
    let _ = client.ping().await;
    w.sim.faults().clear();
    let e = client.ping().await.expect_err("moved");
    assert!(matches!(e, Error::Unreachable { why: Reach::NotAllowed, .. }), "{e:?}");
}

#[tokio::test]
async fn a_name_nobody_knows_is_said_to_be_unknown() {
    let w = world().await;
    let mut credential = w.credential.clone();
    credential.server.host = Host::Name("hub.example.org".into());
    let resolver = Resolver::from_fn(|_| Err(std::io::Error::other("no such name")));
    let client = Client::new(&credential, &gate("", resolver), clock(), options()).expect("a client");
    let e = client.ping().await.expect_err("unknown");
    assert!(matches!(e, Error::Unreachable { why: Reach::Dns, .. }), "{e:?}");
}
