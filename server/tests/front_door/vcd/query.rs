//! The query service: pages add up, records are found by what they say of themselves, and both kinds of machines are among VMs.
use super::{Program, Said, cloudapi::provider};
use crate::stage::Stage;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::HashSet;

/// The attributes of each record of a page.
fn records(said: &Said) -> Vec<Vec<(String, String)>> {
    let found = said.text.split('<').filter(|e| {
        let name = e.split(' ').next().unwrap_or_default();
        name.ends_with("Record") || name.ends_with("Reference")
    });
    let attributes = |e: &str| {
        let mut all = Vec::new();
        let mut rest = e;
        while let Some((before, after)) = rest.split_once("=\"") {
            let name = before.rsplit(' ').next().unwrap_or_default().to_owned();
            let (value, after) = after.split_once('"').expect("an end");
            let value = value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#10;", "\n");
            all.push((name, value.replace("&amp;", "&")));
            rest = after;
        }
        all
    };
    found.map(attributes).collect()
}

fn value<'a>(record: &'a [(String, String)], name: &str) -> &'a str {
    record.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v)
}

/// The id at the end of an address.
fn last(href: &str) -> &str {
    &href[href.len() - 36..]
}

/// What is in the address of a link of the list of types.
fn types(list: &Said) -> HashSet<String> {
    list.text.split("query?type=").skip(1).map(|l| l[..l.find('&').unwrap()].to_owned()).collect()
}

#[tokio::test]
async fn pages_of_every_type_add_up_and_records_are_found_by_their_own_attributes() {
    let stage = Stage::set().await;
    let shop = stage.deploy("web-and-db", "shop").await;
    stage.running(shop).await;
    let mut lost = Vec::new();
    let tenant = Program::sign_in(&stage.app, "acme", &stage.admin.name).await;
    for (org, who) in [("System", provider(&stage.app).await), ("acme", tenant)] {
        for kind in types(&who.get("/api/query").await.must(200)) {
            let mut next = Some(format!("/api/query?type={kind}&pageSize=3&sortAsc=name"));
            let (mut seen, mut total, mut first) = (Vec::new(), String::new(), None);
            while let Some(href) = next {
                let page = who.get(&href).await;
                // what there is none of has no fields
                let page = if page.status == 400 { who.get(&format!("/api/query?type={kind}")).await } else { page };
                let page = page.must(200);
                total = page.attr("total");
                next = page.link("nextPage", "query.records");
                let found = records(&page);
                let names: Vec<Vec<&String>> = found.iter().map(|r| r.iter().map(|(n, _)| n).collect()).collect();
                assert!(names.windows(2).all(|w| w[0] == w[1]), "{kind}: {names:?}");
                first = first.or(found.first().cloned());
                seen.extend(found.iter().map(|r| format!("{} {}", value(r, "href"), value(r, "eventId"))));
            }
            assert_eq!(total, seen.len().to_string(), "{org} {kind}");
            assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len(), "{org} {kind}: {seen:?}");
            for (name, value) in first.unwrap_or_default() {
                if value.is_empty() {
                    continue;
                }
                let encoded = utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string().replace("%2A", "%5C%2A");
                let found = who.get(&format!("/api/query?type={kind}&filter={name}=={encoded}")).await;
                match found.status.as_u16() {
                    400 => assert!(found.text.contains("no field"), "{kind} {name}=={value}: {}", found.text),
                    // a time is shown with thousandths, and kept finer
                    _ if name.ends_with("Date") || name.ends_with("Stamp") || name == "dateCreated" => {}
                    _ if found.must(200).attr("total") == "0" => lost.push(format!("{kind} {name}=={value}")),
                    _ => {}
                }
                let sorted = who.get(&format!("/api/query?type={kind}&sortDesc={name}")).await;
                assert!(matches!(sorted.status.as_u16(), 200 | 400), "{kind} by {name}: {}", sorted.text);
            }
        }
    }
    assert!(lost.is_empty(), "not found by what they say: {lost:#?}");
}

#[tokio::test]
async fn machines_inside_templates_are_among_vms() {
    let stage = Stage::set().await;
    let admin = Program::sign_in(&stage.app, "acme", &stage.admin.name).await;
    let inside = admin.get("/api/query?type=vm&filter=containerName==web-and-db;isVAppTemplate==true").await.must(200);
    let found = records(&inside);
    assert_eq!(found.len(), 2, "{}", inside.text);
    for one in &found {
        // its address is that of the document, and it is found by it
        let vm = admin.get(value(one, "href")).await.must(200);
        assert_eq!(vm.attr("name"), value(one, "name"));
        let by_href =
            admin.get(&format!("/api/query?type=vm&filter=href=={}", last(value(one, "href")))).await.must(200);
        assert_eq!(by_href.attr("total"), "1", "{}", by_href.text);
        let template =
            admin.get(&format!("/api/query?type=vm&filter=container=={}", last(value(one, "container")))).await;
        assert_eq!(template.must(200).attr("total"), "2");
    }
    let none = admin.get("/api/query?type=vm&filter=isVAppTemplate==false;containerName==web-and-db").await.must(200);
    assert_eq!(none.attr("total"), "0");
}

#[tokio::test]
async fn a_storage_profile_is_found_by_the_id_that_a_vdc_names_it_by() {
    let stage = Stage::set().await;
    let admin = Program::sign_in(&stage.app, "acme", &stage.admin.name).await;
    let vdc = admin.get(&format!("/api/vdc/{}", stage.acme.vdc("prod"))).await.must(200);
    let at = vdc.text.find("/api/vdcStorageProfile/").expect("a profile");
    let href = &vdc.text[at..at + 23 + 36];
    let profile = admin.get(href).await.must(200);
    let found = admin.get(&format!("/api/query?type=orgVdcStorageProfile&filter=id=={}", &href[23..])).await.must(200);
    assert_eq!(found.attr("total"), "1", "{}", found.text);
    assert_eq!(value(&records(&found)[0], "name"), profile.attr("name"));
}

#[tokio::test]
async fn what_can_not_be_asked_is_said() {
    let stage = Stage::set().await;
    let admin = Program::sign_in(&stage.app, "acme", &stage.admin.name).await;
    for (query, said) in [
        ("type=nothing", "There is no type nothing"),
        ("type=adminVM", "adminVM is for the provider"),
        ("type=vApp&filter=colour==red", "There is no field colour"),
        ("type=vApp&filter=name", "a condition has no operator"),
        ("type=vApp&format=csv", "is no format"),
        ("type=vApp&page=0", "a number from 1 on"),
        ("type=vApp&sortAsc=colour", "There is no field colour"),
        ("type=vAppTemplate&sortAsc=vdc", "nothing to sort by"),
        ("type=vApp&filter=numberOfVMs==many", "a whole number"),
        ("type=right&filter=colour==red", "There is no field colour"),
    ] {
        let answer = admin.get(&format!("/api/query?{query}")).await.must(400);
        assert!(answer.text.contains(said), "{query}: {}", answer.text);
    }
}
