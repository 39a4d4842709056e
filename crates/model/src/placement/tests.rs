use super::*;

fn hub(id: &str, capabilities: &[Capability]) -> Candidate {
    Candidate {
        id: id.into(),
        capabilities: capabilities.to_vec(),
        offers: capabilities.to_vec(),
        state: HubState::Ready,
        cordoned: false,
        is_default: false,
        region: "eu".into(),
        zone: String::new(),
        cpus_capacity: Some(10),
        memory_capacity_mb: Some(64 * 1024),
        cpus_used: 0,
        memory_used_mb: 0,
        has_template: true,
        lacks: Vec::new(),
    }
}

fn wish() -> Wish {
    Wish { capability: Some(Capability::VirtualMachines), cpus: 2, memory_mb: 4096, ..Wish::default() }
}

const VMS: &[Capability] = &[Capability::VirtualMachines];

#[test]
fn a_hub_of_the_wrong_kind_is_never_taken() {
    let hubs = [hub("c", &[Capability::Clusters]), hub("v", VMS)];
    let placed = place(&wish(), &hubs);
    assert_eq!(placed.hub, Some("v".into()));
    assert_eq!(placed.refused[0].why, "It is not open for virtualmachines.");
    let none = place(&wish(), &hubs[..1]);
    assert_eq!((none.hub, none.because.as_str()), (None, "No hub with virtualmachine capability found"));
}

#[test]
fn each_refusal_says_why() {
    let with = |change: fn(&mut Candidate)| {
        let mut one = hub("a", VMS);
        change(&mut one);
        place(&Wish { region: "eu".into(), ..wish() }, &[one]).refused.pop().map(|r| r.why).unwrap_or_default()
    };
    assert_eq!(with(|_| ()), "");
    assert!(with(|h| h.cordoned = true).contains("cordoned"));
    assert!(with(|h| h.state = HubState::Unreachable).contains("can't be reached"));
    assert!(with(|h| h.offers.clear()).contains("Its checks say what is missing"));
    assert!(with(|h| h.region = String::new()).contains("Its region is none"));
    assert!(with(|h| h.cpus_used = 99).contains("room for 1"));
    assert!(with(|h| h.memory_used_mb = 63 * 1024).contains("4 GB of memory are needed, and it has room for 1"));
    assert!(with(|h| h.has_template = false).contains("template"));
    let lack = with(|h| h.lacks = vec![Lack::Class { policy: "gold".into(), class: "fast".into() }]);
    assert_eq!(lack, "It has not got the storage class fast of the policy gold.");
}

#[test]
fn a_hub_whose_checks_found_something_comes_second_and_that_is_the_reason_given() {
    let (mut ailing, mut full) = (hub("a", VMS), hub("b", VMS));
    ailing.state = HubState::Degraded;
    full.cpus_used = 50;
    let placed = place(&wish(), &[ailing.clone(), full.clone()]);
    assert_eq!(
        (placed.hub, placed.because.as_str()),
        (Some("b".into()), "It is the only one whose checks found nothing.")
    );
    assert_eq!(placed.refused[0].why, "It fits too, and its checks found something.");
    let placed = place(&wish(), &[ailing, full, hub("c", VMS)]);
    assert_eq!((placed.hub, placed.because.as_str()), (Some("c".into()), "It has the most room."));
}

#[test]
fn what_is_bound_to_a_hub_stays_there_even_if_that_hub_is_down() {
    let mut down = hub("a", VMS);
    down.state = HubState::Unreachable;
    down.cordoned = true;
    let wish = Wish { bound_to: vec!["a".into()], ..wish() };
    assert_eq!(place(&wish, &[down, hub("b", VMS)]).hub, Some("a".into()));
}

#[test]
fn what_was_found_waits_until_every_hub_was_asked() {
    let mut silent = hub("b", VMS);
    silent.state = HubState::Unreachable;
    let wish = Wish { bound_to: vec!["a".into()], ..wish() };
    let placed = place(&wish, &[hub("a", VMS), silent.clone()]);
    assert_eq!((placed.hub, placed.refused.len()), (None, 2));
    assert!(placed.because.contains("It goes on when all of them answer"), "{}", placed.because);
    silent.capabilities = vec![Capability::Clusters];
    assert_eq!(place(&wish, &[hub("a", VMS), silent]).hub, Some("a".into()), "that one can't have it");
}

#[test]
fn what_stands_on_several_hubs_goes_to_none_before_somebody_chooses() {
    let wish = Wish { bound_to: vec!["a".into(), "b".into()], ..wish() };
    let placed = place(&wish, &[hub("a", VMS), hub("b", VMS), hub("c", VMS)]);
    assert_eq!(placed.hub, None);
    assert!(placed.refused[0].why.contains("here and on other hubs: delete what is not wanted"), "{placed:?}");
    assert!(placed.refused[2].why.contains("on other hubs"), "{placed:?}");
}

fn tied(hub: &str) -> Wish {
    Wish { ties: vec![Tie { hub: hub.into(), to: TiedTo::Network("back".into()) }], ..wish() }
}

