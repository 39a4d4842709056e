//! Lists: search, filters, sort and a keyset cursor, as they stand in an address.
use crate::{Error, Result};
use uuid::Uuid;

/// What a list can be sorted and filtered by.
#[derive(Debug)]
pub struct ListSpec {
    pub sorts: &'static [SortSpec],
    /// The first sort is the default, in this direction.
    pub descending: bool,
    pub filters: &'static [FilterSpec],
}

#[derive(Debug, PartialEq, Eq)]
pub struct SortSpec {
    pub key: &'static str,
    pub label: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
pub struct FilterSpec {
    pub key: &'static str,
    pub label: &'static str,
    /// Empty: any text.
    pub options: &'static [(&'static str, &'static str)],
}

const fn sort(key: &'static str, label: &'static str) -> SortSpec {
    SortSpec { key, label }
}

const ENABLED: FilterSpec =
    FilterSpec { key: "enabled", label: "State", options: &[("true", "Enabled"), ("false", "Disabled")] };

/// By the organization's name: for the provider, who sees all of them.
pub const ORGANIZATION: FilterSpec = FilterSpec { key: "org", label: "Organization", options: &[] };

const SINCE: FilterSpec = FilterSpec {
    key: "since",
    label: "When",
    options: &[("hour", "Last hour"), ("day", "Last 24 hours"), ("week", "Last 7 days"), ("month", "Last 30 days")],
};

const OBJECT: FilterSpec = FilterSpec {
    key: "kind",
    label: "About",
    options: &[
        ("org", "Organizations"),
        ("user", "Users"),
        ("role", "Roles"),
        ("vdc", "VDCs"),
        ("vapp", "vApps"),
        ("vm", "VMs"),
        ("network", "Networks"),
        ("catalog", "Catalogs"),
        ("disk", "Disks"),
        ("hub", "Hubs"),
        ("storageprofile", "Storage policies"),
        ("session", "Sign-ins"),
    ],
};

pub static ORGS: ListSpec =
    ListSpec { sorts: &[sort("name", "Name"), sort("created", "Created")], descending: false, filters: &[ENABLED] };

pub static USERS: ListSpec = ListSpec {
    sorts: &[sort("name", "Name"), sort("created", "Created"), sort("seen", "Last sign-in")],
    descending: false,
    filters: &[
        ENABLED,
        ORGANIZATION,
        FilterSpec { key: "role", label: "Role", options: &[] },
        FilterSpec {
            key: "source",
            label: "Signs in by",
            options: &[("local", "Password"), ("oidc", "Identity provider")],
        },
    ],
};

pub static ROLES: ListSpec = ListSpec {
    sorts: &[sort("name", "Name"), sort("created", "Created")],
    descending: false,
    filters: &[FilterSpec { key: "made", label: "Made by", options: &[("predefined", "Predefined"), ("own", "Own")] }],
};

pub static VDCS: ListSpec = ListSpec {
    sorts: &[sort("name", "Name"), sort("created", "Created")],
    descending: false,
    filters: &[
        ENABLED,
        ORGANIZATION,
        FilterSpec {
            key: "model",
            label: "Model",
            options: &[
                ("PayAsYouGo", "Pay as you go"),
                ("AllocationPool", "Allocation pool"),
                ("ReservationPool", "Reservation pool"),
            ],
        },
    ],
};

pub static NETWORKS: ListSpec = ListSpec {
    sorts: &[sort("name", "Name"), sort("created", "Created")],
    descending: false,
    filters: &[
        ORGANIZATION,
        VDC,
        FilterSpec { key: "shared", label: "Reach", options: &[("true", "Shared"), ("false", "One VDC")] },
    ],
};

pub static CATALOGS: ListSpec = ListSpec {
    sorts: &[sort("name", "Name"), sort("created", "Created")],
    descending: false,
    filters: &[ORGANIZATION],
};

pub static TEMPLATES: ListSpec = ListSpec {
    sorts: &[sort("name", "Name"), sort("created", "Created")],
    descending: false,
    filters: &[FilterSpec { key: "catalog", label: "Catalog", options: &[] }],
};

const VDC: FilterSpec = FilterSpec { key: "vdc", label: "VDC", options: &[] };
const TAG: FilterSpec = FilterSpec { key: "tag", label: "Tag", options: &[] };
/// A key, or a key and its value.
const METADATA: FilterSpec = FilterSpec { key: "metadata", label: "Metadata (key, or key=value)", options: &[] };
const HUB: FilterSpec = FilterSpec { key: "hub", label: "Hub", options: &[] };

/// Filters that only the provider's lists have.
pub fn for_provider(filter: &FilterSpec) -> bool {
    *filter == ORGANIZATION || *filter == HUB
}

pub static VAPPS: ListSpec = ListSpec {
    sorts: &[sort("name", "Name"), sort("created", "Created")],
    descending: false,
    filters: &[ORGANIZATION, VDC, HUB, TAG, METADATA],
};

pub static VMS: ListSpec = ListSpec {
    sorts: &[sort("name", "Name"), sort("created", "Created"), sort("cpus", "CPU"), sort("memory", "Memory")],
    descending: false,
    filters: &[
        FilterSpec {
            key: "state",
            label: "State",
            options: &[
                ("running", "Running"),
                ("stopped", "Stopped"),
                ("suspended", "Suspended"),
                ("changing", "Changing"),
                ("failed", "Failed or missing"),
            ],
        },
        ORGANIZATION,
        VDC,
        HUB,
        TAG,
        METADATA,
    ],
};

pub static DISKS: ListSpec = ListSpec {
    sorts: &[sort("name", "Name"), sort("created", "Created"), sort("size", "Size")],
    descending: false,
    filters: &[
        FilterSpec {
            key: "use",
            label: "Use",
            options: &[("free", "In no VM"), ("attached", "In a VM"), ("failed", "Failed or missing")],
        },
        ORGANIZATION,
        VDC,
        HUB,
    ],
};

pub static STRANDED: ListSpec = ListSpec {
    sorts: &[sort("name", "Name"), sort("created", "Created")],
    descending: false,
    filters: &[ORGANIZATION, FilterSpec { key: "owner", label: "Owner", options: &[] }],
};

pub static POLICIES: ListSpec =
    ListSpec { sorts: &[sort("name", "Name"), sort("created", "Created")], descending: false, filters: &[] };

pub static SIZINGS: ListSpec =
    ListSpec { sorts: &[sort("name", "Name"), sort("created", "Created")], descending: false, filters: &[] };

pub static TASKS: ListSpec = ListSpec {
    sorts: &[sort("started", "Started")],
    descending: true,
    filters: &[
        ORGANIZATION,
        FilterSpec {
            key: "status",
            label: "State",
            options: &[
                ("queued", "Waiting"),
                ("running", "Running"),
                ("success", "Done"),
                ("error", "Failed"),
                ("aborted", "Cancelled"),
            ],
        },
        SINCE,
    ],
};

pub static EVENTS: ListSpec =
    ListSpec { sorts: &[sort("time", "Time")], descending: true, filters: &[ORGANIZATION, OBJECT, SINCE] };

pub static AUDIT: ListSpec = ListSpec {
    sorts: &[sort("time", "Time")],
    descending: true,
    filters: &[
        ORGANIZATION,
        OBJECT,
        FilterSpec {
            key: "result",
            label: "Result",
            options: &[("done", "Done"), ("refused", "Refused"), ("failed", "Failed")],
        },
        SINCE,
    ],
};

pub const DEFAULT_LIMIT: u32 = 20;
pub const MAX_LIMIT: u32 = 100;

/// One page of one list, asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListQuery {
    pub search: String,
    pub filters: Vec<(&'static str, String)>,
    pub sort: &'static str,
    pub descending: bool,
    pub cursor: Option<Cursor>,
    pub limit: u32,
}

impl ListQuery {
    pub fn first(spec: &ListSpec) -> ListQuery {
        ListQuery {
            search: String::new(),
            filters: Vec::new(),
            sort: spec.sorts[0].key,
            descending: spec.descending,
            cursor: None,
            limit: DEFAULT_LIMIT,
        }
    }

