//! Questions as VCD's clients put them: filters in FIQL's form, a sort, and pages by number.
use crate::{Error, Result};
use uuid::Uuid;

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Is,
    IsNot,
    Less,
    LessOrSame,
    More,
    MoreOrSame,
}

impl Op {
    /// Longer ones first: `==` begins like none of the others, but `=` alone is no operator.
    const ALL: [(&'static str, Op); 8] = [
        ("==", Op::Is),
        ("!=", Op::IsNot),
        ("=lt=", Op::Less),
        ("=le=", Op::LessOrSame),
        ("=gt=", Op::More),
        ("=ge=", Op::MoreOrSame),
        ("=lte=", Op::LessOrSame),
        ("=gte=", Op::MoreOrSame),
    ];

    pub fn sql(self) -> &'static str {
        match self {
            Op::Is => "=",
            Op::IsNot => "<>",
            Op::Less => "<",
            Op::LessOrSame => "<=",
            Op::More => ">",
            Op::MoreOrSame => ">=",
        }
    }

    pub fn holds<T: Ord>(self, a: &T, b: &T) -> bool {
        match self {
            Op::Is => a == b,
            Op::IsNot => a != b,
            Op::Less => a < b,
            Op::LessOrSame => a <= b,
            Op::More => a > b,
            Op::MoreOrSame => a >= b,
        }
    }
}

/// One comparison: a field, how, and with what. The value is as it was meant, without any encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    pub field: String,
    pub op: Op,
    pub value: Value,
}

/// A value, and the stars in it that stand for anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The pieces between stars: one piece means that there is no star.
    pieces: Vec<String>,
}

impl Value {
    pub fn exactly(text: impl Into<String>) -> Value {
        Value { pieces: vec![text.into()] }
    }

    pub fn has_stars(&self) -> bool {
        self.pieces.len() > 1
    }

    /// As it was written, stars included.
    pub fn text(&self) -> String {
        self.pieces.join("*")
    }

    /// For SQL's `like`.
    pub fn pattern(&self) -> String {
        let escaped = |p: &String| p.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        self.pieces.iter().map(escaped).collect::<Vec<_>>().join("%")
    }

    pub fn fits(&self, text: &str) -> bool {
        let [first, middle @ .., last] = self.pieces.as_slice() else {
            return self.pieces.first().is_some_and(|p| p == text);
        };
        let Some(rest) = text.strip_prefix(first.as_str()) else { return false };
        let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
        for piece in middle {
            match rest.find(piece.as_str()) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        true
    }

    /// The last UUID in it: clients name things by id, URN or address as it comes.
    pub fn id(&self) -> Option<Uuid> {
        last_uuid(&self.text())
    }
}

/// The last UUID that stands in a text.
pub fn last_uuid(text: &str) -> Option<Uuid> {
    (0..=text.len().checked_sub(36)?)
        .rev()
        .filter_map(|at| text.get(at..at + 36))
        .find_map(|part| Uuid::try_parse(part).ok())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Is(Clause),
}

/// No question is longer, has more parts, or is nested deeper.
const LONGEST: usize = 16 * 1024;
const MOST_CLAUSES: usize = 200;
const DEEPEST: usize = 16;

impl Filter {
    /// Of text that is not encoded any more. Empty: no condition at all.
    pub fn parse(text: &str) -> Result<Filter> {
        Filter::read(text, |value| Ok(value.to_owned()))
    }

    /// Of text in which each value is still encoded as in addresses, so that what looks like structure within one is none.
    pub fn parse_encoded(text: &str, decode: impl Fn(&str) -> Result<String> + Copy) -> Result<Filter> {
        Filter::read(text, decode)
    }

    fn read(text: &str, decode: impl Fn(&str) -> Result<String> + Copy) -> Result<Filter> {
        if text.len() > LONGEST {
            return Err(unreadable("it is too long"));
        }
        let mut reader = Reader { rest: text, clauses: 0, decode };
        let all = reader.any(0)?;
        match reader.rest.is_empty() {
            true => Ok(all),
            false => Err(unreadable("a parenthesis is closed that was never opened")),
        }
    }

    /// Are these the conditions of nothing?
    pub fn is_empty(&self) -> bool {
        matches!(self, Filter::All(parts) | Filter::Any(parts) if parts.is_empty())
    }

    pub fn clauses(&self) -> Vec<&Clause> {
        match self {
            Filter::All(parts) | Filter::Any(parts) => parts.iter().flat_map(Filter::clauses).collect(),
            Filter::Is(clause) => vec![clause],
        }
    }

    /// What a field has to be in any case, if that is said at all.
    pub fn demanded(&self, field: &str) -> Option<&Value> {
        match self {
            Filter::Is(c) => (c.field == field && c.op == Op::Is).then_some(&c.value),
            Filter::All(parts) => parts.iter().find_map(|p| p.demanded(field)),
            Filter::Any(_) => None,
        }
    }

