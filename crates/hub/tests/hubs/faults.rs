//! What a hub's troubles look like from here.
use crate::world::{OnHub, World, clock, options, place, vm_key, world};
use hub::{
    Client, Clients, Error, Key, Verdict,
    address::Gate,
    client::Circuit,
    error::{Reach, Trust},
    kubeconfig,
    resource::{NAMESPACES, VIRTUAL_MACHINES},
};
use hubsim::Fault;
use std::time::{Duration, Instant};
use uuid::Uuid;

async fn error_under(w: &World, fault: Fault) -> Error {
    w.sim.faults().set(fault, true);
    let told = w.client.get(&NAMESPACES, &Key::global("default")).await;
    w.sim.faults().clear();
    told.expect_err(fault.name())
}

#[tokio::test]
async fn every_fault_has_its_own_error() {
    let w = world().await;
    for (fault, key) in [
        (Fault::Unauthorized, "credentials"),
        (Fault::Forbidden, "forbidden"),
        (Fault::TooManyRequests, "throttled"),
        (Fault::ServerError, "server"),
        (Fault::Refuse, "unreachable"),
        (Fault::BlackHole, "unreachable"),
        (Fault::CertificateChanged, "certificate"),
    ] {
        let e = error_under(&w, fault).await;
        assert_eq!(e.key(), key, "{fault:?}: {e:?}");
        assert!(matches!(e.retry(), Verdict::Retry { .. }), "{e:?}");
        assert!(!e.message().is_empty() && !e.next_step().is_empty());
    }
}

#[tokio::test]
async fn a_hub_that_never_answers_is_given_up_in_time() {
    let w = world().await;
    w.sim.faults().set(Fault::BlackHole, true);
    let start = Instant::now();
    let e = w.client.get(&NAMESPACES, &Key::global("default")).await.expect_err("silent");
    assert!(matches!(e, Error::Unreachable { why: Reach::Timeout, .. }), "{e:?}");
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_dead_hub_is_left_alone_and_found_again() {
    let w = world().await;
    w.client.ping().await.expect("alive");
    assert_eq!(w.client.health().circuit, Circuit::Closed);
    assert!(w.client.health().as_of.is_some());
    w.sim.faults().set(Fault::Refuse, true);
    for _ in 0..3 {
        assert!(w.client.ping().await.is_err());
    }
    assert!(matches!(w.client.health().circuit, Circuit::Open { .. }), "{:?}", w.client.health());
    let start = Instant::now();
    let mut refused_at_once = 0;
    for _ in 0..50 {
        let e = w.client.ping().await.expect_err("down");
        refused_at_once += usize::from(matches!(e, Error::Unreachable { why: Reach::Down, .. }));
    }
    assert!(refused_at_once >= 47, "{refused_at_once}");
    assert!(start.elapsed() < Duration::from_secs(1));
    let last = w.client.health().last_error.expect("an error").error;
    assert!(matches!(last, Error::Unreachable { why: Reach::Closed | Reach::Refused, .. }), "{last:?}");
    assert!(w.client.health().as_of.is_some(), "what is known stays known");
    w.sim.faults().clear();
    let mut back = false;
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        back |= w.client.ping().await.is_ok();
    }
    assert!(back);
    assert_eq!(w.client.health().circuit, Circuit::Closed);
}

#[tokio::test]
async fn of_many_calls_to_a_dead_hub_one_goes_out() {
    let w = world().await;
    w.sim.faults().set(Fault::BlackHole, true);
    let three = futures::future::join_all((0..3).map(|_| w.client.ping())).await;
    assert!(three.iter().all(Result::is_err));
    // long enough for the next probe to be due
    tokio::time::sleep(Duration::from_millis(500)).await;
    let many = futures::future::join_all((0..20).map(|_| w.client.ping())).await;
    let went_out = many.iter().filter(|e| !matches!(e, Err(Error::Unreachable { why: Reach::Down, .. }))).count();
    assert_eq!(went_out, 1, "{many:?}");
}

