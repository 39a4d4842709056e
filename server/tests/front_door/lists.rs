//! Lists: search, filters, sort and paging in the address, and the whole of a list as a file.
use crate::harness::{Answer, Client, TestApp, TestOrg};
use model::{
    Right,
    list::{AUDIT, EVENTS, ListSpec, ORGANIZATION, ORGS, ROLES, TASKS, USERS, VDCS},
    role::Predefined::*,
};
use std::collections::{BTreeSet, HashMap};

/// The ids of a list's rows, as they stand on the page.
fn rows(page: &Answer, kind: &str) -> Vec<String> {
    let mark = format!("id=\"{kind}-");
    page.body.split(&mark).skip(1).filter_map(|rest| rest.get(..36)).map(str::to_owned).collect()
}

/// A file's cells, without its heads.
fn cells(file: &Answer) -> Vec<Vec<String>> {
    let (mut table, mut row, mut cell, mut quoted) = (vec![], vec![], String::new(), false);
    let mut chars = file.body.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                table.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    table.split_off(1)
}

async fn with_vdcs(app: &TestApp, count: u32) -> TestOrg {
    let acme = app.org("acme").make().await;
    add_vdcs(app, &acme, 0, count).await;
    acme
}

/// Many at once share one time, so that the order among them is the id's.
async fn add_vdcs(app: &TestApp, org: &TestOrg, from: u32, count: u32) {
    app.db
        .execute(&format!(
            "insert into vdcs (id, org_id, name, namespace_name, allocation_model)
             select gen_random_uuid(), '{}', (array['alpha-', 'Beta-', 'gamma_'])[1 + n % 3] || n, '{}-' || n, 'PayAsYouGo'
             from generate_series({from}, {}) n",
            org.id,
            org.name,
            from + count - 1
        ))
        .await;
}

/// Follows a link from page to page to the end of the list; the ids in the order they were met. `between` runs after each page.
async fn walk(client: &Client, from: String, link: &str, kind: &str, between: impl AsyncFn()) -> (Vec<String>, String) {
    let (mut ids, mut here) = (vec![], from);
    loop {
        let page = client.get(&here).await.must(200);
        let mut found = rows(&page, kind);
        if link == "Back" {
            found.reverse();
        }
        ids.append(&mut found);
        match page.link(link) {
            Some(next) if !next.is_empty() => here = next,
            _ => return (ids, here),
        }
        assert!(ids.len() < 2000, "the list does not end");
        between().await;
    }
}

#[tokio::test]
async fn paging_there_and_back_loses_and_doubles_nothing_while_rows_come() {
    let app = TestApp::start().await;
    let acme = with_vdcs(&app, 250).await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let ids = app.db.text("select string_agg(id::text, ' ') from vdcs").await;
    let first: BTreeSet<String> = ids.split(' ').map(str::to_owned).collect();
    let number = std::sync::atomic::AtomicU32::new(1000);
    let between = async || {
        add_vdcs(&app, &acme, number.fetch_add(3, std::sync::atomic::Ordering::Relaxed), 3).await;
    };
    for sort in ["name", "-name", "created", "-created"] {
        let start = format!("/tenant/acme/vdcs?limit=40&sort={sort}");
        let (there, end) = walk(&admin, start, "Next", "vdc", between).await;
        let (back, _) = walk(&admin, end, "Back", "vdc", between).await;
        for (way, met) in [("there", there), ("back", back)] {
            let mut times: HashMap<&String, u32> = HashMap::new();
            met.iter().for_each(|id| *times.entry(id).or_default() += 1);
            assert!(times.values().all(|n| *n == 1), "{sort} {way}: a row came twice");
            let missing = first.iter().filter(|id| !times.contains_key(id)).count();
            assert_eq!(missing, 0, "{sort} {way}: rows are missing");
        }
    }
}

