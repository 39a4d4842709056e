//! Logs: one event a line on standard error, as JSON or for people, every one with the id of the request it belongs to.

use crate::settings::{Log, LogFormat};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Crates whose own detail `log.level` is about. The others stay at info: their debug output would bury ours.
const OURS: &[&str] = &["server", "ssvirt", "app", "domain", "store", "model", "hub", "work", "hubsim"];

/// `debug` means our own crates at debug; `info,store=debug` is taken as it stands.
pub fn levels(text: &str) -> Result<Targets, String> {
    if let Ok(level) = text.parse::<LevelFilter>() {
        let others = level.min(LevelFilter::INFO);
        // "already exists, skipping" at every start
        let base =
            Targets::new().with_default(others).with_target("sqlx::postgres::notice", level.min(LevelFilter::WARN));
        return Ok(OURS.iter().fold(base, |targets, ours| targets.with_target(*ours, level)));
    }
    // a word alone would be taken for a module at its loudest
    let clear = text.split(',').all(|part| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok());
    text.parse().ok().filter(|_| clear).ok_or_else(|| {
        format!("is `{text}`, but must be error, warn, info, debug or trace, or a list such as info,store=debug")
    })
}

/// Starts logging for the whole process. A second call changes nothing.
pub fn start(log: &Log) {
    let output = match log.format {
        LogFormat::Json => fmt::layer()
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .with_target(true)
            .with_writer(std::io::stderr)
            .boxed(),
        LogFormat::Pretty => {
            let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
            fmt::layer().compact().with_ansi(colours).with_target(false).with_writer(std::io::stderr).boxed()
        }
    };
    if tracing_subscriber::registry().with(output.with_filter(log.levels.clone())).try_init().is_ok() {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            let message = panic.payload_as_str().unwrap_or("no message");
            tracing::error!(place, message, "panicked");
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn a_plain_level_is_about_our_own_crates() {
        let debug = levels("debug").unwrap();
        assert!(debug.would_enable("server::edge", &Level::DEBUG) && !debug.would_enable("hyper", &Level::DEBUG));
        assert!(debug.would_enable("hyper", &Level::INFO));
        let warn = levels("WARN").unwrap();
        assert!(!warn.would_enable("server", &Level::INFO) && !warn.would_enable("hyper", &Level::INFO));
    }

    #[test]
    fn levels_by_module() {
        let targets = levels("info,store=debug").unwrap();
        assert!(targets.would_enable("store::pool", &Level::DEBUG) && !targets.would_enable("server", &Level::DEBUG));
        assert!(levels("loud").is_err() && levels("store=loud").is_err());
    }
}
