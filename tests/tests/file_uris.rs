//! `file:` URIs lead where a browser's reader of URLs says, and Node's reader of paths
//! (Maka adapter, section 10.1). The oracle is the `url` crate.

use airlock_engine::admission::uri::{Bad, path};
use proptest::prelude::*;
use url::Url;

/// What the oracle says. `Url::to_file_path` is not asked: it is laxer than Node.
fn oracle(uri: &str) -> Result<String, Bad> {
    let url = Url::parse(uri).map_err(|_| Bad::Invalid)?;
    let some = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
    if url.scheme() != "file" || some(url.host_str()) || some(url.query()) || some(url.fragment()) {
        return Err(Bad::NotLocal);
    }
    let mut bytes = Vec::new();
    let mut rest = url.path().bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || (rest.next()? as char).to_digit(16);
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(Bad::Invalid);
        };
        match u8::try_from(high * 16 + low).unwrap() {
            0 | b'/' => return Err(Bad::Invalid),
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| Bad::Invalid)
}

#[test]
fn given_uris_of_all_kinds_when_read_then_they_lead_where_the_oracle_says() {
    for (uri, expected) in [
        ("file:///w/a.txt", Ok("/w/a.txt")),
        ("file:/w/a.txt", Ok("/w/a.txt")),
        ("FILE:///w/a.txt", Ok("/w/a.txt")),
        ("file://localhost/w/a", Ok("/w/a")),
        ("file://LocalHost/w/a", Ok("/w/a")),
        ("  file:///w/a\n", Ok("/w/a")),
        ("file:///w/./b/../a", Ok("/w/a")),
        ("file:///w/b/%2E%2e/a", Ok("/w/a")),
        ("file:///../../a", Ok("/a")),
        ("file:///w/..", Ok("/")),
        ("file:///w//a", Ok("/w//a")),
        ("file:\\\\\\w\\a", Ok("/w/a")),
        ("file:///w/a%20b%C3%BC", Ok("/w/a bü")),
        ("file:///w/a b ü\"<>", Ok("/w/a b ü\"<>")),
        ("file:///w/100%25", Ok("/w/100%")),
        ("file:///w/a?", Ok("/w/a")),
        ("file:///w/a#", Ok("/w/a")),
        ("file:///w/a?b", Err(Bad::NotLocal)),
        ("file:///w/a#L1", Err(Bad::NotLocal)),
        ("file://server/w/a", Err(Bad::NotLocal)),
        ("file://user@/w/a", Err(Bad::Invalid)),
        ("file://a b/w", Err(Bad::Invalid)),
        ("file:///w/a%2fb", Err(Bad::Invalid)),
        ("file:///w/a%", Err(Bad::Invalid)),
        ("file:///w/a%4", Err(Bad::Invalid)),
        ("file:///w/%ff", Err(Bad::Invalid)),
        ("file:///w/%00", Err(Bad::Invalid)),
        ("https://example.org/a", Err(Bad::NotLocal)),
        ("zed:///w/a", Err(Bad::NotLocal)),
        ("/w/a", Err(Bad::Invalid)),
        ("", Err(Bad::Invalid)),
    ] {
        let expected = expected.map(str::to_owned);
        assert_eq!(path(uri), expected, "{uri:?}");
        assert_eq!(oracle(uri), expected, "the oracle, {uri:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn given_any_file_uri_when_read_then_as_the_oracle_does(
        start in prop::sample::select(vec!["file:", "FiLe:", " file:", "fi\tle:"]),
        host in prop::sample::select(vec!["///", "//localhost/", "//server/", "//a@b/", "//a<b/"]),
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "a", "bc", "/", "\\", ".", "..", "%2e", "%2F", "%41", "%", "%zz", "%c3%bc", "%ff", "ü", " ",
                "?", "#", "\n", "\t", "%00", "\"", "%25", "+", "~", "&", "=", "@", ";",
            ]),
            0..12,
        ),
    ) {
        let uri = format!("{start}{host}{}", pieces.concat());
        // The crate still drops empty names at the front, as an older rule had it; to a
        // file system they are nothing.
        let same = |path: String| format!("/{}", path.trim_start_matches('/'));
        prop_assert_eq!(path(&uri).map(same), oracle(&uri).map(same), "{:?}", uri);
    }
}