#[tokio::test]
async fn every_sort_goes_both_ways_and_means_what_it_says() {
    let app = TestApp::start().await;
    with_vdcs(&app, 30).await;
    app.db.execute("update vdcs set created_at = now() - (length(name) || ' days')::interval").await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let names = async |sort: &str| -> Vec<String> {
        let file = admin.get(&format!("/tenant/acme/vdcs.csv?sort={sort}")).await.must(200);
        cells(&file).into_iter().map(|row| row[1].clone()).collect()
    };
    let up = names("name").await;
    let mut sorted = up.clone();
    sorted.sort_by_key(|name| name.to_lowercase());
    assert_eq!(up, sorted, "capitals sort among small letters");
    let (mut down, created) = (names("-name").await, names("created").await);
    down.reverse();
    assert_eq!(up, down);
    assert!(created.windows(2).all(|two| two[0].len() >= two[1].len()), "the oldest first: {created:?}");
    let (oldest, newest) = (names("created").await, names("-created").await);
    assert_eq!(oldest, newest.into_iter().rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn search_looks_into_the_fields_it_names_and_takes_every_character_as_it_is() {
    let app = TestApp::start().await;
    with_vdcs(&app, 9).await;
    app.db.execute("update vdcs set description = '100% O''Reilly \\ \"quoted\" <b>' where name = 'alpha-0'").await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let found = async |q: &str| {
        let query = serde_urlencoded::to_string([("q", q)]).unwrap();
        rows(&admin.get(&format!("/tenant/acme/vdcs?{query}")).await.must(200), "vdc").len()
    };
    for (q, count) in [
        ("", 9),
        ("ALPHA", 3),
        ("beta-1", 1),
        ("gamma_", 3),
        ("_", 3),
        ("%", 1),
        ("100%", 1),
        ("O'Reilly", 1),
        ("\\", 1),
        ("\"quoted\" <b>", 1),
        ("' or 1=1 --", 0),
        ("nothing like this", 0),
    ] {
        assert_eq!(found(q).await, count, "{q:?}");
    }
    admin.get("/tenant/acme/vdcs?q=nothing+like+this").await.must(200).says("No VDC fits");
    let page = admin.get("/tenant/acme/vdcs?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E").await.must(200);
    assert!(!page.body.contains("<script>alert"), "what was searched for is shown as text");
}

/// Every list, by the provider: address, what its rows' ids begin with, and what it can be sorted and filtered by.
const LISTS: [(&str, &ListSpec); 7] = [
    ("organizations", &ORGS),
    ("users", &USERS),
    ("roles", &ROLES),
    ("vdcs", &VDCS),
    ("tasks", &TASKS),
    ("events", &EVENTS),
    ("audit", &AUDIT),
];

/// A few of everything, so that every filter has something to leave out.
async fn furnished() -> (TestApp, Client) {
    let app = TestApp::start().await;
    let acme =
        app.org("acme").vdc("one").vdc("two").vdc("three").user("alice", VappUser).user("bob", VappUser).make().await;
    app.org("globex").vdc("one").make().await;
    app.role(acme.id, "Own", &[Right::VdcView]).await;
    app.db.execute("update vdcs set allocation_model = 'AllocationPool', enabled = false where name = 'two'").await;
    app.db.execute("update vdcs set allocation_model = 'ReservationPool' where name = 'three'").await;
    app.db.execute("update users set enabled = false where name = 'alice'").await;
    app.db.execute("update users set issuer = 'https://id.example.org', subject = '1' where name = 'bob'").await;
    app.db.execute("update organizations set enabled = false where name = 'globex'").await;
    app.db.execute("update tasks set status = (array['queued', 'running', 'error', 'aborted', 'success'])[1 + abs(hashtext(id::text)) % 5]").await;
    app.db.execute("update tasks set status = 'queued' where id = (select min(id::text)::uuid from tasks)").await;
    for table in ["events", "audit"] {
        app.db
            .execute(&format!("update {table} set created_at = now() - interval '3 days' where object_kind = 'vdc'"))
            .await;
    }
    app.db.execute("update tasks set started_at = now() - interval '3 days' where object_kind = 'vdc'").await;
    let alice = app.sign_in("acme", "acme-admin").await;
    alice.post("/tenant/acme/users/new", &[]).await.must(422);
    alice.post(&format!("/tenant/acme/users/{}/disable", acme.admin()), &[]).await.must(409);
    let provider = app.provider().await;
    (app, provider)
}

#[tokio::test]
async fn every_filter_leaves_out_what_does_not_fit_and_together_they_show_all() {
    let (_app, provider) = furnished().await;
    let ids = async |list: &str, query: &str| -> BTreeSet<String> {
        let file = provider.get(&format!("/provider/{list}.csv{query}")).await.must(200);
        cells(&file).into_iter().map(|row| row[0].clone()).collect()
    };
    for (list, spec) in LISTS {
        let all = ids(list, "").await;
        for filter in spec.filters {
            if filter.options.is_empty() {
                continue; // any text: a_name_is_a_filter_too
            }
            let mut parts = vec![];
            for (value, _) in filter.options {
                parts.push(ids(list, &format!("?{}={value}", filter.key)).await);
                provider.get(&format!("/provider/{list}?{}={value}", filter.key)).await.must(200);
            }
            let union: BTreeSet<String> = parts.iter().flatten().cloned().collect();
            assert!(union.is_subset(&all), "{list} {}", filter.key);
            assert!(parts.iter().any(|part| part.len() < all.len()), "{list} {}: nothing is left out", filter.key);
            if filter.key == "since" {
                assert!(parts.windows(2).all(|two| two[0].is_subset(&two[1])), "{list} since");
                assert!(parts[1].len() < parts[2].len(), "{list}: what is three days old is not of today");
                continue;
            }
            assert_eq!(union, all, "{list} {}: some fit no value", filter.key);
            assert_eq!(
                parts.iter().map(BTreeSet::len).sum::<usize>(),
                all.len(),
                "{list} {}: some fit two",
                filter.key
            );
        }
        for sort in spec.sorts {
            for sort in [sort.key.to_owned(), format!("-{}", sort.key)] {
                assert_eq!(ids(list, &format!("?sort={sort}")).await, all, "{list} {sort}");
            }
        }
    }
}

#[tokio::test]
async fn a_name_is_a_filter_too() {
    let (app, provider) = furnished().await;
    let rows = async |client: &Client, address: &str| cells(&client.get(address).await.must(200)).len();
    for (list, spec) in LISTS {
        if spec.filters.contains(&ORGANIZATION) {
            let all = rows(&provider, &format!("/provider/{list}.csv")).await;
            let globex = rows(&provider, &format!("/provider/{list}.csv?org=GLOBEX")).await;
            assert!(globex > 0 && globex < all, "{list}: {globex} of {all}");
            assert_eq!(rows(&provider, &format!("/provider/{list}.csv?org=glob")).await, 0, "{list}: the whole name");
        }
    }
    assert_eq!(rows(&provider, "/provider/users.csv?role=vapp+user").await, 2);
    assert!(provider.get("/provider/users").await.must(200).body.contains("filter-org"));
    let admin = app.sign_in("acme", "acme-admin").await;
    let page = admin.get("/tenant/acme/users?role=vApp+User").await.must(200);
    assert!(page.body.contains("filter-role") && !page.body.contains("filter-org"), "tenants have one organization");
    assert_eq!(rows(&admin, "/tenant/acme/users.csv?org=globex").await, 0);
}

#[tokio::test]
async fn what_an_address_can_not_mean_is_said() {
    let (_app, provider) = furnished().await;
    let long = "x".repeat(201);
    for (list, spec) in LISTS {
        let mut wrong = vec![
            ("sort", "colour", "can't be sorted by “colour”"),
            ("sort", "", "can't be sorted by"),
            ("limit", "0", "limit is a number from 1 to 100"),
            ("limit", "101", "limit is a number"),
            ("limit", "many", "limit is a number"),
            ("q", long.as_str(), "at most 200 characters"),
            ("cursor", "junk", "That page's address is damaged"),
            ("cursor", "f00000000000000000000000000000007ff", "damaged"),
            ("cursor", "f00000000000000000000000000000007zz", "damaged"),
        ];
        if list == "tasks" || list == "events" || list == "audit" {
            // a name where a time should be
            wrong.push(("cursor", "f000000000000000000000000000000076162", "damaged"));
        }
        for filter in spec.filters {
            wrong.push(match filter.options {
                [] => (filter.key, long.as_str(), "at most 200 characters"),
                _ => (filter.key, "maybe", "It is one of:"),
            });
        }
        for (key, value, said) in wrong {
            let query = serde_urlencoded::to_string([(key, value)]).unwrap();
            for file in ["", ".csv"] {
                if file == ".csv" && key == "limit" {
                    continue;
                }
                provider.get(&format!("/provider/{list}{file}?{query}")).await.must(400).says(said);
            }
        }
    }
}

#[tokio::test]
async fn a_cursor_of_another_sort_is_damaged_and_not_a_mistake_of_ours() {
    let (_app, provider) = furnished().await;
    let page = provider.get("/provider/users?limit=2&sort=name").await.must(200);
    let next = page.link("Next").unwrap();
    provider.get(&next.replace("sort=name", "sort=created")).await.must(400).says("damaged");
}

#[tokio::test]
async fn a_file_has_every_row_and_no_formula() {
    let app = TestApp::start().await;
    let acme = with_vdcs(&app, 2300).await;
    app.user(acme.id, "evil", VappUser.id()).await;
    app.db
        .execute("update users set full_name = '=HYPERLINK(\"http://evil.test\")', email = '' where name = 'evil'")
        .await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let file = admin.get("/tenant/acme/vdcs.csv").await.must(200);
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    assert!(file.header("content-disposition").starts_with("attachment; filename=\"vdcs"));
    let ids: BTreeSet<String> = cells(&file).into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(ids.len(), 2300);
    assert_eq!(cells(&admin.get("/tenant/acme/vdcs.csv?q=beta&limit=5").await.must(200)).len(), 767);
    let users = cells(&admin.get("/tenant/acme/users.csv").await.must(200));
    let evil = users.iter().flatten().find(|cell| cell.contains("HYPERLINK")).unwrap();
    assert_eq!(evil, "'=HYPERLINK(\"http://evil.test\")");
}

#[tokio::test]
async fn a_file_is_whole_when_it_is_compressed_too() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    for coding in ["br", "gzip"] {
        let ask = admin.request("GET", "/tenant/acme/roles.csv").header("accept-encoding", coding);
        let file = admin.send(ask.body(axum::body::Body::empty()).unwrap()).await.must(200);
        assert_eq!(file.header("content-encoding"), coding);
    }
}

#[tokio::test]
async fn a_list_of_many_counts_to_ten_thousand_and_says_that_there_are_more() {
    let app = TestApp::start().await;
    with_vdcs(&app, 10_050).await;
    let admin = app.sign_in("acme", "acme-admin").await;
    admin.get("/tenant/acme/vdcs").await.must(200).says("First 20 of more than 10,000, by name");
}
