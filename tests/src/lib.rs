//! Shared test peers.
