//! `cargo xtask vscode`: writes the extension for Visual Studio Code, which needs no marketplace.

use std::{
    fs::{self, File},
    io::Write as _,
};

use anyhow::{Context as _, Result};
use serde_json::Value;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::{repository, say};

/// The files of the extension, in `editors/vscode`.
const FILES: &[&str] = &["package.json", "extension.js", "lenses.js"];

/// The grammar, in `editors`.
const GRAMMAR: &str = "sbpf.tmLanguage.json";

/// The kinds of files in the package.
const TYPES: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="json" ContentType="application/json"/>
  <Default Extension="js" ContentType="application/javascript"/>
  <Default Extension="vsixmanifest" ContentType="text/xml"/>
</Types>
"#;

/// Runs the chore.
pub(crate) fn run(_: &[String]) -> Result<()> {
    let folder = repository().join("editors/vscode");
    let path = repository().join("target/selkie-debug.vsix");
    let package = fs::read_to_string(folder.join("package.json"))?;
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut archive = ZipWriter::new(file);
    let mut add = |name: &str, bytes: &[u8]| -> Result<()> {
        // Without times and compression, the same files give the same bytes.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        archive.start_file(name, options)?;
        Ok(archive.write_all(bytes)?)
    };
    add("[Content_Types].xml", TYPES.as_bytes())?;
    add("extension.vsixmanifest", manifest(&package)?.as_bytes())?;
    for name in FILES {
        add(&format!("extension/{name}"), &fs::read(folder.join(name))?)?;
    }
    let grammar = fs::read(repository().join("editors").join(GRAMMAR))?;
    add(&format!("extension/{GRAMMAR}"), &grammar)?;
    archive.finish()?;
    say("target/selkie-debug.vsix: install it by `code --install-extension`");
    Ok(())
}

/// Returns the package's manifest, from what `package.json` says.
fn manifest(package: &str) -> Result<String> {
    let package: Value = serde_json::from_str(package).context("package.json")?;
    let field = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
    let engine = package["engines"]["vscode"].as_str().unwrap_or_default();
    Ok(format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="{}" Version="{}" Publisher="{}"/>
    <DisplayName>{}</DisplayName>
    <Description xml:space="preserve">{}</Description>
    <Categories>Debuggers</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="{engine}"/>
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
  </Assets>
</PackageManifest>
"#,
        field("name"),
        field("version"),
        field("publisher"),
        field("displayName"),
        field("description"),
    ))
}