    /// The same with other clauses: each may become several.
    #[must_use]
    pub fn rewritten(self, each: &impl Fn(Clause) -> Filter) -> Filter {
        let all = |parts: Vec<Filter>| parts.into_iter().map(|p| p.rewritten(each)).collect();
        match self {
            Filter::All(parts) => Filter::All(all(parts)),
            Filter::Any(parts) => Filter::Any(all(parts)),
            Filter::Is(clause) => each(clause),
        }
    }

    /// Does something hold for which each clause can be decided?
    pub fn holds(&self, decide: &mut impl FnMut(&Clause) -> Result<bool>) -> Result<bool> {
        match self {
            Filter::All(parts) => {
                for part in parts {
                    if !part.holds(decide)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Filter::Any(parts) => {
                for part in parts {
                    if part.holds(decide)? {
                        return Ok(true);
                    }
                }
                Ok(parts.is_empty())
            }
            Filter::Is(clause) => decide(clause),
        }
    }
}

fn unreadable(why: &str) -> Error {
    Error::BadRequest(format!("The filter can't be read: {why}. It looks like name==web*;status==POWERED_ON."))
}

struct Reader<'a, D> {
    rest: &'a str,
    clauses: usize,
    decode: D,
}

impl<D: Fn(&str) -> Result<String>> Reader<'_, D> {
    /// `;` binds stronger than `,`.
    fn any(&mut self, depth: usize) -> Result<Filter> {
        let mut parts = vec![self.all(depth)?];
        while let Some(rest) = self.rest.strip_prefix(',') {
            self.rest = rest;
            parts.push(self.all(depth)?);
        }
        Ok(simplest(parts, Filter::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Filter> {
        let mut parts = vec![self.one(depth)?];
        while let Some(rest) = self.rest.strip_prefix(';') {
            self.rest = rest;
            parts.push(self.one(depth)?);
        }
        Ok(simplest(parts, Filter::All))
    }

    fn one(&mut self, depth: usize) -> Result<Filter> {
        if depth > DEEPEST {
            return Err(unreadable("its parentheses are nested too deep"));
        }
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let inner = self.any(depth + 1)?;
            self.rest = self.rest.strip_prefix(')').ok_or_else(|| unreadable("a parenthesis is not closed"))?;
            return Ok(inner);
        }
        let (text, rest) = self.rest.split_at(end_of_clause(self.rest));
        self.rest = rest;
        if text.trim().is_empty() {
            return Ok(Filter::All(Vec::new()));
        }
        self.clauses += 1;
        if self.clauses > MOST_CLAUSES {
            return Err(unreadable("it has too many conditions"));
        }
        clause(text, &self.decode).map(Filter::Is)
    }
}

/// Conditions that say nothing are left out, and one alone needs nothing around it.
fn simplest(parts: Vec<Filter>, join: fn(Vec<Filter>) -> Filter) -> Filter {
    let mut parts: Vec<Filter> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    match parts.len() {
        0 => Filter::All(Vec::new()),
        1 => parts.remove(0),
        _ => join(parts),
    }
}

/// Up to the next character that means something; one behind a backslash does not.
fn end_of_clause(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ';' | ',' | '(' | ')' => return at,
            _ => {}
        }
    }
    text.len()
}

fn clause(text: &str, decode: &impl Fn(&str) -> Result<String>) -> Result<Clause> {
    let at = text.find(['=', '!']).ok_or_else(|| unreadable("a condition has no operator"))?;
    let (field, rest) = text.split_at(at);
    let known = Op::ALL.into_iter().find_map(|(sign, op)| Some((op, rest.strip_prefix(sign)?)));
    let (op, value) = known.ok_or_else(|| unreadable("a condition has an operator that nobody knows"))?;
    let field = decode(field)?.trim().to_owned();
    if field.is_empty() {
        return Err(unreadable("a condition names no field"));
    }
    Ok(Clause { field, op, value: value_of(&decode(value)?) })
}

fn value_of(text: &str) -> Value {
    let mut pieces = vec![String::new()];
    let mut chars = text.chars();
    let push = |pieces: &mut Vec<String>, c| {
        if let Some(last) = pieces.last_mut() {
            last.push(c);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '*' => pieces.push(String::new()),
            '\\' => push(&mut pieces, chars.next().unwrap_or('\\')),
            c => push(&mut pieces, c),
        }
    }
    Value { pieces }
}

/// One numbered page of what fits a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    pub filter: Filter,
    /// A field, and whether the largest comes first.
    pub sort: Option<(String, bool)>,
    /// The first is 1.
    pub page: u32,
    pub size: u32,
}

/// As VCD has it.
pub const MOST_ON_PAGE: u32 = 128;
pub const ON_PAGE: u32 = 25;

