//! The end of the process: streams end at once, requests may finish, a second signal does not wait.

use tokio::sync::watch;

/// Says whether the process is about to end. Everything that would run for ever waits for it too.
#[derive(Debug, Clone)]
pub struct Shutdown(watch::Sender<bool>);

impl Default for Shutdown {
    fn default() -> Self {
        Shutdown(watch::Sender::new(false))
    }
}

impl Shutdown {
    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    pub fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when the process is about to end: a stream selects on this.
    pub async fn begun(&self) {
        let mut watch = self.0.subscribe();
        // an error means that every sender is gone, which is an end too
        let _ = watch.wait_for(|begun| *begun).await;
    }

    /// Begins at the first SIGTERM or SIGINT and ends the process at the second. A closed terminal (SIGHUP) ends what was started in
    /// one, and is nothing to a service: there it only loads certificates again.
    #[expect(clippy::disallowed_methods, reason = "a second signal means: at once")]
    pub fn listen_for_signals(&self, of_a_terminal: bool) -> std::io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        // listened for in any case: otherwise it would kill the process
        let mut hangup = signal(SignalKind::hangup())?;
        let shutdown = self.clone();
        tokio::spawn(async move {
            let mut next = async || loop {
                tokio::select! {
                    _ = term.recv() => return "SIGTERM",
                    _ = int.recv() => return "SIGINT",
                    _ = hangup.recv() => if of_a_terminal { return "SIGHUP" },
                }
            };
            let first = next().await;
            tracing::info!(signal = first, "shutting down; a second signal ends at once");
            shutdown.begin();
            let second = next().await;
            tracing::warn!(signal = second, "ended by a second signal");
            std::process::exit(130);
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn waiters_of_before_and_after_see_it() {
        let shutdown = Shutdown::default();
        let early = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.begun().await }
        });
        assert!(tokio::time::timeout(Duration::from_millis(20), shutdown.begun()).await.is_err());
        shutdown.begin();
        early.await.unwrap();
        shutdown.begun().await;
        assert!(shutdown.has_begun());
    }
}
