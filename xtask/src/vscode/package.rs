//! The archive: files below `extension/`, a manifest made from `package.json`, and the table of types.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{Cursor, Read as _, Write as _},
    path::Path,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::extension;

/// The names of the two files that are not the extension's.
const TYPES: &str = "[Content_Types].xml";
const MANIFEST: &str = "extension.vsixmanifest";

/// The types of files, by the extension of their name.
const CONTENT_TYPES: &[(&str, &str)] = &[
    ("js", "application/javascript"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("vsixmanifest", "text/xml"),
];

/// What the marketplace and the editor look for, and the file that it is.
const ASSETS: &[(&str, &str)] = &[
    ("Microsoft.VisualStudio.Code.Manifest", "extension/package.json"),
    ("Microsoft.VisualStudio.Services.Content.Details", "extension/readme.md"),
    ("Microsoft.VisualStudio.Services.Content.License", "extension/LICENSE.txt"),
    ("Microsoft.VisualStudio.Services.Icons.Default", "extension/icons/selkie.png"),
];

/// The files of a package, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// Packs a folder.
pub(super) fn pack(folder: &Path) -> Result<Vec<u8>> {
    let mut files = Files::new();
    read(folder, "extension", &mut files)?;
    let package = files.get("extension/package.json").context("there is no package.json")?;
    let package: Value = serde_json::from_slice(package).context("package.json")?;
    let missing = ASSETS.iter().find(|(_, path)| !files.contains_key(*path));
    if let Some((_, path)) = missing {
        bail!("the package has no {path}");
    }
    let named = names_of(&package);
    if let Some(name) = named.iter().find(|it| !files.contains_key(*it)) {
        bail!("package.json names {name}, which is not packed");
    }
    files.insert(MANIFEST.to_owned(), manifest(&package)?.into_bytes());
    let types = content_types(files.keys())?;
    files.insert(TYPES.to_owned(), types.into_bytes());
    archive(&files)
}

/// Reads a folder, with names as in the package.
fn read(folder: &Path, prefix: &str, files: &mut Files) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|it| it.to_str()).context("names are text")?;
        // As vsce writes it.
        let name = if name == "README.md" { "readme.md" } else { name };
        let name = format!("{prefix}/{name}");
        match path.is_dir() {
            true => read(&path, &name, files)?,
            false => drop(files.insert(name, fs::read(&path)?)),
        }
    }
    Ok(())
}

/// Returns the files that `package.json` names, which are relative paths.
fn names_of(package: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = |name: &str| package["contributes"][name].as_array().cloned().unwrap_or_default();
    let mut names = vec![text(&package["main"]), text(&package["icon"])];
    names.extend(list("grammars").iter().map(|it| text(&it["path"])));
    for it in list("languages") {
        names.extend([
            text(&it["configuration"]),
            text(&it["icon"]["light"]),
            text(&it["icon"]["dark"]),
        ]);
    }
    let names = names.into_iter().flatten();
    names.map(|it| format!("extension/{}", it.trim_start_matches("./"))).collect()
}

/// Returns the table of the types of files: each file needs one.
fn content_types<'a>(names: impl Iterator<Item = &'a String>) -> Result<String> {
    let used: BTreeSet<&str> = names.map(|it| extension(it)).collect();
    let mut rows = String::new();
    for it in used {
        let (_, kind) = CONTENT_TYPES
            .iter()
            .find(|(known, _)| *known == it)
            .with_context(|| format!("files that end in `.{it}` have no content type"))?;
        rows += &format!("<Default Extension=\".{it}\" ContentType=\"{kind}\"/>");
    }
    Ok(format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{rows}</Types>
"#
    ))
}

