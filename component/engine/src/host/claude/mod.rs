//! Claude Code: one `claude` process a session, stream-json on its stdin and stdout.
//!
//! This file routes; each concern has a file: tool cards (`cards`, `tools`).
//!
//! Invariant: whatever the process sends, or fails to send, every prompt is answered once.
