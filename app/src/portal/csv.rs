//! Lists as files, however long: rows go out as they are read. Cells that a spreadsheet would run as a formula are made
//! text.
use super::Visit;
use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures::{StreamExt, stream};
use model::{
    Result,
    list::{Cursor, ListQuery, ListSpec, Page},
};
use std::future::Future;

/// So many rows are read at once.
const AT_ONCE: u32 = 1000;

/// The beginning of a file: its name and its heads.
pub struct CsvHead {
    name: &'static str,
    text: String,
}

pub struct Csv {
    name: &'static str,
    body: Body,
}

impl Csv {
    pub fn head(name: &'static str, heads: &[&str]) -> CsvHead {
        let mut text = String::new();
        write_row(&mut text, heads.iter().map(|h| (*h).to_owned()));
        CsvHead { name, text }
    }
}

impl CsvHead {
    /// Every row of a list that the address asks for: `page` reads some of them, `cells` writes one. The first ones are
    /// read at once, so that a refusal is answered as one.
    pub async fn rows<T, F, Fut, const N: usize>(
        self,
        visit: Visit,
        spec: &ListSpec,
        page: F,
        cells: fn(T) -> [String; N],
    ) -> Result<Csv>
    where
        T: 'static,
        F: Fn(Visit, ListQuery) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Page<T>>> + Send + 'static,
    {
        let query = ListQuery { limit: AT_ONCE, ..visit.list_query(spec)? };
        let (rows, next) = written(page(visit.clone(), query.clone()).await?, cells);
        let rest = stream::unfold((next, page), move |(next, page)| {
            let (visit, query) = (visit.clone(), ListQuery { cursor: next.clone(), ..query.clone() });
            async move {
                next.as_ref()?;
                match page(visit, query).await {
                    Ok(read) => {
                        let (rows, next) = written(read, cells);
                        Some((Ok(rows), (next, page)))
                    }
                    // a file that breaks off is seen to be broken; one that just ended would be taken for whole
                    Err(e) => {
                        tracing::error!(error = ?e, "a file broke off");
                        Some((Err(e), (None, page)))
                    }
                }
            }
        });
        // compression looks once more after the end, which `unfold` by itself does not stand
        let body = stream::iter([Ok(Bytes::from(self.text)), Ok(rows)]).chain(rest).fuse();
        Ok(Csv { name: self.name, body: Body::from_stream(body) })
    }
}

/// A page's rows, and where the next page begins.
fn written<T, const N: usize>(page: Page<T>, cells: fn(T) -> [String; N]) -> (Bytes, Option<Cursor>) {
    let mut text = String::new();
    page.items.into_iter().for_each(|item| write_row(&mut text, cells(item)));
    (Bytes::from(text), page.after)
}

fn write_row(text: &mut String, cells: impl IntoIterator<Item = String>) {
    for (i, cell) in cells.into_iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        text.push_str(&quoted(&cell));
    }
    text.push_str("\r\n");
}

fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

impl IntoResponse for Csv {
    fn into_response(self) -> Response {
        let file = format!("attachment; filename=\"{}.csv\"", self.name);
        let mut res = ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], self.body).into_response();
        if let Ok(v) = HeaderValue::from_str(&file) {
            res.headers_mut().insert(header::CONTENT_DISPOSITION, v);
        }
        res
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_formulas_are_text() {
        let mut text = Csv::head("x", &["a", "b"]).text;
        write_row(&mut text, ["say \"hi\", you".into(), "=1+1".into()]);
        write_row(&mut text, ["-5".into(), "two\nlines".into()]);
        assert_eq!(text, "a,b\r\n\"say \"\"hi\"\", you\",'=1+1\r\n-5,\"two\nlines\"\r\n");
    }
}
