//! Build settings of the released command.

#[test]
fn a_release_carries_no_symbols() {
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"));
    let manifest: toml::Table = manifest.unwrap().parse().unwrap();
    assert_eq!(manifest["profile"]["release"]["strip"].as_bool(), Some(true));
}
