//! `/metrics` for Prometheus, and the numbers in it.

use crate::{
    AppState,
    edge::{ClientAddr, Problem, RequestContext},
};
use axum::{
    Extension, Router,
    extract::{ConnectInfo, State},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
    routing::get,
};
use domain::Store;
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::{
    net::{IpAddr, SocketAddr},
    sync::OnceLock,
    time::Duration,
};

const REQUESTS: &str = "ssvirt_http_requests_total";
const DURATION: &str = "ssvirt_http_request_duration_seconds";
const IN_FLIGHT: &str = "ssvirt_http_requests_in_flight";
const RESIDENT: &str = "process_resident_memory_bytes";
const CONNECTIONS: &str = "ssvirt_db_connections";
const CONNECTIONS_IDLE: &str = "ssvirt_db_connections_idle";
const CONNECTIONS_MAX: &str = "ssvirt_db_connections_max";
const BUILD: &str = "ssvirt_build_info";
// of the reconcilers, which count them by these names
const ROUTED: &str = "ssvirt_vm_requests_routed_total";
const SELECTION: &str = "ssvirt_hub_selection_seconds";
const HUBS: &str = "ssvirt_hub_connections_total";
const PROVISIONING: &str = "ssvirt_vm_provisioning_total";

/// The recorder of this process, made at the first call.
pub fn recorder() -> &'static PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| {
        let buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
        let builder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Full(DURATION.to_owned()), &buckets)
            .and_then(|b| b.set_buckets_for_metric(Matcher::Full(SELECTION.to_owned()), &buckets))
            .expect("a histogram with buckets");
        let handle = builder.install_recorder().expect("the only recorder of the process");
        describe_counter!(REQUESTS, "Requests answered, by method, route and class of status");
        describe_histogram!(DURATION, Unit::Seconds, "Time until the head of the answer, by route");
        describe_gauge!(IN_FLIGHT, "Requests being worked on");
        describe_gauge!(RESIDENT, Unit::Bytes, "Memory the process holds");
        describe_gauge!(CONNECTIONS, "Database connections open");
        describe_gauge!(CONNECTIONS_IDLE, "Database connections open that nobody uses at the moment");
        describe_gauge!(CONNECTIONS_MAX, "Database connections this replica may open");
        describe_counter!(ROUTED, "VMs for which a hub was chosen, by hub");
        describe_histogram!(SELECTION, Unit::Seconds, "Time to choose a hub, by what it is for");
        describe_counter!(HUBS, "Answers and failures of the connection to a hub, by hub and result");
        describe_counter!(PROVISIONING, "VMs that came up as they were asked for, and that did not");
        describe_gauge!(BUILD, "Always 1; the label says which version runs");
        gauge!(BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        handle
    })
}

/// Counts one request as being worked on until it is dropped.
#[derive(Debug)]
pub struct InFlight(());

impl InFlight {
    pub fn start() -> InFlight {
        gauge!(IN_FLIGHT).increment(1.0);
        InFlight(())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        gauge!(IN_FLIGHT).decrement(1.0);
    }
}

/// A request was answered. The route is the router's pattern, never the address itself: labels must stay few.
pub fn answered(method: &'static str, route: &str, status: u16, took: Duration) {
    let class = match status / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    };
    counter!(REQUESTS, "method" => method, "route" => route.to_owned(), "status" => class).increment(1);
    histogram!(DURATION, "route" => route.to_owned()).record(took.as_secs_f64());
}

pub fn routes(state: AppState) -> Router {
    Router::new().route("/metrics", get(scrape)).with_state(state)
}

async fn scrape(
    State(state): State<AppState>,
    Extension(ClientAddr(client)): Extension<ClientAddr>,
    Extension(request): Extension<RequestContext>,
) -> Response {
    // a proxy that nobody declared has a private address too: what it forwards comes from anywhere
    if !state.settings.api.metrics || !is_private(client) || request.forwarded_by_stranger() {
        return Problem::not_found().into_response();
    }
    gauge!(CONNECTIONS_MAX).set(f64::from(state.settings.database.max_connections));
    numbers(&state.domain.store)
}

fn numbers(store: &Store) -> Response {
    gauge!(RESIDENT).set(resident_bytes() as f64);
    let (open, idle) = store.connections();
    gauge!(CONNECTIONS).set(f64::from(open));
    gauge!(CONNECTIONS_IDLE).set(idle as f64);
    let handle = recorder();
    handle.run_upkeep();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], handle.render()).into_response()
}

/// Of a controller by itself, which serves nothing else.
pub fn of_controller(store: Store) -> Router {
    let scrape = async |ConnectInfo(peer): ConnectInfo<SocketAddr>, State(store): State<Store>, headers: HeaderMap| {
        // what a proxy forwards comes from anywhere
        let forwarded = ["forwarded", "x-forwarded-for"].iter().any(|name| headers.contains_key(*name));
        match is_private(peer.ip()) && !forwarded {
            true => numbers(&store),
            false => Problem::not_found().into_response(),
        }
    };
    Router::new().route("/metrics", get(scrape)).with_state(store)
}

fn is_private(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

/// What Linux counts as resident; 0 elsewhere.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses() {
        for ip in ["127.0.0.1", "10.2.3.4", "172.16.0.1", "192.168.9.9", "::1", "fd00::1", "::ffff:10.0.0.1"] {
            assert!(is_private(ip.parse().unwrap()), "{ip}");
        }
        for ip in ["0.0.0.0", "8.8.8.8", "172.32.0.1", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert!(!is_private(ip.parse().unwrap()), "{ip}");
        }
    }
}
