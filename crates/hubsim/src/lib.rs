//! A simulated hub: a Kubernetes API server in this process, and actors that play what runs on a real one.
