//! Filters of CloudAPI: the whole of one is decoded and then read. What is read is written and read again as it was.
#![no_main]
use model::query::{Clause, Filter, Op};

fn sign(op: Op) -> &'static str {
    match op {
        Op::Is => "==",
        Op::IsNot => "!=",
        Op::Less => "=lt=",
        Op::LessOrSame => "=le=",
        Op::More => "=gt=",
        Op::MoreOrSame => "=ge=",
    }
}

/// From the pattern, which tells stars that stand for anything from those that do not.
fn clause(c: &Clause, out: &mut String) {
    out.push_str(&c.field);
    out.push_str(sign(c.op));
    let pattern = c.value.pattern();
    let mut chars = pattern.chars();
    while let Some(one) = chars.next() {
        match one {
            '%' => out.push('*'),
            '\\' => out.extend(['\\', chars.next().unwrap_or('\\')]),
            other => out.extend(['\\', other]),
        }
    }
}

/// Parentheses only where they change what is meant, so that nothing is nested deeper than it was.
fn write(filter: &Filter, out: &mut String) {
    let (parts, join) = match filter {
        Filter::Is(c) => return clause(c, out),
        Filter::All(parts) => (parts, ';'),
        Filter::Any(parts) => (parts, ','),
    };
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            out.push(join);
        }
        let around = match part {
            Filter::Is(_) => false,
            Filter::All(_) => join == ';',
            Filter::Any(_) => true,
        };
        out.push_str(if around { "(" } else { "" });
        write(part, out);
        out.push_str(if around { ")" } else { "" });
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes).replace('+', " ");
    let Ok(text) = percent_encoding::percent_decode_str(&text).decode_utf8() else { return };
    let Ok(filter) = Filter::parse(&text) else { return };
    assert!(filter.clauses().len() <= 200 && filter.clauses().iter().all(|c| !c.field.is_empty()));
    let _ = filter.holds(&mut |c| Ok(c.value.fits(&text)));
    let mut written = String::new();
    write(&filter, &mut written);
    // with all that is escaped it may be longer than is read
    if written.len() <= 16 * 1024 {
        assert_eq!(Filter::parse(&written).as_ref(), Ok(&filter), "{written}");
    }
});
