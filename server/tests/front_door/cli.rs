//! The commands as an operator types them.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

const SECRET: &str = "q83Vn0Jr1Lx7Zt5Hc2Wb9Ky4Md6Pf8Ga";

/// Runs the binary with this environment only.
pub(crate) fn ssvirt(args: &[&str], env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssvirt"));
    command.args(args).env_clear().envs(env.iter().copied());
    command
}

fn run(args: &[&str], env: &[(&str, &str)]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = ssvirt(args, env).output().unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn version_and_help() {
    assert_eq!(run(&["--version"], &[]), (0, format!("ssvirt {}\n", env!("CARGO_PKG_VERSION")), String::new()));
    let (code, help, _) = run(&["demo", "--help"], &[]);
    assert_eq!(code, 0);
    for flag in ["--http", "--https", "--data-dir", "--sim-delay", "--seed-scale", "--config"] {
        assert!(help.contains(flag), "{flag} is not in\n{help}");
    }
}

#[test]
fn serve_refuses_missing_and_weak_secrets_a_line_each() {
    let (code, _, said) = run(&["serve"], &[]);
    assert_eq!(code, 2);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(
        said.contains("ssvirt: database.url is not set") && said.contains("ssvirt: auth.secret is not set"),
        "{said}"
    );

    for (weak, why) in
        [("your-secret-key", "sample"), ("Zq81x", "5 bytes"), ("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "repeats")]
    {
        let (code, _, said) = run(&["serve", "--database-url", "postgres://u@h/d"], &[("JWT_SECRET_KEY", weak)]);
        assert_eq!(code, 2);
        assert!(said.contains(why) && !said.contains(weak), "{said}");
    }
}

#[test]
fn check_shows_values_and_sources_and_no_secret() {
    let env = [
        ("DATABASE_URL", "postgres://ssvirt:canary@127.0.0.1:1/ssvirt"),
        ("JWT_SECRET_KEY", SECRET),
        ("API_PORT", "9001"),
        ("LOG_LEVEL", "debug"),
    ];
    let (code, said, _) = run(&["check", "--log-level", "warn"], &env);
    assert_eq!(code, 1);
    let line = |key: &str| said.lines().find(|line| line.trim_start().starts_with(key)).unwrap_or_default().to_owned();
    assert!(line("database.url").contains("postgres://ssvirt:****@127.0.0.1:1/ssvirt"), "{said}");
    assert!(
        line("auth.secret").contains("set, 32 characters")
            && line("auth.secret").ends_with("environment JWT_SECRET_KEY"),
        "{said}"
    );
    assert!(line("api.http").contains("0.0.0.0:9001") && line("api.http").ends_with("environment API_PORT"), "{said}");
    assert!(line("log.level").contains("warn") && line("log.level").ends_with("flag --log-level"), "{said}");
    assert!(line("limits.body_bytes").ends_with("default"), "{said}");
    assert!(said.contains("the database does not answer"), "{said}");
    assert!(!said.contains("canary") && !said.contains(SECRET), "{said}");
}

#[test]
fn a_file_is_named_with_its_lines() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli.toml");
    std::fs::write(&path, format!("[auth]\nsecret = \"{SECRET}\"\n[databas]\nurl = \"x\"\n")).unwrap();
    let (code, said, _) = run(&["check"], &[("SSVIRT_CONFIG", &path.to_string_lossy())]);
    assert_eq!(code, 1);
    assert!(said.contains("cli.toml line 2") && said.contains("line 3: unknown setting databas"), "{said}");
    assert!(said.contains("every user of the machine can read it") && !said.contains(SECRET), "{said}");
}

#[test]
fn the_secret_has_no_flag() {
    let (code, _, said) = run(&["serve", "--auth-secret", "x"], &[]);
    assert_eq!(code, 2);
    assert!(said.contains("unexpected argument"), "{said}");
}

#[test]
fn commands_that_need_a_database_say_so() {
    for args in [&["migrate"][..], &["user", "create-admin", "--name", "root"]] {
        let (code, _, said) = run(args, &[]);
        assert_eq!((code, said.as_str()), (2, "ssvirt: database.url is not set; set DATABASE_URL\n"));
    }
    let (code, _, said) = run(&["migrate"], &[("DATABASE_URL", "postgres://u:canary@127.0.0.1:1/d")]);
    assert_eq!(code, 1);
    assert!(said.contains("does not answer") && !said.contains("canary"), "{said}");
}