#[test]
fn what_is_tied_to_a_hub_goes_there_if_it_fits_and_nowhere_else() {
    let (mut a, b) = (hub("a", VMS), hub("b", VMS));
    let placed = place(&tied("a"), &[a.clone(), b.clone()]);
    assert_eq!((placed.hub, placed.because.as_str()), (Some("a".into()), "The network back lives there."));
    assert_eq!(placed.refused[0].why, "The network back lives on a.");
    let (hubs, avoid) = (vec!["b".into()], vec!["a".into()]);
    for wish in [Wish { hubs, ..tied("a") }, Wish { avoid, ..tied("a") }, Wish { region: "us".into(), ..tied("a") }] {
        let placed = place(&wish, &[a.clone(), b.clone()]);
        assert_eq!(placed.hub, None, "{wish:?}");
        assert_eq!(placed.because, "No hub with virtualmachine capability found where the network back lives");
    }
    a.cordoned = true;
    let placed = place(&tied("a"), &[a.clone(), b.clone()]);
    assert_eq!((placed.hub, placed.refused[0].why.as_str()), (None, "It is cordoned: nothing new goes there."));
    let mut apart = tied("a");
    apart.ties.push(Tie { hub: "b".into(), to: TiedTo::Capture });
    let placed = place(&apart, &[hub("a", VMS), b]);
    assert_eq!(placed.hub, None);
    assert!(placed.because.contains("Take one of them from it"), "{}", placed.because);
}

#[test]
fn only_what_no_hub_will_ever_take_is_refused_before_it_is_tried() {
    let never = |wish: &Wish, hubs: &[Candidate]| super::never(wish, hubs, "prod");
    let mut down = hub("a", VMS);
    (down.state, down.cordoned, down.cpus_used) = (HubState::Unreachable, true, 99);
    down.offers.clear();
    assert_eq!(never(&wish(), &[down]), None, "that may pass");
    assert_eq!(never(&wish(), &[]), None, "one may be registered");
    let other = hub("c", &[Capability::Clusters]);
    assert_eq!(never(&wish(), std::slice::from_ref(&other)), None, "one may be opened");
    let named = Wish { hubs: vec!["b".into()], ..wish() };
    let said = never(&named, &[hub("a", VMS), other]).unwrap_or_default();
    assert!(said.contains("No hub is open to the VDC prod"), "{said}");
    let mut bare = hub("b", VMS);
    bare.has_template = false;
    let said = never(&named, &[hub("a", VMS), bare.clone()]).unwrap_or_default();
    assert_eq!(said, "No hub that the VDC prod may use has the template. Choose another one, or another VDC.");
    bare.state = HubState::Unknown;
    assert_eq!(never(&named, &[hub("a", VMS), bare]), None, "it was not looked at yet");
    let bound = Wish { hubs: vec!["b".into()], ..tied("a") };
    let said = never(&bound, &[hub("a", VMS), hub("b", VMS)]).unwrap_or_default();
    assert!(said.starts_with("The network back lives where the VDC prod may not go."), "{said}");
}

#[test]
fn load_spreads_over_hubs_by_room() {
    let mut hubs = [hub("a", VMS), hub("b", VMS), hub("c", VMS)];
    hubs.iter_mut().for_each(|h| (h.cpus_capacity, h.memory_capacity_mb) = (Some(1000), Some(16 << 20)));
    let mut counts = [0; 3];
    for _ in 0..999 {
        let chosen = place(&wish(), &hubs).hub.expect("room");
        let i = hubs.iter().position(|h| h.id == chosen).expect("one of them");
        counts[i] += 1;
        hubs[i].cpus_used += 2;
        hubs[i].memory_used_mb += 4096;
    }
    assert!(counts.iter().all(|n| (320..=346).contains(n)), "{counts:?}");
}

#[test]
fn a_preferred_hub_goes_before_one_with_more_room_and_the_default_before_both() {
    let (mut a, b) = (hub("a", VMS), hub("b", VMS));
    a.cpus_used = 50;
    let prefer = Wish { prefer: vec!["a".into()], ..wish() };
    let placed = place(&prefer, &[a.clone(), b.clone()]);
    assert_eq!((placed.hub, placed.because.as_str()), (Some("a".into()), "The organization prefers it."));
    assert_eq!(placed.refused[0].why, "It fits too, and the organization prefers another.");
    assert_eq!(place(&wish(), &[a.clone(), b.clone()]).hub, Some("b".into()));
    let default = Candidate { is_default: true, ..a };
    assert_eq!(place(&wish(), &[default, b]).because, "It is the default hub.");
}

/// A small generator of numbers, so that the same hubs come again.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

#[test]
fn whatever_the_hubs_are_only_a_fitting_one_is_taken_and_each_other_one_has_its_reason() {
    let mut any = numbers(7);
    let sets: [&[Capability]; 4] = [&[], VMS, &[Capability::Clusters], &Capability::ALL];
    for round in 0..5_000 {
        let hubs: Vec<Candidate> = (0..any(6))
            .map(|i| Candidate {
                offers: sets[any(4) as usize].to_vec(),
                state: HubState::ALL[any(4) as usize],
                cordoned: any(4) == 0,
                is_default: any(8) == 0,
                cpus_used: any(120) as i64,
                has_template: any(4) > 0,
                lacks: if any(4) > 0 { Vec::new() } else { vec![Lack::Network("n".into())] },
                ..hub(&format!("h{i}"), sets[any(4) as usize])
            })
            .collect();
        let capability = Capability::ALL[any(2) as usize];
        let placed = place(&Wish { capability: Some(capability), ..wish() }, &hubs);
        assert_eq!(placed.refused.len() + usize::from(placed.hub.is_some()), hubs.len(), "round {round}");
        if let Some(taken) = hubs.iter().find(|h| Some(&h.id) == placed.hub.as_ref()) {
            assert!(taken.capabilities.contains(&capability) && taken.offers.contains(&capability), "{taken:?}");
            assert!(
                !taken.cordoned && taken.has_template && taken.lacks.is_empty() && taken.cpus_used <= 98,
                "{taken:?}"
            );
            assert!(matches!(taken.state, HubState::Ready | HubState::Degraded), "{taken:?}");
        }
    }
}
