//! Lists as files. Cells that a spreadsheet would run as a formula are made text.
use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use model::{
    Result,
    list::{ListQuery, Page},
};
use std::future::Future;

/// So many rows are read at once.
const AT_ONCE: u32 = 1000;

pub struct Csv {
    name: &'static str,
    text: String,
}

impl Csv {
    pub fn new(name: &'static str, heads: &[&str]) -> Csv {
        let mut csv = Csv { name, text: String::new() };
        csv.row(heads.iter().map(|h| (*h).to_owned()));
        csv
    }

    /// Every row of a list: `page` reads some of them, `cells` writes one.
    pub async fn rows<T, F, Fut, const N: usize>(
        mut self,
        query: ListQuery,
        page: F,
        cells: fn(T) -> [String; N],
    ) -> Result<Csv>
    where
        F: Fn(ListQuery) -> Fut,
        Fut: Future<Output = Result<Page<T>>>,
    {
        let mut query = ListQuery { limit: AT_ONCE, ..query };
        loop {
            let Page { items, after, .. } = page(query.clone()).await?;
            items.into_iter().for_each(|item| self.row(cells(item)));
            match after {
                Some(next) => query.cursor = Some(next),
                None => return Ok(self),
            }
        }
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        for (i, cell) in cells.into_iter().enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            self.text.push_str(&quoted(&cell));
        }
        self.text.push_str("\r\n");
    }
}

fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

impl IntoResponse for Csv {
    fn into_response(self) -> Response {
        let file = format!("attachment; filename=\"{}.csv\"", self.name);
        let mut res = ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], self.text).into_response();
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
        let mut csv = Csv::new("x", &["a", "b"]);
        csv.row(["say \"hi\", you".into(), "=1+1".into()]);
        csv.row(["-5".into(), "two\nlines".into()]);
        assert_eq!(csv.text, "a,b\r\n\"say \"\"hi\"\", you\",'=1+1\r\n-5,\"two\nlines\"\r\n");
    }
}
