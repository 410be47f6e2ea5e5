//! Points in time as texts.

use alloc::string::String;

/// ISO 8601 in UTC with milliseconds; `None` when it cannot be written.
pub fn iso(ms: i64) -> Option<String> {
    let at = chrono::DateTime::from_timestamp_millis(ms)?;
    Some(at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
}
