//! A byte stream and the ways to cut it.
//!
//! Pure. Invariant: the chunks joined are the bytes pushed, whatever the cut.

/// How a stream is cut into chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// One whole line.
    #[default]
    Line,
    /// This many bytes.
    Bytes(usize),
    /// All there is, up to a read of 64 KiB.
    Read,
    /// Lengths from a sequence that this number starts; short ones are frequent.
    Random(u64),
}

/// A read of the runner.
const READ: usize = 65_536;

/// Bytes on their way.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// How the next chunk is cut.
    pub cut: Cut,
    bytes: Vec<u8>,
    /// How many of them were taken.
    taken: usize,
}

impl Stream {
    /// Adds bytes at the end.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next chunk.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let rest = &self.bytes[self.taken..];
        if rest.is_empty() {
            return None;
        }
        let length = match &mut self.cut {
            Cut::Line => rest
                .iter()
                .take(READ)
                .position(|byte| *byte == b'\n')
                .map_or(READ, |at| at + 1),
            Cut::Bytes(length) => *length,
            Cut::Read => READ,
            Cut::Random(state) => {
                // xorshift64: good enough to cut, and the same everywhere.
                *state = (*state).max(1);
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                let most = if *state & 0x700 == 0 { READ as u64 } else { 64 };
                1 + (*state >> 32) as usize % most as usize
            }
        };
        let chunk = rest[..length.clamp(1, READ).min(rest.len())].to_vec();
        self.taken += chunk.len();
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
        Some(chunk)
    }
}