#[tokio::test]
async fn a_stopped_hub_refuses() {
    let w = world().await;
    let client = w.client.clone();
    w.sim.stop().await;
    let e = client.ping().await.expect_err("stopped");
    assert!(matches!(e, Error::Unreachable { why: Reach::Refused, .. }), "{e:?}");
}

#[tokio::test]
async fn a_certificate_that_is_not_the_kubeconfigs_is_refused_with_its_issuer() {
    let (w, other) = (world().await, world().await);
    let mut credential = w.credential.clone();
    credential.ca_pem = other.credential.ca_pem.clone();
    let client = Client::new(&credential, &Gate::open(), clock(), options()).expect("a client");
    let e = client.ping().await.expect_err("untrusted");
    assert!(matches!(e, Error::Certificate { why: Trust::Untrusted, .. }), "{e:?}");
    assert!(e.message().contains("issued by"), "{e}");

    let mut credential = w.credential.clone();
    credential.tls_server_name = Some("other.example.org".into());
    let client = Client::new(&credential, &Gate::open(), clock(), options()).expect("a client");
    let e = client.ping().await.expect_err("another name");
    assert!(matches!(e, Error::Certificate { why: Trust::NameMismatch, .. }), "{e:?}");

    credential.tls_server_name = Some("localhost".into());
    let client = Client::new(&credential, &Gate::open(), clock(), options()).expect("a client");
    assert!(client.ping().await.is_ok(), "the certificate names localhost too");
}

#[tokio::test]
async fn a_reply_lost_after_a_delete_is_no_harm() {
    let w = world().await;
    w.home().await;
    let made = w.make_vm(10).await.expect("made");
    w.sim.faults().lose_replies(1);
    let how = hub::apply::Propagation::Background;
    assert!(w.client.delete_fenced(&VIRTUAL_MACHINES, &vm_key(10), &made.uid, how).await.is_err());
    let again = w.client.delete_fenced(&VIRTUAL_MACHINES, &vm_key(10), &made.uid, how).await;
    assert_eq!(again, Ok(hub::apply::Deleted::Gone));
}

#[tokio::test]
async fn not_knowing_whether_a_create_worked_is_not_reported_as_a_no() {
    let w = world().await;
    w.home().await;
    w.sim.faults().set(Fault::ServerError, true);
    let e = w.make_vm(10).await.expect_err("500");
    assert!(matches!(e, Error::Server { .. }), "{e:?}");
    w.sim.faults().clear();
    assert!(!w.make_vm(10).await.expect("made").adopted);
    assert_eq!(*place().namespace, *vm_key(10).namespace);
}

#[tokio::test]
async fn clients_are_kept_by_hub_and_made_anew_for_new_credentials() {
    let w = world().await;
    let clients = Clients::new(clock(), options());
    let access = |token: &str| {
        let text = w.sim.kubeconfig().replace(w.sim.token(), token);
        (kubeconfig::parse(&text).expect("good"), Gate::open())
    };
    let (first, second) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let old = clients.get("a", (first, 1), || Ok(access("withdrawn"))).expect("a client");
    assert!(matches!(old.ping().await, Err(Error::Credentials(_))));
    clients.get("a", (first, 1), || panic!("it is kept")).expect("a client");
    let new = clients.get("a", (first, 2), || Ok(access(w.sim.token()))).expect("a client");
    assert!(new.ping().await.is_ok());
    let stale = clients.get("a", (first, 1), || panic!("the newer one will do")).expect("a client");
    assert!(stale.ping().await.is_ok(), "a worker with old news gets the new client");
    let again = clients.get("a", (second, 1), || Ok(access("withdrawn"))).expect("a client");
    assert!(again.ping().await.is_err(), "registered again, it has nothing of the first time");
    assert_eq!(clients.health().len(), 1);
    let failing = clients.get("b", (first, 1), || Err(Error::Credentials("the key is lost".into())));
    assert!(failing.is_err());
    clients.forget("a");
    assert!(clients.health().is_empty());
}
