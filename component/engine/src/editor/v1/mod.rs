//! ACP v1: requests in, answers and updates out.

mod air;
pub mod answers;
mod blocks;
pub mod capabilities;
pub mod decode;
pub mod encode;
pub mod errands;
pub mod index;
pub mod more;
pub mod options;
mod prompt;
pub mod questions;
mod report;
mod setup;