    /// Reads name and value pairs of an address. Other pages' names are left alone; a value that can't be is an error.
    pub fn read<'a>(spec: &ListSpec, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<ListQuery> {
        let mut q = ListQuery::first(spec);
        for (key, value) in pairs {
            match key {
                "q" => {
                    q.search = value.trim().to_owned();
                    if q.search.chars().count() > 200 || q.search.contains('\0') {
                        return Err(Error::BadRequest("The search text is too long: at most 200 characters.".into()));
                    }
                }
                "sort" => {
                    let (key, descending) = match value.strip_prefix('-') {
                        Some(k) => (k, true),
                        None => (value, false),
                    };
                    let known = spec.sorts.iter().find(|s| s.key == key);
                    q.sort = known
                        .ok_or_else(|| {
                            Error::BadRequest(format!("This list can't be sorted by “{key}”. {}", sorts(spec)))
                        })?
                        .key;
                    q.descending = descending;
                }
                "cursor" if !value.is_empty() => q.cursor = Some(Cursor::parse(value)?),
                "limit" => {
                    q.limit = value
                        .parse()
                        .ok()
                        .filter(|n| (1..=MAX_LIMIT).contains(n))
                        .ok_or_else(|| Error::BadRequest(format!("limit is a number from 1 to {MAX_LIMIT}.")))?;
                }
                _ => {
                    let Some(f) = spec.filters.iter().find(|f| f.key == key) else { continue };
                    if value.is_empty() {
                        continue;
                    }
                    if f.options.is_empty() && (value.chars().count() > 200 || value.contains('\0')) {
                        return Err(Error::BadRequest(format!("{} is too long: at most 200 characters.", f.label)));
                    }
                    if !f.options.is_empty() && !f.options.iter().any(|(v, _)| *v == value) {
                        let all: Vec<_> = f.options.iter().map(|(v, _)| *v).collect();
                        return Err(Error::BadRequest(format!(
                            "{} can't be “{value}”. It is one of: {}.",
                            f.key,
                            all.join(", ")
                        )));
                    }
                    q.filters.push((f.key, value.to_owned()));
                }
            }
        }
        Ok(q)
    }

