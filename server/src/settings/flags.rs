//! One flag a setting, for every command that reads settings.

use super::table::{Row, TABLE};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, builder::PathBufValueParser};
use std::path::PathBuf;

#[derive(Debug, Clone, Default)]
pub struct SettingFlags {
    /// The settings file named by `--config`.
    pub config: Option<PathBuf>,
    pub set: Vec<(&'static Row, String)>,
}

impl Args for SettingFlags {
    fn augment_args(cmd: Command) -> Command {
        let config = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(PathBufValueParser::new())
            .help("Settings file (TOML); also SSVIRT_CONFIG, else /etc/ssvirt/ssvirt.toml if there is one");
        let cmd = cmd
            .next_help_heading("Settings (a flag wins over the environment, the environment over the file)")
            .arg(config);
        TABLE.iter().fold(cmd, |cmd, row| match row.flag() {
            Some(flag) => {
                let arg = Arg::new(row.key).long(flag).value_name(row.kind.placeholder()).help(row.help);
                cmd.arg(match row.also_flag {
                    Some(short) => arg.visible_alias(short),
                    None => arg,
                })
            }
            None => cmd,
        })
    }

    fn augment_args_for_update(cmd: Command) -> Command {
        Self::augment_args(cmd)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |row: &'static Row| {
            row.flag()?;
            matches.get_one::<String>(row.key).map(|text| (row, text.clone()))
        };
        Ok(SettingFlags { config: matches.get_one("config").cloned(), set: TABLE.iter().filter_map(given).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
