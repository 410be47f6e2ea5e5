//! The saved state: versioned JSON of everything that [`crate::Engine`] holds.
//!
//! A version is never reused: what an older version cannot mean, it refuses.

use alloc::format;
use alloc::vec::Vec;

use serde::Deserialize;

use crate::State;
use crate::fault::Fault;

/// Version of the saved state.
pub const VERSION: u32 = 3;

/// Writes the state.
pub fn write(state: &State) -> Vec<u8> {
    // Maps with text or number keys only: serialising them cannot fail. Should it ever, the
    // empty state is refused by `read`.
    serde_json::to_vec(state).unwrap_or_default()
}

/// Reads a state.
///
/// # Errors
/// [`Fault::State`] for another version or damaged bytes.
pub fn read(bytes: &[u8]) -> Result<State, Fault> {
    #[derive(Deserialize)]
    struct OnlyVersion {
        version: u32,
    }
    let damaged = |e: serde_json::Error| Fault::State(format!("it is damaged ({e})"));
    let OnlyVersion { version } = serde_json::from_slice(bytes).map_err(damaged)?;
    if version != VERSION {
        return Err(Fault::State(format!(
            "it has version {version}, this engine reads {VERSION}"
        )));
    }
    serde_json::from_slice(bytes).map_err(damaged)
}

/// Bytes as base64 text, for state that is not UTF-8.
pub mod bytes {
    use alloc::string::String;
    use alloc::vec::Vec;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes base64.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    /// Reads base64.
    ///
    /// # Errors
    /// When the text is not base64.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(D::Error::custom)
    }
}