impl Default for Numbered {
    fn default() -> Numbered {
        Numbered { filter: Filter::All(Vec::new()), sort: None, page: 1, size: ON_PAGE }
    }
}

impl Numbered {
    /// The first page of what has this value, as large as a page can be.
    pub fn with(field: &str, value: impl Into<String>) -> Numbered {
        let clause = Clause { field: field.to_owned(), op: Op::Is, value: Value::exactly(value) };
        Numbered { filter: Filter::Is(clause), size: MOST_ON_PAGE, ..Numbered::default() }
    }

    /// And this as well.
    #[must_use]
    pub fn and(mut self, field: &str, value: impl Into<String>) -> Numbered {
        let clause = Filter::Is(Clause { field: field.to_owned(), op: Op::Is, value: Value::exactly(value) });
        self.filter = Filter::All(vec![self.filter, clause]);
        self
    }

    pub fn offset(&self) -> i64 {
        i64::from(self.page.saturating_sub(1)) * i64::from(self.size)
    }
}

/// A page, and how many there are in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    pub items: Vec<T>,
    pub total: i64,
}

impl<T> Found<T> {
    pub fn map<U>(self, read: impl FnMut(T) -> U) -> Found<U> {
        Found { items: self.items.into_iter().map(read).collect(), total: self.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(field: &str, op: Op, value: &str) -> Filter {
        Filter::Is(Clause { field: field.into(), op, value: value_of(value) })
    }

    #[test]
    fn and_binds_stronger_than_or_and_parentheses_stronger_still() {
        let read = |text| Filter::parse(text).expect(text);
        let (a, b, c) = (is("a", Op::Is, "1"), is("b", Op::IsNot, "2"), is("c", Op::MoreOrSame, "3"));
        let both = Filter::All(vec![a.clone(), b.clone()]);
        assert_eq!(read("a==1;b!=2,c=ge=3"), Filter::Any(vec![both, c.clone()]));
        let either = Filter::Any(vec![b, c]);
        assert_eq!(read("(a==1;(b!=2,c=ge=3))"), Filter::All(vec![a.clone(), either]));
        assert_eq!(read(";a==1;"), a);
        assert!(read("").is_empty() && read("();,").is_empty());
        for bad in ["a", "a=1", "==1", "(a==1", "a==1)", "a=xx=1", &"(".repeat(40)] {
            assert!(Filter::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_value_may_hold_what_is_structure_elsewhere_and_stars_stand_for_anything() {
        let value = |text| Filter::parse(text).expect(text).clauses()[0].value.clone();
        assert_eq!(value(r"name==a\,b\(c\)").text(), "a,b(c)");
        assert!(value("name==web*").fits("web-1") && !value("name==web*").fits("1-web"));
        assert!(value("name==*a*b*").fits("xaxbx") && !value("name==*a*b*").fits("ba"));
        assert!(value("name==*").fits("") && !value("name==a*a").fits("a"));
        assert!(value(r"name==a\*").fits("a*") && !value(r"name==a\*").has_stars());
        assert_eq!(value("name==50%_*").pattern(), r"50\%\_%");
    }

    #[test]
    fn things_are_found_by_id_urn_and_address_alike() {
        let id = "0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92";
        let uuid = Uuid::try_parse(id).ok();
        for text in
            [id.to_owned(), format!("urn:vcloud:vdc:{id}"), format!("https://h/api/vdc/{id}"), format!("x{id}/")]
        {
            assert_eq!(last_uuid(&text), uuid, "{text}");
        }
        assert_eq!(last_uuid("ü"), None);
        assert_eq!(last_uuid(&"ü".repeat(30)), None);
    }

    #[test]
    fn whatever_is_written_an_answer_comes() {
        // a small generator of its own: this crate has no random numbers
        let mut state: u64 = 88_172_645_463_325_252;
        let mut next = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap_or_default()
        };
        const PIECES: [&str; 16] = [
            "name",
            "==",
            "!=",
            "=gt=",
            "=le=",
            ";",
            ",",
            "(",
            ")",
            "*",
            "\\",
            "%",
            "ü",
            " ",
            "urn:vcloud:vm:",
            "0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92",
        ];
        let (mut taken, mut refused) = (0, 0);
        for _ in 0..50_000 {
            let text: String = (0..next(14)).map(|_| PIECES[next(PIECES.len())]).collect();
            match Filter::parse(&text) {
                Ok(filter) => {
                    taken += 1;
                    let _ = filter.holds(&mut |c| Ok(c.value.fits(&text) && c.value.id().is_some()));
                    filter.clauses().iter().for_each(|c| assert!(!c.field.is_empty(), "{text}"));
                }
                Err(_) => refused += 1,
            }
        }
        assert!(taken > 500 && refused > 10_000, "{taken} taken, {refused} refused");
    }
}
