//! CDI's upload: a token for one volume, and the proxy that takes its bytes. The proxy has an address and authorities of
//! its own, and is reached by the same rules as the hub itself.
use super::{Outgoing, Transport};
use crate::{
    Credential, Key, Secret,
    address::Gate,
    answer,
    client::{Call, Client, FIELD_MANAGER},
    error::{Error, Reach, Result},
    kubeconfig::{Auth, Server},
    resource::CDI_CONFIGS,
};
use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{Method, header};
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::Frame;
use serde_json::json;
use std::time::Duration;

/// Where a hub takes the bytes of images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadProxy {
    pub server: Server,
    /// Who vouches for it, beside the hub's own authorities.
    pub ca_pem: String,
}

/// After the last byte CDI converts the image before it answers.
const CONVERSION: Duration = Duration::from_secs(30 * 60);

impl Client {
    pub async fn upload_proxy(&self) -> Result<UploadProxy> {
        let config = self.get(&CDI_CONFIGS, &Key::global("config")).await?;
        let text = |pointer: &str| config.pointer(pointer).and_then(|v| v.as_str()).unwrap_or_default().to_owned();
        let url = match text("/spec/uploadProxyURLOverride") {
            given if given.is_empty() => text("/status/uploadProxyURL"),
            given => given,
        };
        if url.is_empty() {
            let message =
                "CDI has no address for uploads: its CDIConfig names no uploadProxyURL. Expose cdi-uploadproxy.";
            return Err(Error::Denied { message: message.into(), causes: Vec::new() });
        }
        let url = if url.contains("://") { url } else { format!("https://{url}") };
        let server = Server::parse(&url).map_err(|why| Error::Denied {
            message: format!("CDI's uploadProxyURL can't be used. {why}"),
            causes: Vec::new(),
        })?;
        Ok(UploadProxy { server, ca_pem: text("/status/uploadProxyCA") })
    }

    /// Leave to fill one volume, for some minutes.
    pub async fn upload_token(&self, volume: &Key) -> Result<Secret> {
        let path = format!("/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/{}/uploadtokenrequests", volume.namespace);
        let body = json!({
            "apiVersion": "upload.cdi.kubevirt.io/v1beta1", "kind": "UploadTokenRequest",
            "metadata": {"name": volume.name, "namespace": volume.namespace}, "spec": {"pvcName": volume.name},
        });
        let answer = self.call(Call::new(Method::POST, path).body(body)).await?.json()?;
        match answer["status"]["token"].as_str() {
            Some(token) if !token.is_empty() => Ok(Secret::new(token)),
            _ => Err(Error::Odd("a request for an upload token was answered without one".into())),
        }
    }
}

impl UploadProxy {
    /// Sends a whole image. It is there when this returns.
    pub async fn send(
        &self,
        hub: &Credential,
        gate: &Gate,
        token: Secret,
        length: u64,
        bytes: impl Stream<Item = std::io::Result<Bytes>> + Send + Sync + 'static,
    ) -> Result<()> {
        let credential = Credential {
            server: self.server.clone(),
            ca_pem: format!("{}\n{}", hub.ca_pem, self.ca_pem),
            tls_server_name: None,
            auth: Auth::Token(token),
            namespace: None,
            expires: None,
        };
        let transport = Transport::new(&credential, gate, Duration::from_secs(10), FIELD_MANAGER)?;
        let body: Outgoing = BodyExt::boxed(StreamBody::new(bytes.map(|chunk| chunk.map(Frame::data))));
        let request = http::Request::builder()
            .method(Method::POST)
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header(header::CONTENT_LENGTH, length);
        // a slow line is no error: who sends watches whether bytes still go
        let answered = tokio::time::timeout(SLOWEST, transport.send_body("/v1beta1/upload", request, body)).await;
        let late =
            || Error::Unreachable { why: Reach::Timeout, detail: format!("{}: the upload did not end", self.server) };
        let (parts, body) = answered.map_err(|_| late())??.into_parts();
        let text =
            tokio::time::timeout(CONVERSION, Limited::new(body, 64 << 10).collect()).await.map_err(|_| late())?;
        let text = text.map(|b| b.to_bytes()).unwrap_or_default();
        if parts.status.is_success() { Ok(()) } else { Err(answer::refused(parts.status, &parts.headers, &text)) }
    }
}

/// The longest that one image may take.
const SLOWEST: Duration = Duration::from_secs(12 * 3600);
