//! What a setting's text may look like and the value it stands for.

use super::{
    listen::Listen,
    origin::Origin,
    secret::{self, Secret},
};
use ipnet::IpNet;
use std::{path::PathBuf, time::Duration};
use tracing_subscriber::filter::Targets;

pub(super) const MIB: u64 = 1024 * 1024;

#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Text {
        max: usize,
    },
    Label,
    Labels,
    DatabaseUrl,
    Count {
        min: u64,
        max: u64,
    },
    Bytes {
        min: u64,
        max: u64,
    },
    Duration {
        min: Duration,
        max: Duration,
    },
    Listen,
    File,
    Origin,
    Origins,
    Networks,
    /// Host names, addresses and networks.
    Hosts,
    Ports,
    OneOf(&'static [&'static str]),
    LogLevel,
    MasterSecret,
    Issuer,
    ClientSecret,
    GroupRoles,
}

#[derive(Debug, Clone)]
pub enum Value {
    Text(String),
    Texts(Vec<String>),
    Number(u64),
    Duration(Duration),
    Listen(Option<Listen>),
    File(PathBuf),
    Origin(Origin),
    Origins(Vec<Origin>),
    Networks(Vec<IpNet>),
    Levels(Targets),
    Secret(Secret),
    /// Groups and their roles.
    Pairs(Vec<(String, String)>),
}

impl Kind {
    /// The value, or what is wrong with the text as the end of a sentence that starts with the setting's name. Never repeats a secret.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        Ok(match self {
            Kind::Text { max } if text.chars().count() > *max => {
                return Err(format!("is longer than {max} characters"));
            }
            Kind::Text { .. } => Value::Text(text.to_owned()),
            Kind::Label => Value::Text(label(text)?),
            Kind::Labels => match list(text, label)? {
                none if none.is_empty() => return Err("names nothing".into()),
                some => Value::Texts(some),
            },
            Kind::DatabaseUrl => Value::Secret(secret::database_url(text)?),
            Kind::Count { min, max } => Value::Number(in_range(count(text)?, *min, *max, u64::to_string)?),
            Kind::Bytes { min, max } => Value::Number(in_range(bytes(text)?, *min, *max, |n| show_bytes(*n))?),
            Kind::Duration { min, max } => {
                Value::Duration(in_range(duration(text)?, *min, *max, |d| show_duration(*d))?)
            }
            Kind::Listen if text.eq_ignore_ascii_case("off") => Value::Listen(None),
            Kind::Listen => Value::Listen(Some(text.parse()?)),
            Kind::File => Value::File(PathBuf::from(text)),
            Kind::Origin => Value::Origin(text.parse()?),
            Kind::Origins => Value::Origins(list(text, |item| item.parse())?),
            Kind::Networks => Value::Networks(list(text, network)?),
            Kind::Hosts => {
                text.parse::<domain::AllowList>()?;
                Value::Text(text.to_owned())
            }
            Kind::Ports => {
                text.parse::<domain::Ports>()?;
                Value::Text(text.to_owned())
            }
            Kind::OneOf(words) => match words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
                Some(word) => Value::Text((*word).to_owned()),
                None => return Err(format!("is `{text}`, but can only be {}", words.join(" or "))),
            },
            Kind::LogLevel => Value::Levels(crate::telemetry::levels(text)?),
            Kind::MasterSecret => Value::Secret(secret::master(text)?),
            Kind::Issuer => Value::Text(model::idp::check_issuer(text).map_err(|m| format!("is `{text}`. {m}"))?),
            Kind::ClientSecret => Value::Secret(Secret::new(text)),
            Kind::GroupRoles => Value::Pairs(text.split(',').map(group_role).collect::<Result<_, _>>()?),
        })
    }

    /// Whether the value itself must never be shown.
    pub fn is_secret(&self) -> bool {
        matches!(self, Kind::MasterSecret | Kind::DatabaseUrl | Kind::ClientSecret)
    }

    /// The word for the value in usage texts.
    pub fn placeholder(&self) -> &'static str {
        match self {
            Kind::Text { .. } => "TEXT",
            Kind::Label => "NAME",
            Kind::Labels => "NAMES",
            Kind::DatabaseUrl => "URL",
            Kind::Count { .. } => "N",
            Kind::Bytes { .. } => "BYTES",
            Kind::Duration { .. } => "TIME",
            Kind::Listen => "ADDR",
            Kind::File => "FILE",
            Kind::Origin => "URL",
            Kind::Origins => "URLS",
            Kind::Networks => "NETWORKS",
            Kind::Hosts => "HOSTS",
            Kind::Ports => "PORTS",
            Kind::OneOf(_) => "WORD",
            Kind::LogLevel => "LEVEL",
            Kind::MasterSecret | Kind::ClientSecret => "SECRET",
            Kind::Issuer => "URL",
            Kind::GroupRoles => "GROUP=ROLE",
        }
    }

    /// What may be written, for the settings' documentation.
    pub fn describe(&self) -> String {
        match self {
            Kind::Text { max } => format!("text, at most {max} characters"),
            Kind::Label => "name of a Kubernetes object".into(),
            Kind::Labels => "list of names of Kubernetes objects".into(),
            Kind::DatabaseUrl => "address".into(),
            Kind::Count { min, max } => format!("{min} to {max}"),
            Kind::Bytes { min, max } => format!("size, {} to {}", show_bytes(*min), show_bytes(*max)),
            Kind::Duration { min, max } => format!("time, {} to {}", show_duration(*min), show_duration(*max)),
            Kind::Listen => "address:port, port, or off".into(),
            Kind::File => "path of a file".into(),
            Kind::Origin => "scheme and host".into(),
            Kind::Origins => "list of scheme and host".into(),
            Kind::Networks => "list of networks or addresses".into(),
            Kind::Hosts => "list of host names, addresses or networks".into(),
            Kind::Ports => "list of ports, or any".into(),
            Kind::OneOf(words) => words.join(" or "),
            Kind::LogLevel => "level".into(),
            Kind::MasterSecret => "at least 32 bytes".into(),
            Kind::Issuer => "https address".into(),
            Kind::ClientSecret => "text".into(),
            Kind::GroupRoles => "list of group=role".into(),
        }
    }
}

