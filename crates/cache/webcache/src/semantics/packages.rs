//! Rules for package repositories, whatever their servers declare: an index must never be stale, and a
//! package never changes. Debian (`InRelease`, `dists/`, `pool/`, `by-hash/`), Alpine, Fedora, OpenWrt, Arch.

use super::freshness::Freshness;

/// Lifetime of a package with a version in its name, or of a file under its own hash.
const KEPT_SECONDS: u32 = 90 * 86_400;

/// Kind of a path's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Changes in place: validated every time.
    Index,
    /// Never changes.
    Package,
}

/// The kind of a path's content, if it is a repository's.
#[must_use]
pub fn kind_of(path_and_query: &str) -> Option<Kind> {
    let path = path_and_query.split('?').next().unwrap_or_default();
    if path.contains("/by-hash/") {
        return Some(Kind::Package);
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let bare = [".gz", ".xz", ".bz2", ".zst", ".lzma"].iter().find_map(|packed| name.strip_suffix(packed));
    let bare = bare.unwrap_or(name);
    let of_debian =
        matches!(bare, "InRelease" | "Release" | "Release.gpg" | "Packages" | "Sources" | "Index")
            || path.contains("/dists/")
            || bare.starts_with("Contents-") && !path.contains("/pool/");
    let of_others = matches!(
        name,
        "APKINDEX.tar.gz" | "repomd.xml" | "repomd.xml.asc" | "Packages.sig" | "Packages.manifest"
    ) || name.ends_with(".db") && path.contains("/os/");
    if of_debian || of_others {
        return Some(Kind::Index);
    }
    let package = [".deb", ".udeb", ".dsc", ".rpm", ".apk", ".ipk", ".pkg.tar.zst", ".pkg.tar.xz"];
    let pooled = path.contains("/pool/") && (name.contains(".orig.tar") || name.contains(".debian.tar"));
    let packed = pooled || package.iter().any(|ending| name.ends_with(ending));
    (packed && names_version(name)).then_some(Kind::Package)
}

/// Whether a file's name contains a version. A file without one (`browser_current_amd64.deb`) is replaced in
/// place.
fn names_version(name: &str) -> bool {
    name.as_bytes().windows(2).any(|pair| matches!(pair, [b'_' | b'-', b'0'..=b'9']))
}

/// Sets the freshness of a stored file by its kind.
pub fn apply(kind: Kind, freshness: &mut Freshness) {
    match kind {
        Kind::Index => {
            freshness.always_validate = true;
            freshness.must_revalidate = true;
        }
        Kind::Package => {
            freshness.lifetime = freshness.lifetime.max(KEPT_SECONDS);
            freshness.always_validate = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_and_packages_are_told_apart() {
        for index in [
            "/debian/dists/bookworm/InRelease",
            "/debian/dists/bookworm/main/binary-amd64/Packages.xz",
            "/alpine/v3.20/main/x86_64/APKINDEX.tar.gz",
            "/fedora/repodata/repomd.xml",
            "/openwrt/packages/mips/base/Packages.gz",
        ] {
            assert_eq!(kind_of(index), Some(Kind::Index), "{index}");
        }
        for package in [
            "/debian/dists/bookworm/main/binary-amd64/by-hash/SHA256/abcd",
            "/debian/pool/main/c/curl/curl_8.0-1_amd64.deb",
            "/debian/pool/main/c/curl/curl_8.0.orig.tar.gz",
            "/fedora/x-1.2-3.fc40.rpm?mirror=1",
            "/alpine/v3.20/main/x86_64/curl-8.9.0-r0.apk",
        ] {
            assert_eq!(kind_of(package), Some(Kind::Package), "{package}");
        }
        assert_eq!(kind_of("/index.html"), None);
        assert_eq!(kind_of("/linux/browser_current_amd64.deb"), None, "the next version has the same name");
        assert_eq!(kind_of("/releases/photo.jpg"), None);
    }
}
