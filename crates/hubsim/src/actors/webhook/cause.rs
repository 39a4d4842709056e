//! What a webhook finds wrong, field by field.

pub(crate) use crate::hooks::Cause;

/// Collects causes.
#[derive(Default)]
pub(crate) struct Causes(pub(crate) Vec<Cause>);

impl Causes {
    pub(crate) fn invalid(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.add("FieldValueInvalid", field, message);
    }

    pub(crate) fn required(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.add("FieldValueRequired", field, message);
    }

    pub(crate) fn add(&mut self, reason: &'static str, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(Cause { reason, message: message.into(), field: field.into() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The text of a refusal: ten causes at most, and how many more there are.
pub(crate) fn message(causes: &[Cause]) -> String {
    const MOST: usize = 10;
    let mut text = causes.iter().take(MOST).map(|c| c.message.as_str()).collect::<Vec<_>>().join(", ");
    if causes.len() > MOST {
        text.push_str(&format!(", and {} more validation errors", causes.len() - MOST));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_causes_are_told_and_the_rest_counted() {
        let mut causes = Causes::default();
        for i in 0..12 {
            causes.invalid("f", format!("m{i}"));
        }
        let text = message(&causes.0);
        assert!(text.starts_with("m0, m1, ") && text.ends_with("m9, and 2 more validation errors"), "{text}");
    }
}
