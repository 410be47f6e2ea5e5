//! Words to configuration, nothing more.
fn main() {}
