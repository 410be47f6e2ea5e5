//! A component as a file, and the world that it has.

use std::path::{Path, PathBuf};

/// A place in the profile's folder, where the runner leaves the component.
pub fn beside_the_test(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test is a file");
    test.parent()
        .and_then(Path::parent)
        .expect("target/<profile>/deps")
        .join(name)
}

pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The component's world, as WIT.
pub fn world(wasm: &[u8]) -> String {
    let decoded = wit_component::decode(wasm).expect("a component");
    let mut printer = wit_component::WitPrinter::default();
    printer.emit_docs(false);
    printer
        .print(decoded.resolve(), decoded.package(), &[])
        .expect("WIT");
    printer.output.to_string()
}
