//! What one streamed delta costs: fold, drain, encode. Run with `--release`, or count its
//! instructions with callgrind, since a shared machine's clock tells little.

use std::hint::black_box;
use std::time::Instant;

use airlock_engine::editor::v1::encode;
use airlock_engine::projection::{Projection, Speaker, utf16};

const DELTAS: u32 = 200_000;
const TEXT: &str = "a streamed piece of \"text\", as models send it\n";

fn main() {
    let mut projection = Projection::new("7f1c2a4e-5b6d-4c7e-8f90-a1b2c3d4e5f6");
    let mut out = Vec::new();
    let mut start = 0;
    let began = Instant::now();
    for _ in 0..DELTAS {
        let id = "0c9b8a7f-6e5d-4c3b-9a19-08f7e6d5c4b3";
        projection
            .text_grew(Speaker::Agent, id, start, black_box(TEXT), false)
            .expect("the text goes on where it ended");
        start += utf16::units(TEXT);
        out.clear();
        projection.drain(&mut |update| {
            encode::update(
                "11111111-2222-4333-8444-555555555555",
                "maka",
                &update,
                &mut out,
            );
        });
        black_box(&out);
    }
    let each = began.elapsed() / DELTAS;
    println!("{DELTAS} deltas of {} bytes, {each:?} each", TEXT.len());
}
