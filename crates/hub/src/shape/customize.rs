//! What is brought into a guest beyond cloud-init's own fields: the administrator's password and a script. On Linux by a
//! boothook, which cloud-init runs at every start and which does each change once; on Windows by an answer file of sysprep.
use crate::shape::{
    cloud_init::encoded,
    network_data::{GuestAddress, GuestNic},
};
use std::fmt::Write;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Customize {
    /// With every change another one.
    pub run: i32,
    pub password: Option<String>,
    /// It is to be changed at the first sign-in.
    pub expires: bool,
    pub script: String,
    /// Of Windows: how often the administrator is signed in by itself.
    pub auto_logons: i32,
    /// Of Windows: its cards, which it knows by their MACs.
    pub nics: Vec<GuestNic>,
}

impl Customize {
    pub fn is_empty(&self) -> bool {
        self.password.is_none() && self.script.trim().is_empty()
    }
}

/// For Linux. Values travel as base64, so that no letter of them is read by the shell.
pub(super) fn boothook(c: &Customize) -> String {
    let mut text = format!(
        "#cloud-boothook\n#!/bin/sh\n# Brings in what was asked for, once for each change of it.\nrun={}\nhome=/var/lib/ssvirt\n\
         [ \"$(cat $home/run 2>/dev/null)\" = \"$run\" ] && exit 0\numask 077\nmkdir -p $home\n",
        c.run
    );
    let script = !c.script.trim().is_empty();
    if script {
        let code = encoded(&c.script.replace("\r\n", "\n"));
        let _ = write!(
            text,
            "printf %s '{code}' | base64 -d > $home/script\nchmod 700 $home/script\n$home/script precustomization\n"
        );
    }
    if let Some(password) = &c.password {
        let code = encoded(&format!("root:{password}"));
        let _ = writeln!(text, "printf %s '{code}' | base64 -d | chpasswd");
        if c.expires {
            text += "passwd -e root\n";
        }
    }
    if script {
        // when the rest of the start is over, with the network there
        text += "mkdir -p /var/lib/cloud/scripts/per-boot\ncat > /var/lib/cloud/scripts/per-boot/ssvirt <<'END'\n#!/bin/sh\n\
                 if [ -x /var/lib/ssvirt/script ]; then\n  /var/lib/ssvirt/script postcustomization\n  rm -f /var/lib/ssvirt/script\n\
                 fi\nEND\nchmod 700 /var/lib/cloud/scripts/per-boot/ssvirt\n";
    }
    text + "echo \"$run\" > $home/run\n"
}

/// The file beside the answer file that holds the script.
pub(super) const BATCH: &str = "customize.bat";

macro_rules! component {
    ($name:literal) => {
        concat!(
            "<component name=\"Microsoft-Windows-",
            $name,
            "\" processorArchitecture=\"amd64\" publicKeyToken=\"31bf3856ad364e35\" language=\"neutral\" versionScope=\"nonSxS\">"
        )
    };
}
const SHELL: &str = component!("Shell-Setup");
const DEPLOYMENT: &str = component!("Deployment");
const TCPIP: &str = component!("TCPIP");
const DNS: &str = component!("DNS-Client");

/// Windows takes no more letters.
const LONGEST_NAME: usize = 15;

