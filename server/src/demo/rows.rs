//! Rows in the text form of PostgreSQL's COPY.

use std::fmt::{Display, Write};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

#[derive(Default)]
pub(super) struct Rows {
    pub(super) text: String,
    columns: usize,
}

impl Rows {
    pub(super) fn value(&mut self, value: impl Display) -> &mut Rows {
        self.next_column();
        let start = self.text.len();
        // writing into a string can't fail
        let _ = write!(self.text, "{value}");
        if self.text[start..].contains(['\\', '\t', '\n', '\r']) {
            let value = self.text.split_off(start);
            let escaped = value.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
            self.text.push_str(&escaped);
        }
        self
    }

    /// None is SQL's null.
    pub(super) fn maybe(&mut self, value: Option<impl Display>) -> &mut Rows {
        match value {
            Some(value) => self.value(value),
            None => {
                self.next_column();
                self.text.push_str("\\N");
                self
            }
        }
    }

    pub(super) fn time(&mut self, at: OffsetDateTime) -> &mut Rows {
        self.maybe(at.format(&Rfc3339).ok())
    }

    pub(super) fn end(&mut self) {
        self.text.push('\n');
        self.columns = 0;
    }

    fn next_column(&mut self) {
        if self.columns > 0 {
            self.text.push('\t');
        }
        self.columns += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_value_is_escaped() {
        let mut rows = Rows::default();
        rows.value("a\tb\\c").maybe(None::<i64>).maybe(Some(7)).end();
        rows.value("second\nline").end();
        assert_eq!(rows.text, "a\\tb\\\\c\t\\N\t7\nsecond\\nline\n");
    }
}