fn in_range<T: PartialOrd>(value: T, min: T, max: T, show: impl Fn(&T) -> String) -> Result<T, String> {
    if value < min {
        Err(format!("is {}, but must be at least {}", show(&value), show(&min)))
    } else if value > max {
        Err(format!("is {}, but must be at most {}", show(&value), show(&max)))
    } else {
        Ok(value)
    }
}

fn list<T>(text: &str, item: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()).map(item).collect()
}

/// `group=role`. The last sign counts: directories have groups such as cn=admins.
pub(crate) fn group_role(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((group, role)) if !group.trim().is_empty() && !role.trim().is_empty() => {
            Ok((group.trim().to_owned(), role.trim().to_owned()))
        }
        _ => Err(format!(
            "contains `{}`, which is not a group and a role such as admins=Organization Administrator",
            text.trim()
        )),
    }
}

fn network(text: &str) -> Result<IpNet, String> {
    if let Ok(net) = text.parse::<IpNet>() {
        return Ok(net.trunc());
    }
    text.parse::<std::net::IpAddr>()
        .map(IpNet::from)
        .map_err(|_| format!("contains `{text}`, which is no network such as 10.0.0.0/8 and no address"))
}

fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("is `{text}`, which is not a whole number"))
}

fn label(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let fits = !text.is_empty()
        && text.len() <= 63
        && text.chars().all(|c| inner(c) || c == '-')
        && text.starts_with(inner)
        && text.ends_with(inner);
    if fits {
        Ok(text.to_owned())
    } else {
        Err(format!("is `{text}`, but must be 1 to 63 lower-case letters, digits and inner dashes"))
    }
}

/// `24h`, `30m`, `15s`, `500ms`, and sums such as `1h30m`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("is `{text}`, which is not a time such as 24h, 30m, 15s or 500ms");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let (mut rest, mut total) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let letters = after.len() - after.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, next) = after.split_at(letters);
        let millis: u64 = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(wrong()),
        };
        let part = number.parse::<u64>().ok().and_then(|n| n.checked_mul(millis)).ok_or_else(wrong)?;
        total = total.checked_add(Duration::from_millis(part)).ok_or_else(wrong)?;
        rest = next;
    }
    if text.is_empty() { Err(wrong()) } else { Ok(total) }
}

fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("is `{text}`, which is not a size such as 1048576, 512KiB or 1MiB");
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1024,
        "MiB" => MIB,
        "GiB" => 1024 * MIB,
        "TiB" => 1024 * 1024 * MIB,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(wrong)
}

fn show_bytes(n: u64) -> String {
    match n {
        n if n >= 1024 * MIB && n % (1024 * MIB) == 0 => format!("{}GiB", n / (1024 * MIB)),
        n if n >= MIB && n % MIB == 0 => format!("{}MiB", n / MIB),
        n if n >= 1024 && n % 1024 == 0 => format!("{}KiB", n / 1024),
        n => n.to_string(),
    }
}

fn show_duration(d: Duration) -> String {
    let ms = d.as_millis();
    match ms {
        0 => "0s".into(),
        _ if ms.is_multiple_of(86_400_000) => format!("{}d", ms / 86_400_000),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        _ => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, ms) in
            [("24h", 86_400_000), ("30m", 1_800_000), ("15s", 15_000), ("500ms", 500), ("1h30m", 5_400_000), ("0", 0)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "24", "h", "-3s", "1.5h", "10 s", "99999999999999999999h", "9999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("1MiB"), Ok(MIB));
        assert_eq!(bytes("65536"), Ok(65536));
        assert!(bytes("1MB").is_err());
        assert!(bytes("").is_err());
        assert!(bytes("99999999999999MiB").is_err());
    }

    #[test]
    fn ranges_name_both_values() {
        let problem = Kind::Count { min: 5, max: 1000 }.parse("0").unwrap_err();
        assert_eq!(problem, "is 0, but must be at least 5");
        let problem =
            Kind::Duration { min: Duration::from_secs(60), max: Duration::from_secs(120) }.parse("1h").unwrap_err();
        assert_eq!(problem, "is 1h, but must be at most 2m");
    }

    #[test]
    fn groups_and_roles() {
        let Ok(Value::Pairs(pairs)) = Kind::GroupRoles.parse("admins=System Administrator, cn=staff=vApp User") else {
            panic!("kind")
        };
        let expected = [("admins", "System Administrator"), ("cn=staff", "vApp User")];
        assert_eq!(pairs, expected.map(|(group, role)| (group.to_owned(), role.to_owned())));
        for bad in ["", "admins", "=x", "admins=", "a=b,"] {
            assert!(Kind::GroupRoles.parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn networks_take_addresses_and_lists() {
        let Value::Networks(nets) = Kind::Networks.parse("10.1.2.3/8, 192.168.0.1 ::1").unwrap() else {
            panic!("kind")
        };
        let shown: Vec<String> = nets.iter().map(IpNet::to_string).collect();
        assert_eq!(shown, ["10.0.0.0/8", "192.168.0.1/32", "::1/128"]);
        assert!(Kind::Networks.parse("10.0.0.0/33").is_err());
    }
}
