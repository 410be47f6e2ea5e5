//! ACP v1: requests in, answers and updates out.

mod air;
pub mod answers;
pub mod aside;
mod blocks;
pub mod capabilities;
pub mod decode;
pub mod encode;
pub mod errands;
pub mod index;
pub mod more;
pub mod options;
pub mod place;
mod prompt;
pub mod questions;
mod report;
mod setup;