    pub fn filter(&self, key: &str) -> Option<&str> {
        self.filters.iter().find(|(k, _)| *k == key).map(|(_, v)| v.as_str())
    }

    /// Narrowed down at all?
    pub fn narrowed(&self) -> bool {
        !self.search.is_empty() || !self.filters.is_empty()
    }
}

fn sorts(spec: &ListSpec) -> String {
    let all: Vec<_> = spec.sorts.iter().map(|s| s.key).collect();
    format!("It can be sorted by: {}.", all.join(", "))
}

/// Where a page begins: after (or, going back, before) the row with this sort value and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub back: bool,
    pub value: String,
    pub id: Uuid,
}

impl Cursor {
    fn parse(text: &str) -> Result<Cursor> {
        let bad = || Error::BadRequest("That page's address is damaged. Go to the first page of the list.".into());
        let (direction, rest) = text.split_at_checked(1).ok_or_else(bad)?;
        let (id, hex) = rest.split_at_checked(32).ok_or_else(bad)?;
        if hex.len() > 1024 || !hex.is_ascii() || hex.len() % 2 != 0 {
            return Err(bad());
        }
        let bytes: Option<Vec<u8>> =
            (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()).collect();
        Ok(Cursor {
            back: match direction {
                "b" => true,
                "f" => false,
                _ => return Err(bad()),
            },
            id: Uuid::try_parse(id).map_err(|_| bad())?,
            value: String::from_utf8(bytes.ok_or_else(bad)?).ok().filter(|v| !v.contains('\0')).ok_or_else(bad)?,
        })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.back { 'b' } else { 'f' }, self.id.simple())?;
        self.value.bytes().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub total: Total,
    pub before: Option<Cursor>,
    pub after: Option<Cursor>,
}

/// How many rows there are; counting stops where nobody reads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    pub rows: i64,
    pub more: bool,
}

pub const COUNT_TO: i64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_went() {
        let c = Cursor { back: true, value: "größe, 4\"".into(), id: Uuid::from_u128(7) };
        assert_eq!(Cursor::parse(&c.to_string()), Ok(c));
        for bad in [
            "",
            "f",
            "x00000000000000000000000000000007",
            "f0000000000000000000000000000000z",
            "f00000000000000000000000000000007f",
            "f00000000000000000000000000000007ff",
            "é",
        ] {
            assert!(Cursor::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_can_not_be_is_said_and_what_is_not_ours_is_left_alone() {
        let q = ListQuery::read(&ORGS, [("q", " acme "), ("enabled", "true"), ("sort", "-created"), ("theme", "dark")])
            .expect("good");
        assert_eq!(
            (q.search.as_str(), q.filter("enabled"), q.sort, q.descending),
            ("acme", Some("true"), "created", true)
        );
        for bad in [
            ("enabled", "maybe"),
            ("sort", "colour"),
            ("limit", "0"),
            ("limit", "101"),
            ("limit", "x"),
            ("cursor", "junk"),
        ] {
            assert!(ListQuery::read(&ORGS, [bad]).is_err(), "{bad:?}");
        }
    }
}
