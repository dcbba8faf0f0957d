//! The process that holds a port, for the message about a port in use.

use std::{ffi::OsStr, fs, path::Path};

use selkie_isa::input;

/// A transport protocol as `/proc/net` shows it.
#[derive(Debug)]
pub(crate) struct Protocol {
    tables: [&'static str; 2],
    /// The state of a socket that listens.
    listening: &'static str,
}

/// TCP.
pub(crate) const TCP: &Protocol =
    &Protocol { tables: ["/proc/net/tcp", "/proc/net/tcp6"], listening: "0A" };

/// UDP, whose sockets are not connected when they listen.
pub(crate) const UDP: &Protocol =
    &Protocol { tables: ["/proc/net/udp", "/proc/net/udp6"], listening: "07" };

/// Returns the process that listens on a port, as `name (process 123)`. `None` where there is
/// no `/proc`, or if the process is another user's.
pub(crate) fn holder(protocol: &Protocol, port: u16) -> Option<String> {
    let tables = protocol
        .tables
        .iter()
        .filter_map(|path| input::text(Path::new(path), input::TEXT_BYTES_MAX).ok());
    let socket =
        tables.into_iter().find_map(|table| socket_of(&table, protocol.listening, port))?;
    let wanted = format!("socket:[{socket}]");
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok).map(|it| it.path());
    // `self` is among the entries, too.
    let mut processes = processes.filter(|it| it.file_name().is_some_and(is_number));
    let holder = processes.find(|process| holds(process, &wanted))?;
    let name = input::text(&holder.join("comm"), input::TEXT_BYTES_MAX).ok()?;
    let id = holder.file_name()?.to_str()?;
    Some(format!("{} (process {id})", name.trim()))
}

/// Returns the inode of the socket that listens on a port.
fn socket_of(table: &str, listening: &str, port: u16) -> Option<String> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let local = fields.get(1)?.rsplit_once(':')?.1;
        let is_wanted =
            u16::from_str_radix(local, 16) == Ok(port) && fields.get(3) == Some(&listening);
        is_wanted.then(|| fields.get(9).map(|inode| (*inode).to_owned())).flatten()
    })
}

fn is_number(name: &OsStr) -> bool {
    name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
}

fn holds(process: &Path, wanted: &str) -> bool {
    let files = fs::read_dir(process.join("fd")).into_iter().flatten().filter_map(Result::ok);
    files
        .into_iter()
        .filter_map(|file| fs::read_link(file.path()).ok())
        .any(|target| target.as_os_str() == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listening_socket_is_found_in_the_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:22C3 00000000:0000 01 00000000:00000000 00:00000000 00000000  1000        0 111 1\n\
            1: 0100007F:22C3 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 222 1\n";
        assert_eq!(socket_of(table, TCP.listening, 8899), Some("222".to_owned()));
        assert_eq!(socket_of(table, TCP.listening, 8900), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let holder = holder(TCP, listener.local_addr().unwrap().port());
        assert!(holder.unwrap().contains(&std::process::id().to_string()));
    }
}
