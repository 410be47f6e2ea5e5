//! The editor's side: ACP, one room a version. Knows no Host.

pub mod v1;
