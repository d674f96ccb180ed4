//! Build script: writes a hash of the Rust sources to `CROSSFADE_SOURCE_HASH`, so that cached rows of other sources are
//! not taken for rows of these, and the version in Python's spelling. It needs no git, so that it works from a source
//! archive.

use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let crates = Path::new("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(crates)? {
        let sources = entry?.path().join("src");
        if sources.is_dir() {
            println!("cargo::rerun-if-changed={}", sources.display());
            collect(&sources, &mut files)?;
        }
    }
    // Paths with `/` everywhere, in one order: the hash is the same on all platforms.
    let mut named: Vec<(String, PathBuf)> = files
        .into_iter()
        .map(|path| {
            let parts = path.strip_prefix(crates).unwrap_or(&path).iter();
            (parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"), path)
        })
        .collect();
    named.sort();
    let mut hash = Sha256::new();
    for (name, path) in named {
        let content = fs::read(path)?;
        hash.update(format!("{name}\0{}\0", content.len()));
        hash.update(content);
    }
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=CROSSFADE_SOURCE_HASH={digits}");
    // As Python writes versions (PEP 440): what Cargo calls 0.2.0-dev is 0.2.0.dev0 there.
    let version = env!("CARGO_PKG_VERSION").replace("-dev", ".dev0");
    println!("cargo::rustc-env=CROSSFADE_VERSION={version}");
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
