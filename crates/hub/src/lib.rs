//! Hubs: clients, what is asked of them (`shape`), what they answer (`read`), and how they are called.