/// Returns the manifest, from what `package.json` says.
fn manifest(package: &Value) -> Result<String> {
    let field = |value: &Value, name: &str| {
        let text = value[name].as_str().with_context(|| format!("package.json has no `{name}`"))?;
        Ok::<_, anyhow::Error>(escape(text))
    };
    let list = |name: &str| {
        let list = package[name].as_array().into_iter().flatten();
        escape(&list.filter_map(Value::as_str).collect::<Vec<_>>().join(","))
    };
    let banner = &package["galleryBanner"];
    let properties = [
        ("Microsoft.VisualStudio.Code.Engine", field(&package["engines"], "vscode")?),
        ("Microsoft.VisualStudio.Code.ExtensionDependencies", String::new()),
        ("Microsoft.VisualStudio.Code.ExtensionPack", String::new()),
        ("Microsoft.VisualStudio.Code.ExtensionKind", "workspace".to_owned()),
        ("Microsoft.VisualStudio.Code.LocalizedLanguages", String::new()),
        ("Microsoft.VisualStudio.Code.EnabledApiProposals", String::new()),
        ("Microsoft.VisualStudio.Code.ExecutesCode", "true".to_owned()),
        ("Microsoft.VisualStudio.Services.Branding.Color", field(banner, "color")?),
        ("Microsoft.VisualStudio.Services.Branding.Theme", field(banner, "theme")?),
        ("Microsoft.VisualStudio.Services.GitHubFlavoredMarkdown", "true".to_owned()),
        ("Microsoft.VisualStudio.Services.Content.Pricing", "Free".to_owned()),
    ];
    let properties =
        properties.map(|(id, value)| format!("      <Property Id=\"{id}\" Value=\"{value}\"/>\n"));
    let assets = ASSETS.iter().map(|(kind, path)| {
        format!("    <Asset Type=\"{kind}\" Path=\"{path}\" Addressable=\"true\"/>\n")
    });
    Ok(format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011" xmlns:d="http://schemas.microsoft.com/developer/vsx-schema-design/2011">
  <Metadata>
    <Identity Language="en-US" Id="{}" Version="{}" Publisher="{}"/>
    <DisplayName>{}</DisplayName>
    <Description xml:space="preserve">{}</Description>
    <Tags>{}</Tags>
    <Categories>{}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
{}    </Properties>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/icons/selkie.png</Icon>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
{}  </Assets>
</PackageManifest>
"#,
        field(package, "name")?,
        field(package, "version")?,
        field(package, "publisher")?,
        field(package, "displayName")?,
        field(package, "description")?,
        list("keywords"),
        list("categories"),
        properties.concat(),
        assets.collect::<String>(),
    ))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Writes files by name, without times, so that the same files give the same bytes.
fn archive(files: &Files) -> Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default())
        .unix_permissions(0o644);
    for (name, bytes) in files {
        archive.start_file(name.as_str(), options)?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

fn unpack(package: &[u8]) -> Result<Files> {
    let mut archive = ZipArchive::new(Cursor::new(package))?;
    let mut files = Files::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        files.insert(file.name().to_owned(), bytes);
    }
    Ok(files)
}

/// Compares two packages of the same extension.
pub(super) fn compare(own: &[u8], other: &[u8]) -> Result<()> {
    let (own, other) = (unpack(own)?, unpack(other)?);
    let names = |files: &Files| files.keys().cloned().collect::<BTreeSet<_>>();
    let difference: Vec<String> =
        names(&own).symmetric_difference(&names(&other)).cloned().collect();
    ensure!(difference.is_empty(), "only one package has {}", difference.join(", "));
    for (name, bytes) in &own {
        let theirs = other.get(name).context("both have the same names")?;
        let is_same = match name.as_str() {
            MANIFEST | TYPES => plain(bytes) == plain(theirs),
            _ => bytes == theirs,
        };
        ensure!(is_same, "{name} differs");
    }
    Ok(())
}

/// Returns an XML file without white space between elements. Tags are left out: others add to them.
fn plain(xml: &[u8]) -> String {
    let xml = String::from_utf8_lossy(xml).replace(" />", "/>");
    let lines = xml.lines().map(str::trim).filter(|it| !it.starts_with("<Tags>"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_of_file_is_declared() {
        let names = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let types = content_types(names(&["extension/a.js", "b.png"]).iter()).unwrap();
        assert!(types.contains("\".js\"") && types.contains("\"image/png\""), "{types}");
        let error = content_types(names(&["a.gif"]).iter()).unwrap_err();
        assert_eq!(error.to_string(), "files that end in `.gif` have no content type");
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let files = Files::from([("extension/a.js".to_owned(), b"a".repeat(1000))]);
        let packed = archive(&files).unwrap();
        assert_eq!(packed, archive(&files).unwrap());
        assert_eq!(unpack(&packed).unwrap(), files);
        compare(&packed, &packed).unwrap();
    }

    #[test]
    fn the_manifest_says_what_package_json_says() {
        let package = fs::read(crate::repository().join("editors/vscode/package.json")).unwrap();
        let mut package: Value = serde_json::from_slice(&package).unwrap();
        package["displayName"] = "A & B".into();
        let manifest = manifest(&package).unwrap();
        let version = package["version"].as_str().unwrap();
        let identity = format!(r#"Id="selkie" Version="{version}" Publisher="selkie""#);
        assert!(manifest.contains(&identity), "{manifest}");
        assert!(manifest.contains("<DisplayName>A &amp; B</DisplayName>"), "{manifest}");
        assert!(names_of(&package).contains(&"extension/dist/extension.js".to_owned()));
    }
}
