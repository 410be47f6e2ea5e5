//! The saved state: versioned JSON of everything that [`crate::Engine`] holds.
//!
//! A version is never reused: what an older version cannot mean, it refuses.

/// Version of the saved state.
pub const VERSION: u32 = 1;

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
