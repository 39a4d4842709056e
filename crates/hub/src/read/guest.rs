//! What a guest says of itself. Whoever runs it writes these words, so they are cut to a length and a number.
use super::json::{list, number, text};
use model::agent::{FileSystem, System, Told};
use serde_json::Value;

const LONGEST: usize = 200;
const MOST: usize = 64;

fn words(value: &Value, pointer: &str) -> String {
    text(value, pointer).chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

/// Of `guestOSInfo`; all empty without an agent.
pub(super) fn system(info: &Value) -> System {
    let version = match words(info, "/version") {
        v if v.is_empty() => words(info, "/versionId"),
        v => v,
    };
    System { name: words(info, "/name"), version, kernel: words(info, "/kernelRelease") }
}

/// Of virt-api's answer about a guest.
pub fn told(answer: &Value) -> Told {
    let one = |fs: &Value| FileSystem {
        mount: words(fs, "/mountPoint"),
        kind: words(fs, "/fileSystemType"),
        used: number(fs, "/usedBytes").unwrap_or(0).max(0),
        total: number(fs, "/totalBytes").unwrap_or(0).max(0),
    };
    let mut file_systems: Vec<FileSystem> = list(answer, "/fsInfo/disks").map(one).collect();
    file_systems.sort_by(|a, b| a.mount.cmp(&b.mount));
    file_systems.truncate(MOST);
    Told {
        hostname: words(answer, "/hostname"),
        timezone: words(answer, "/timezone"),
        agent: words(answer, "/guestAgentVersion"),
        file_systems,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_guest_is_taken_at_its_word_and_cut_short() {
        let disk =
            |mount: String| json!({"mountPoint": mount, "fileSystemType": "ext4", "usedBytes": -5, "totalBytes": 9});
        let disks: Vec<Value> = (0..100).map(|n| disk(format!("/{n:03}"))).rev().collect();
        let said = told(
            &json!({"hostname": format!("web\n{}", "x".repeat(999)), "guestAgentVersion": 7, "fsInfo": {"disks": disks}}),
        );
        assert_eq!((said.hostname.len(), said.agent.as_str(), said.file_systems.len()), (LONGEST, "", MOST));
        assert!(said.hostname.starts_with("webx"));
        let first = FileSystem { mount: "/000".into(), kind: "ext4".into(), used: 0, total: 9 };
        assert_eq!(said.file_systems[0], first);
        assert_eq!(told(&Value::Null), Told::default());
        let info = json!({"name": "Ubuntu", "versionId": "24.04", "kernelRelease": "6.8.0"});
        let seen = System { name: "Ubuntu".into(), version: "24.04".into(), kernel: "6.8.0".into() };
        assert_eq!((system(&info), system(&json!({}))), (seen, System::default()));
    }
}
