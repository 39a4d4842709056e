//! Sends the file of an upload in parts: how far it is shows, and after anything it goes on where it stopped. Without it the
//! browser sends the form as it is.
use leptos::prelude::*;

/// Stands beside the form that carries `data-transfer`.
#[island]
pub fn Sending() -> impl IntoView {
    let said = RwSignal::new(String::new());
    let part = RwSignal::new(None::<f64>);
    #[cfg(feature = "hydrate")]
    Effect::new(move |_| parts::start(said, part));
    view! {
        <div class="sending" hidden=move || part.get().is_none()>
            <progress max="100" prop:value=move || part.get().unwrap_or(0.0) aria-label="How much was sent"></progress>
        </div>
        <p class="sending-said" role="status">
            {move || said.get()}
        </p>
    }
}

#[cfg(feature = "hydrate")]
mod parts {
    use crate::islands::dom::{document, on};
    use leptos::prelude::{RwSignal, Set, window};
    use wasm_bindgen::{JsCast, JsValue};
    use wasm_bindgen_futures::{JsFuture, spawn_local};
    use web_sys::{Element, File, Headers, HtmlElement, HtmlInputElement, RequestInit, Response};

    const PART: f64 = (8 << 20) as f64;
    const TRIES: u32 = 8;

    pub(super) fn start(said: RwSignal<String>, shown: RwSignal<Option<f64>>) {
        let Ok(Some(form)) = document().query_selector("form[data-transfer]") else { return };
        let to = form.get_attribute("data-transfer").unwrap_or_default();
        on(&form.clone(), "submit", move |event| {
            let Some(file) = chosen(&form) else { return };
            event.prevent_default();
            let (to, form) = (to.clone(), form.clone());
            spawn_local(async move {
                quiet(&form, true);
                match send(&to, &file, said, shown).await {
                    Ok(()) => {
                        said.set("All of it was sent.".to_owned());
                        let _ = window().location().reload();
                    }
                    Err(why) => {
                        said.set(why);
                        quiet(&form, false);
                    }
                }
            });
        });
    }

    fn chosen(form: &Element) -> Option<File> {
        let input: HtmlInputElement = form.query_selector("input[type=file]").ok()??.dyn_into().ok()?;
        input.files()?.get(0)
    }

    /// Nothing is chosen or pressed while it is sent.
    fn quiet(form: &Element, on: bool) {
        for name in ["input[type=file]", "button"] {
            if let Ok(Some(part)) = form.query_selector(name) {
                let part: HtmlElement = part.unchecked_into();
                let _ = if on { part.set_attribute("disabled", "") } else { part.remove_attribute("disabled") };
            }
        }
    }

    async fn send(to: &str, file: &File, said: RwSignal<String>, shown: RwSignal<Option<f64>>) -> Result<(), String> {
        let name = String::from(js_sys::encode_uri_component(&file.name()));
        let address = format!("{to}{name}");
        let total = file.size();
        let mut at = stand(&address).await.unwrap_or(0.0);
        let mut failed = 0;
        while at < total {
            shown.set(Some(at * 100.0 / total));
            said.set(format!("{:.0} % is sent.", at * 100.0 / total));
            let end = (at + PART).min(total);
            match part(&address, file, at, end, total).await {
                Ok(next) => (at, failed) = (next, 0),
                Err(Wrong::Final(why)) => return Err(why),
                Err(Wrong::Passing) => {
                    failed += 1;
                    if failed > TRIES {
                        return Err("The connection keeps breaking. What was sent is kept: choose the same file and press Upload again.".into());
                    }
                    said.set("The connection broke. It is tried again.".to_owned());
                    pause(failed).await;
                    at = stand(&address).await.unwrap_or(at);
                }
            }
        }
        shown.set(Some(100.0));
        Ok(())
    }

    enum Wrong {
        /// Worth another try.
        Passing,
        Final(String),
    }

    async fn fetch(address: &str, init: &RequestInit) -> Option<Response> {
        JsFuture::from(window().fetch_with_str_and_init(address, init)).await.ok()?.dyn_into().ok()
    }

    fn offset(answer: &Response) -> Option<f64> {
        answer.headers().get("upload-offset").ok()??.parse().ok()
    }

    /// How much of it is there.
    async fn stand(address: &str) -> Option<f64> {
        let init = RequestInit::new();
        init.set_method("HEAD");
        offset(&fetch(address, &init).await?)
    }

    async fn part(address: &str, file: &File, at: f64, end: f64, total: f64) -> Result<f64, Wrong> {
        let piece = file
            .slice_with_f64_and_f64(at, end)
            .map_err(|_| Wrong::Final("The file can't be read any more.".into()))?;
        let headers = Headers::new().map_err(|_| Wrong::Passing)?;
        let _ = headers.append("content-range", &format!("bytes {at:.0}-{:.0}/{total:.0}", end - 1.0));
        let _ = headers.append("accept", "text/plain");
        let init = RequestInit::new();
        init.set_method("PUT");
        init.set_headers(&headers);
        init.set_body(&JsValue::from(piece));
        let Some(answer) = fetch(address, &init).await else { return Err(Wrong::Passing) };
        match (answer.status(), offset(&answer)) {
            // the next part begins where the server says
            (200 | 416, Some(next)) => Ok(next),
            (408 | 409 | 429 | 500..=506 | 508.., _) => Err(Wrong::Passing),
            _ => {
                let text = match answer.text() {
                    Ok(text) => JsFuture::from(text).await.ok().and_then(|t| t.as_string()),
                    Err(_) => None,
                };
                Err(Wrong::Final(text.unwrap_or_else(|| "The server did not take it.".into())))
            }
        }
    }

    async fn pause(seconds: u32) {
        let wait = js_sys::Promise::new(&mut |done, _| {
            let _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(&done, 1000 * seconds as i32);
        });
        let _ = JsFuture::from(wait).await;
    }
}