/// For Windows, whose setup reads it where the image was made ready by sysprep.
pub fn unattend(computer_name: &str, c: &Customize) -> String {
    let name: String = computer_name.chars().take(LONGEST_NAME).collect();
    let script = !c.script.trim().is_empty();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<unattend xmlns=\"urn:schemas-microsoft-com:unattend\" \
         xmlns:wcm=\"http://schemas.microsoft.com/WMIConfig/2002/State\">\n<settings pass=\"specialize\">\n{SHELL}\n\
         <ComputerName>{}</ComputerName>\n</component>\n",
        escaped(name.trim_end_matches('-'))
    );
    if script {
        let _ = write!(
            text,
            "{DEPLOYMENT}\n<RunSynchronous>\n<RunSynchronousCommand wcm:action=\"add\"><Order>1</Order><Path>{}</Path>\
             </RunSynchronousCommand>\n</RunSynchronous>\n</component>\n",
            escaped(&batch("precustomization"))
        );
    }
    text += &addresses(&c.nics);
    let _ = write!(
        text,
        "</settings>\n<settings pass=\"oobeSystem\">\n{SHELL}\n<OOBE><HideEULAPage>true</HideEULAPage>\
         <HideOnlineAccountScreens>true</HideOnlineAccountScreens><ProtectYourPC>3</ProtectYourPC></OOBE>\n"
    );
    if let Some(password) = &c.password {
        let value = format!("<Value>{}</Value><PlainText>true</PlainText>", escaped(password));
        let _ = writeln!(text, "<UserAccounts><AdministratorPassword>{value}</AdministratorPassword></UserAccounts>");
        if c.auto_logons > 0 {
            let _ = writeln!(
                text,
                "<AutoLogon><Enabled>true</Enabled><LogonCount>{}</LogonCount><Username>Administrator</Username>\
                 <Password>{value}</Password></AutoLogon>",
                c.auto_logons
            );
        }
    }
    let after = [
        script.then(|| batch("postcustomization")),
        (c.expires && c.password.is_some()).then(|| "net user Administrator /logonpasswordchg:yes".to_owned()),
    ];
    let after: Vec<String> = after.into_iter().flatten().collect();
    if !after.is_empty() {
        text += "<FirstLogonCommands>\n";
        for (i, command) in after.iter().enumerate() {
            let _ = writeln!(
                text,
                "<SynchronousCommand wcm:action=\"add\"><Order>{}</Order><CommandLine>{}</CommandLine></SynchronousCommand>",
                i + 1,
                escaped(command)
            );
        }
        text += "</FirstLogonCommands>\n";
    }
    text + "</component>\n</settings>\n</unattend>\n"
}

/// The addresses of ours, with their names' servers. Cards without one ask by DHCP, as they do without being told.
fn addresses(nics: &[GuestNic]) -> String {
    let (mut cards, mut names) = (String::new(), String::new());
    for nic in nics.iter().filter(|n| !n.mac.is_empty()) {
        let GuestAddress::Static { address, prefix, gateway, dns, dns_suffix } = &nic.address else { continue };
        let id = nic.mac.to_uppercase().replace(':', "-");
        let begin = format!("<Interface wcm:action=\"add\"><Identifier>{}</Identifier>", escaped(&id));
        let _ = write!(
            cards,
            "{begin}<Ipv4Settings><DhcpEnabled>false</DhcpEnabled></Ipv4Settings><UnicastIpAddresses>\
             <IpAddress wcm:action=\"add\" wcm:keyValue=\"1\">{address}/{prefix}</IpAddress></UnicastIpAddresses>"
        );
        if nic.primary {
            let _ = write!(
                cards,
                "<Routes><Route wcm:action=\"add\"><Identifier>0</Identifier><Prefix>0.0.0.0/0</Prefix>\
                 <NextHopAddress>{gateway}</NextHopAddress></Route></Routes>"
            );
        }
        cards += "</Interface>\n";
        if dns.is_empty() && dns_suffix.is_empty() {
            continue;
        }
        names += &begin;
        if !dns_suffix.is_empty() {
            let _ = write!(names, "<DNSDomain>{}</DNSDomain>", escaped(dns_suffix));
        }
        if !dns.is_empty() {
            names += "<DNSServerSearchOrder>";
            for (i, server) in dns.iter().enumerate() {
                let _ = write!(names, "<IpAddress wcm:action=\"add\" wcm:keyValue=\"{}\">{server}</IpAddress>", i + 1);
            }
            names += "</DNSServerSearchOrder>";
        }
        names += "</Interface>\n";
    }
    let mut text = String::new();
    for (component, inside) in [(TCPIP, cards), (DNS, names)] {
        if !inside.is_empty() {
            let _ = write!(text, "{component}\n<Interfaces>\n{inside}</Interfaces>\n</component>\n");
        }
    }
    text
}

/// Which letter the disc gets is not known.
fn batch(stage: &str) -> String {
    format!("cmd /c for %d in (D E F G H I) do if exist %d:\\{BATCH} call %d:\\{BATCH} {stage}")
}

