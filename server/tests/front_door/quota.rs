//! Quota: whatever comes at once, no limit is passed and what is in use is the sum of what was taken.
use crate::harness::{TestApp, TestOrg};
use domain::quota;
use futures::future::join_all;
use model::{
    Action, Actor, Error, UserId, VdcId,
    quota::{Amount, Limits, Measure},
    role::Predefined::*,
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use store::Record;

/// What an amount is taken from besides the organization.
type Holder = (VdcId, Option<UserId>);

/// Takes or, with `back`, gives back; everything in a transaction of its own, as whoever makes machines does.
async fn book(
    app: &TestApp,
    operator: &Actor,
    org: &TestOrg,
    to: Holder,
    ask: &Amount,
    back: bool,
) -> Result<(), Error> {
    let mut tx = app.domain.store.write(operator).await?;
    if back {
        quota::release(&mut tx, to.0, to.1, ask).await?;
    } else {
        quota::reserve(&mut tx, to.0, to.1, ask).await?;
    }
    tx.commit(Record::new(Action::VdcEdit, org.id, to.0, "quota")).await.map(|_| ())
}

async fn used(app: &TestApp, table: &str, id: impl std::fmt::Display) -> Amount {
    let sql = format!(
        "select concat_ws(' ', vms_used, cpus_used, memory_used_mb, storage_used_mb) from {table} where id = '{id}'"
    );
    let numbers: Vec<i64> = app.db.text(&sql).await.split(' ').map(|n| n.parse().unwrap()).collect();
    Amount { vms: numbers[0], cpus: numbers[1], memory_mb: numbers[2], storage_mb: numbers[3] }
}

fn plus(a: Amount, b: &Amount) -> Amount {
    Amount {
        vms: a.vms + b.vms,
        cpus: a.cpus + b.cpus,
        memory_mb: a.memory_mb + b.memory_mb,
        storage_mb: a.storage_mb + b.storage_mb,
    }
}

fn within(used: &Amount, limits: &Limits) -> bool {
    Measure::ALL.into_iter().all(|m| used.get(m) >= 0 && limits.get(m).is_none_or(|limit| used.get(m) <= limit))
}

/// Several people make and remove machines in two VDCs for a while, at once.
async fn storm(seed: u64) {
    let app = TestApp::start().await;
    let org_limits = Limits { vms: Some(14), cpus: Some(60), memory_mb: None, storage_mb: Some(900) };
    let vdc_limits = Limits { vms: Some(9), cpus: None, memory_mb: Some(700), storage_mb: Some(600) };
    let user_limits = Limits { vms: Some(6), cpus: Some(30), memory_mb: Some(500), storage_mb: None };
    let acme = app
        .org("acme")
        .with(|spec| spec.limits = org_limits)
        .vdc("one")
        .vdc("two")
        .user("alice", VappUser)
        .user("bob", VappUser)
        .make()
        .await;
    let set = async |table: &str, limits: &Limits| {
        let number = |n: Option<i64>| n.map_or("null".to_owned(), |n| n.to_string());
        let [vms, cpus, memory, storage] = Measure::ALL.map(|m| number(limits.get(m)));
        app.db
            .execute(&format!(
                "update {table} set vm_limit = {vms}, cpu_limit = {cpus}, memory_limit_mb = {memory}, storage_limit_mb = {storage} where org_id = '{}'",
                acme.id
            ))
            .await;
    };
    set("vdcs", &vdc_limits).await;
    set("users", &user_limits).await;
    let operator = app.operator().await;
    let (vdcs, users) = ([acme.vdc("one"), acme.vdc("two")], [acme.user("alice"), acme.user("bob")]);

    let workers = (0..6).map(|worker| {
        let (app, acme, operator) = (&app, &acme, &operator);
        async move {
            let mut rng = StdRng::seed_from_u64(seed * 100 + worker);
            let mut held: Vec<(Holder, Amount)> = vec![];
            let mut refused = 0;
            for _ in 0..25 {
                if !held.is_empty() && rng.random_bool(0.4) {
                    let (to, amount) = held.swap_remove(rng.random_range(0..held.len()));
                    book(app, operator, acme, to, &amount, true).await.unwrap();
                    continue;
                }
                let amount = Amount {
                    vms: rng.random_range(0..3),
                    cpus: rng.random_range(0..9),
                    memory_mb: rng.random_range(0..160),
                    storage_mb: rng.random_range(0..200),
                };
                let to = (vdcs[rng.random_range(0..2)], rng.random_bool(0.8).then(|| users[rng.random_range(0..2)]));
                match book(app, operator, acme, to, &amount, false).await {
                    Ok(()) => held.push((to, amount)),
                    Err(Error::OverQuota(_)) => refused += 1,
                    Err(e) => panic!("{e:?}"),
                }
                assert!(within(&used(app, "organizations", acme.id).await, &org_limits));
            }
            (held, refused)
        }
    });
    let results = join_all(workers).await;
    assert!(results.iter().map(|(_, refused)| refused).sum::<i32>() > 0, "the limits were never met");
    let held: Vec<_> = results.into_iter().flat_map(|(held, _)| held).collect();
    let sum = |fits: &dyn Fn(&Holder) -> bool| {
        held.iter().filter(|(to, _)| fits(to)).fold(Amount::default(), |sum, (_, amount)| plus(sum, amount))
    };
    assert_eq!(used(&app, "organizations", acme.id).await, sum(&|_| true));
    for vdc in vdcs {
        let now = used(&app, "vdcs", vdc).await;
        assert_eq!(now, sum(&|to| to.0 == vdc));
        assert!(within(&now, &vdc_limits));
    }
    for user in users {
        let now = used(&app, "users", user).await;
        assert_eq!(now, sum(&|to| to.1 == Some(user)));
        assert!(within(&now, &user_limits));
    }
}

#[tokio::test]
async fn a_storm_of_takers_and_givers_never_passes_a_limit_and_ends_at_the_sum() {
    storm(1).await;
}

#[tokio::test]
async fn another_storm() {
    storm(2).await;
}

#[tokio::test]
async fn who_is_refused_learns_which_limit_and_what_is_left() {
    let app = TestApp::start().await;
    let acme = app.org("acme").with(|spec| spec.limits.cpus = Some(8)).vdc("prod").make().await;
    let operator = app.operator().await;
    let to = (acme.vdc("prod"), None);
    let ask = |cpus| Amount { cpus, ..Amount::default() };
    book(&app, &operator, &acme, to, &ask(6), false).await.unwrap();
    let Err(Error::OverQuota(said)) = book(&app, &operator, &acme, to, &ask(3), false).await else {
        panic!("too much")
    };
    assert!(said.message.contains("organization acme") && said.message.contains('2'), "{said:?}");
    // nothing was taken anywhere
    assert_eq!(used(&app, "vdcs", acme.vdc("prod")).await, ask(6));
}

#[tokio::test]
async fn giving_back_is_possible_after_a_limit_was_lowered() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let operator = app.operator().await;
    let (to, ask) = ((acme.vdc("prod"), None), Amount { vms: 4, ..Amount::default() });
    book(&app, &operator, &acme, to, &ask, false).await.unwrap();
    app.db.execute("update vdcs set vm_limit = 1").await;
    let one = Amount { vms: 1, ..Amount::default() };
    assert!(matches!(book(&app, &operator, &acme, to, &one, false).await, Err(Error::OverQuota(_))));
    book(&app, &operator, &acme, to, &one, true).await.unwrap();
    assert_eq!(used(&app, "organizations", acme.id).await.vms, 3);
    // more than was taken can't be given back
    assert!(book(&app, &operator, &acme, to, &ask, true).await.is_err());
    assert_eq!(used(&app, "organizations", acme.id).await.vms, 3);
}
