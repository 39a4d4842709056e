//! Against simulated hubs: real connections, real answers, real faults.
mod address;
mod calls;
mod checks;
mod consoles;
mod faults;
mod machines;
mod strangers;
mod watches;
mod world;
