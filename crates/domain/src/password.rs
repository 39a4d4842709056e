//! Passwords: argon2id with 19 MiB, two passes, one lane (OWASP's first choice), and only so many at once.
use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString, rand_core::OsRng},
};
use model::{Error, Result, user::Password};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// How long a sign-in waits for its turn before it is told to come back.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Hasher {
    turns: Arc<Semaphore>,
    /// Compared with when there is no such user, so that it takes as long as when there is one.
    decoy: Arc<str>,
}

impl Hasher {
    /// At most `at_once` hashes at a time: each takes 19 MiB and a core.
    pub fn new(at_once: usize) -> Result<Hasher> {
        let decoy = hash("a password that nobody has")?;
        Ok(Hasher { turns: Arc::new(Semaphore::new(at_once.max(1))), decoy: decoy.into() })
    }

    pub async fn hash(&self, password: &Password) -> Result<String> {
        let password = password.clone();
        self.in_turn(move || hash(password.expose())).await
    }

    /// Does the password fit? Without a hash the answer is no, after the same time.
    pub async fn verify(&self, password: &Password, hash: Option<&str>) -> Result<bool> {
        let (password, real) = (password.clone(), hash.is_some());
        let hash = hash.map_or_else(|| self.decoy.to_string(), str::to_owned);
        self.in_turn(move || {
            let parsed = PasswordHash::new(&hash).map_err(|e| Error::Internal(format!("password hash: {e}")))?;
            Ok(argon2()?.verify_password(password.expose().as_bytes(), &parsed).is_ok() && real)
        })
        .await
    }

    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let turn = tokio::time::timeout(PATIENCE, self.turns.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| busy())?.map_err(|_| busy())?;
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        })
        .await
        .map_err(|e| Error::Internal(format!("hashing: {e}")))?
    }
}

fn busy() -> Error {
    Error::TooMany {
        message: "Too many people sign in at this moment. Try again in a few seconds.".into(),
        retry_after_s: 5,
    }
}

fn argon2() -> Result<Argon2<'static>> {
    let params = Params::new(19 * 1024, 2, 1, None).map_err(|e| Error::Internal(format!("argon2: {e}")))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hash(password: &str) -> Result<String> {
    let salt = SaltString::generate(&mut OsRng);
    let hash =
        argon2()?.hash_password(password.as_bytes(), &salt).map_err(|e| Error::Internal(format!("argon2: {e}")))?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_fits_its_own_hash_and_no_other() {
        let h = Hasher::new(1).expect("hasher");
        let hash = h.hash(&Password::new("correct horse")).await.expect("hash");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(h.verify(&Password::new("correct horse"), Some(&hash)).await.expect("verify"));
        assert!(!h.verify(&Password::new("correct house"), Some(&hash)).await.expect("verify"));
        assert!(!h.verify(&Password::new("a password that nobody has"), None).await.expect("verify"));
    }
}
