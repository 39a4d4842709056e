//! Durable work: a queue on PostgreSQL, and the reconcilers that bring hubs to what people asked for.
