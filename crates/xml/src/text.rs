//! Which characters XML can carry at all, the same for reader and writer.

/// As XML 1.0 has it: no control characters but white space and those behind ASCII, and neither of the two that are no characters.
pub fn allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}