/// A text inside XML.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\r' | '\t' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            // no XML can hold these
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Customize {
        Customize {
            run: 3,
            password: Some("it's; $(rm -rf /) <&>".into()),
            expires: true,
            script: "#!/bin/sh\r\necho \"$1\" 'END'\r\n".into(),
            auto_logons: 1,
            nics: Vec::new(),
        }
    }

    #[test]
    fn a_boothook_does_each_change_once_and_no_letter_of_it_is_read_by_the_shell() {
        let text = boothook(&all());
        assert!(text.starts_with("#cloud-boothook\n#!/bin/sh\n"), "{text}");
        assert!(text.contains("run=3\n") && text.ends_with("echo \"$run\" > $home/run\n"), "{text}");
        assert!(!text.contains("rm -rf /)"), "{text}");
        assert!(text.contains(&encoded("root:it's; $(rm -rf /) <&>")), "{text}");
        assert!(text.contains(&encoded("#!/bin/sh\necho \"$1\" 'END'\n")), "{text}");
        assert!(text.contains("passwd -e root"), "{text}");
        let only = boothook(&Customize { script: String::new(), expires: false, ..all() });
        assert!(!only.contains("script") && !only.contains("passwd -e"), "{only}");
    }

    /// The whole of it in a shell, with the guest's programs played.
    #[test]
    fn a_boothook_runs_in_a_shell() {
        let home = std::env::temp_dir().join(format!("ssvirt-boothook-{}", std::process::id()));
        std::fs::create_dir_all(home.join("bin")).expect("a directory");
        let told = home.join("told");
        let play = |name: &str, text: &str| {
            let path = home.join("bin").join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a program");
            std::process::Command::new("chmod").arg("755").arg(&path).status().expect("chmod");
        };
        play("chpasswd", &format!("cat >> {}", told.display()));
        play("passwd", &format!("echo \"passwd $*\" >> {}", told.display()));
        let script = format!("#!/bin/sh\necho \"script $1\" >> {}\n", told.display());
        let text = boothook(&Customize { script, ..all() }).replace("/var/lib", &home.display().to_string());
        let run = || {
            let played = format!("PATH={}:$PATH\n{text}", home.join("bin").display());
            let done = std::process::Command::new("sh").arg("-c").arg(played).status().expect("sh");
            assert!(done.success());
        };
        run();
        run();
        let after = std::process::Command::new(home.join("cloud/scripts/per-boot/ssvirt")).status().expect("after");
        assert!(after.success());
        let told = std::fs::read_to_string(&told).expect("told");
        std::fs::remove_dir_all(&home).expect("cleaned");
        assert_eq!(
            told,
            "script precustomization\nroot:it's; $(rm -rf /) <&>passwd -e root\nscript postcustomization\n"
        );
    }

    #[test]
    fn an_answer_file_is_xml_whatever_is_in_it() {
        let text = unattend("a-name-that-is-too-long", &all());
        assert!(text.contains("<ComputerName>a-name-that-is</ComputerName>"), "{text}");
        assert!(text.contains("<Value>it's; $(rm -rf /) &lt;&amp;&gt;</Value>"), "{text}");
        assert!(text.contains("<LogonCount>1</LogonCount>"), "{text}");
        assert!(text.contains("customize.bat precustomization") && text.contains("customize.bat postcustomization"));
        let nic = |primary, address| GuestNic { mac: "02:00:00:00:00:0a".into(), primary, address };
        let fixed = GuestAddress::Static {
            address: [10, 0, 0, 5].into(),
            prefix: 24,
            gateway: [10, 0, 0, 1].into(),
            dns: vec![[9, 9, 9, 9].into()],
            dns_suffix: "example.org".into(),
        };
        let nics = vec![nic(true, fixed), nic(false, GuestAddress::Dhcp)];
        let with = unattend("web", &Customize { nics, ..Customize::default() });
        for part in [
            "<Identifier>02-00-00-00-00-0A</Identifier><Ipv4Settings><DhcpEnabled>false<",
            ">10.0.0.5/24</IpAddress>",
            "<NextHopAddress>10.0.0.1<",
            "<DNSDomain>example.org</DNSDomain><DNSServerSearchOrder><IpAddress wcm:action=\"add\" wcm:keyValue=\"1\">9.9.9.9<",
        ] {
            assert!(with.contains(part), "{part}: {with}");
        }
        assert_eq!(with.matches("<Interface ").count(), 2, "the card that asks by DHCP is left alone: {with}");
        let bare = unattend("web", &Customize::default());
        assert!(!bare.contains("TCPIP") && !bare.contains("DNS-Client"), "{bare}");
        assert!(!bare.contains("AdministratorPassword") && !bare.contains("RunSynchronous"), "{bare}");
    }
}
