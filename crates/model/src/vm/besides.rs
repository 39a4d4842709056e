//! What VCD's clients set on a VM besides all that hubs are told.
use crate::{Action, Fields};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What VCD's clients set on a machine and find again as it was given. Hubs are told what they have something like:
/// `Hardware::with`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Besides {
    pub cores_per_socket: Option<i32>,
    /// Empty: what we say by default.
    pub hardware_version: String,
    pub os_type: String,
    pub firmware: String,
    pub cpu_hot_add: bool,
    pub memory_hot_add: bool,
    pub nested_hypervisor: bool,
    pub boot: BootOptions,
    pub extra_config: BTreeMap<String, String>,
    pub turn: Turn,
    pub cpu: Allocation,
    pub memory: Allocation,
}

/// How much of its hub's room it is to have among others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Allocation {
    /// In MHz or MB, as is the limit.
    pub reservation: i64,
    /// None: nobody set one.
    pub limit: Option<i64>,
    pub shares: Shares,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shares {
    Low,
    #[default]
    Normal,
    High,
    Custom(i64),
}

impl Shares {
    pub fn word(self) -> &'static str {
        match self {
            Shares::Low => "LOW",
            Shares::Normal => "NORMAL",
            Shares::High => "HIGH",
            Shares::Custom(_) => "CUSTOM",
        }
    }

    /// How many these are where `normal` are usual.
    pub fn of(self, normal: i64) -> i64 {
        match self {
            Shares::Low => normal / 2,
            Shares::Normal => normal,
            Shares::High => normal * 2,
            Shares::Custom(n) => n,
        }
    }
}

/// What is done to it when its vApp starts and stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    pub start: StartAction,
    pub stop: StopAction,
    /// Kept for clients; a guest that is to shut down has the time that its hub gives it.
    pub stop_delay_s: i32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartAction {
    #[default]
    PowerOn,
    /// It stays as it is.
    Nothing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopAction {
    #[default]
    PowerOff,
    Shutdown,
    Suspend,
}

impl StopAction {
    /// For one machine.
    pub fn action(self) -> Action {
        match self {
            StopAction::PowerOff => Action::VmPowerOff,
            StopAction::Shutdown => Action::VmShutdown,
            StopAction::Suspend => Action::VmSuspend,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BootOptions {
    pub delay_ms: i32,
    pub enter_setup: bool,
    pub retry: bool,
    pub retry_delay_ms: i32,
    pub secure: bool,
    pub network_protocol: String,
}

impl Fields for Besides {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let yes = |on: bool| if on { "yes" } else { "no" }.to_owned();
        let extra: Vec<String> = self.extra_config.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let limit = |of: &Allocation| of.limit.map_or("none".to_owned(), |n| n.to_string());
        let shares = |of: &Allocation| match of.shares {
            Shares::Custom(n) => n.to_string(),
            level => level.word().to_lowercase(),
        };
        vec![
            ("cores_per_socket", self.cores_per_socket.unwrap_or(1).to_string()),
            ("hardware_version", self.hardware_version.clone()),
            ("os_type", self.os_type.clone()),
            ("firmware", self.firmware.clone()),
            ("cpu_hot_add", yes(self.cpu_hot_add)),
            ("memory_hot_add", yes(self.memory_hot_add)),
            ("nested_hypervisor", yes(self.nested_hypervisor)),
            ("boot_delay_ms", self.boot.delay_ms.to_string()),
            ("enter_setup", yes(self.boot.enter_setup)),
            ("boot_retry", yes(self.boot.retry)),
            ("boot_retry_delay_ms", self.boot.retry_delay_ms.to_string()),
            ("secure_boot", yes(self.boot.secure)),
            ("network_boot", self.boot.network_protocol.clone()),
            ("extra_config", extra.join(", ")),
            ("start_action", format!("{:?}", self.turn.start)),
            ("stop_action", format!("{:?}", self.turn.stop)),
            ("stop_delay", self.turn.stop_delay_s.to_string()),
            ("cpu_reservation", self.cpu.reservation.to_string()),
            ("cpu_limit", limit(&self.cpu)),
            ("cpu_shares", shares(&self.cpu)),
            ("memory_reservation", self.memory.reservation.to_string()),
            ("memory_limit", limit(&self.memory)),
            ("memory_shares", shares(&self.memory)),
        ]
    }
}
