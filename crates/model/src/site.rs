//! Where hubs are: what a VDC or an organization can wish for, and whether a wish can be met.
use crate::{HubId, Problems, org::OrgSpec, vdc::VdcSpec};
use std::collections::BTreeSet;

/// A hub as far as wishing needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    pub hub: HubId,
    pub region: String,
    pub zone: String,
    /// Is it open for virtual machines?
    pub runs_vms: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites(pub Vec<Site>);

impl Sites {
    /// Those that machines can go to, or of these the ones a VDC names.
    pub fn open_to(&self, named: &[HubId]) -> Sites {
        let fits = |s: &&Site| s.runs_vms && (named.is_empty() || named.contains(&s.hub));
        Sites(self.0.iter().filter(fits).cloned().collect())
    }

    pub fn hubs(&self) -> Vec<HubId> {
        self.0.iter().map(|s| s.hub.clone()).collect()
    }

    pub fn regions(&self) -> Vec<String> {
        distinct(self.0.iter().map(|s| &s.region))
    }

    /// Of a region, or of all of them.
    pub fn zones(&self, region: &str) -> Vec<String> {
        distinct(self.0.iter().filter(|s| region.is_empty() || s.region == region).map(|s| &s.zone))
    }

    pub fn check_org(&self, spec: &OrgSpec, before: Option<&OrgSpec>, problems: &mut Problems) {
        let kept = |of: fn(&OrgSpec) -> &Vec<HubId>| before.map(of).map_or(&[][..], |list| list.as_slice());
        self.check_hubs("prefer", &spec.prefer, kept(|s| &s.prefer), problems);
        self.check_hubs("avoid", &spec.avoid, kept(|s| &s.avoid), problems);
    }

    /// What was wished for before is not looked at again: hubs come and go.
    pub fn check_vdc(&self, spec: &VdcSpec, before: Option<&VdcSpec>, problems: &mut Problems) {
        let wish = |s: &VdcSpec| (s.hubs.clone(), s.region.clone(), s.zone.clone());
        if before.map(wish).unwrap_or_default() == wish(spec) {
            return;
        }
        self.check_hubs("hubs", &spec.hubs, before.map_or(&[], |b| &b.hubs), problems);
        let open = self.open_to(&spec.hubs);
        let whose = if spec.hubs.is_empty() { "No hub" } else { "No hub that the VDC may use" };
        let (region, zone) = (&spec.region, &spec.zone);
        if !region.is_empty() && !open.regions().contains(region) {
            let others = others(&open.regions(), "Regions are", "None has a region.");
            problems.add("region", format!("{whose} is in region {region}. {others}"));
        } else if !zone.is_empty() && !open.zones(region).contains(zone) {
            let of = if region.is_empty() { String::new() } else { format!(" of region {region}") };
            let others = others(&open.zones(region), "Zones are", "None has a zone.");
            problems.add("zone", format!("{whose} is in zone {zone}{of}. {others}"));
        }
    }

    fn check_hubs(&self, field: &'static str, wished: &[HubId], before: &[HubId], problems: &mut Problems) {
        for hub in wished.iter().filter(|h| !before.contains(h)) {
            match self.0.iter().find(|s| s.hub == *hub) {
                None => problems.add(field, format!("There is no hub {hub}. Choose from those that are registered.")),
                Some(s) if !s.runs_vms => {
                    problems.add(field, format!("{hub} is not open for VMs. Choose another, or open it for them."));
                }
                Some(_) => {}
            }
        }
    }
}

fn distinct<'a>(words: impl Iterator<Item = &'a String>) -> Vec<String> {
    let words: BTreeSet<&String> = words.filter(|w| !w.is_empty()).collect();
    words.into_iter().cloned().collect()
}

/// "Regions are eu-central, eu-north."
fn others(there: &[String], lead: &str, none: &str) -> String {
    if there.is_empty() { none.to_owned() } else { format!("{lead} {}.", there.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites() -> Sites {
        let site = |hub: &str, region: &str, zone: &str, runs_vms| Site {
            hub: hub.into(),
            region: region.into(),
            zone: zone.into(),
            runs_vms,
        };
        Sites(vec![
            site("a", "eu", "one", true),
            site("b", "eu", "two", true),
            site("c", "us", "", true),
            site("d", "asia", "", false),
        ])
    }

    fn wrong(spec: VdcSpec, before: Option<&VdcSpec>) -> Vec<(&'static str, String)> {
        let mut problems = Problems::default();
        sites().check_vdc(&spec, before, &mut problems);
        let wrong = problems.done().err();
        wrong.iter().flat_map(|e| e.fields()).map(|f| (f.field, f.message.clone())).collect()
    }

    fn wish(hubs: &[&str], region: &str, zone: &str) -> VdcSpec {
        let hubs = hubs.iter().map(|h| (*h).into()).collect();
        VdcSpec { hubs, region: region.into(), zone: zone.into(), ..VdcSpec::default() }
    }

    #[test]
    fn a_wish_that_no_hub_meets_is_said_beside_its_field() {
        assert_eq!(wrong(wish(&[], "", ""), None), []);
        assert_eq!(wrong(wish(&["a", "c"], "eu", "one"), None), []);
        let said = |spec| wrong(spec, None).remove(0);
        assert_eq!(
            said(wish(&["x"], "", "")),
            ("hubs", "There is no hub x. Choose from those that are registered.".into())
        );
        assert_eq!(said(wish(&["d"], "", "")).0, "hubs");
        assert_eq!(said(wish(&[], "mars", "")), ("region", "No hub is in region mars. Regions are eu, us.".into()));
        assert_eq!(
            said(wish(&["c"], "eu", "")),
            ("region", "No hub that the VDC may use is in region eu. Regions are us.".into())
        );
        assert_eq!(
            said(wish(&[], "us", "one")),
            ("zone", "No hub is in zone one of region us. None has a zone.".into())
        );
        // a region that only hubs without VMs have is none
        assert_eq!(said(wish(&[], "asia", "")).0, "region");
    }

    #[test]
    fn what_was_wished_for_before_may_stay_when_its_hub_is_gone() {
        let before = wish(&["x"], "mars", "");
        assert_eq!(wrong(before.clone(), Some(&before)), []);
        assert_eq!(wrong(wish(&["x", "a"], "", ""), Some(&before)), []);
        assert_eq!(wrong(wish(&["y"], "", ""), Some(&before))[0].0, "hubs");
    }
}
