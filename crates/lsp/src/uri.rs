//! URIs of documents, and paths of files.

use std::path::{Path, PathBuf};

use lsp_types::Uri;

const FILE: &str = "file://";

/// Returns the path of a URI. A URI that is not of a file gives a path that no file has.
pub(crate) fn path(uri: &Uri) -> PathBuf {
    let Some(rest) = uri.as_str().strip_prefix(FILE) else { return uri.as_str().into() };
    let decoded = decode(rest);
    // `/c:/folder` is `c:/folder` where drives have letters.
    let drive = decoded.as_bytes().get(2) == Some(&b':') && cfg!(windows);
    PathBuf::from(if drive { &decoded[1..] } else { &decoded })
}

/// Returns the URI of a file.
pub(crate) fn from_path(path: &Path) -> Option<Uri> {
    let path = path.to_str()?;
    if path.contains("://") {
        return path.parse().ok();
    }
    let path =
        if cfg!(windows) { format!("/{}", path.replace('\\', "/")) } else { path.to_owned() };
    let mut text = FILE.to_owned();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text.parse().ok()
}

fn decode(text: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|it| char::from(*it).to_digit(16));
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let code = digit(bytes.get(at + 1)).zip(digit(bytes.get(at + 2)));
        match code.filter(|_| byte == b'%') {
            Some((high, low)) => {
                out.push(u8::try_from(high * 16 + low).expect("two digits"));
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris_round_trip() {
        let check = |text: &str, expected: &str| {
            let uri: Uri = text.parse().unwrap();
            assert_eq!(path(&uri), Path::new(expected));
            assert_eq!(from_path(Path::new(expected)).unwrap().as_str(), text);
        };
        check("file:///a%20b/%C3%A4.s", "/a b/\u{e4}.s");
        check("untitled://new", "untitled://new");
        assert_eq!(decode("/a%zz%4"), "/a%zz%4");
    }
}
