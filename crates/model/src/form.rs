//! What an object on a hub asks for, as one number a part: enough to tell that somebody changed it, and which part of it.
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    pub size: u64,
    pub disks: u64,
    pub nics: u64,
    /// All else, but whether it runs.
    pub rest: u64,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}{:016x}{:016x}", self.size, self.disks, self.nics, self.rest)
    }
}

impl FromStr for Form {
    type Err = ();

    fn from_str(text: &str) -> Result<Form, ()> {
        if text.len() != 64 {
            return Err(());
        }
        let part = |i: usize| {
            let digits = text.get(i * 16..(i + 1) * 16).ok_or(())?;
            u64::from_str_radix(digits, 16).map_err(|_| ())
        };
        Ok(Form { size: part(0)?, disks: part(1)?, nics: part(2)?, rest: part(3)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_as_it_was_written() {
        let form = Form { size: 1, disks: u64::MAX, nics: 0xabc, rest: 0 };
        assert_eq!(form.to_string().parse(), Ok(form));
        for bad in ["", "1", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(bad.parse::<Form>(), Err(()), "{bad}");
        }
    }
}
