//! Commands and files.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use selkie_isa::input;

/// Returns a command as it would be typed into a shell.
pub(crate) fn typed(command: &Command) -> String {
    let environment = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.to_string_lossy(), quoted(&value?.to_string_lossy())))
    });
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    environment.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-./=:,+@%".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Writes a file, unless it contains these bytes already, so that an unchanged file keeps its
/// modification time.
pub(crate) fn write_if_changed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if input::read(path, input::FILE_BYTES_MAX).is_ok_and(|held| held == bytes) {
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, bytes)
}

/// Returns the path of a program in the folders of `PATH`.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "owns the search path")]
pub fn in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_they_would_be_typed() {
        let mut command = Command::new("clang");
        command.args(["-c", "a b.c", "-DX='1'"]).env("LANG", "C");
        assert_eq!(typed(&command), r"LANG=C clang -c 'a b.c' '-DX='\''1'\'''");
    }
}
