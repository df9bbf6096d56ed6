//! The upstreams of a reverse proxy, by name and path.

use crate::semantics::key::Key;

/// One upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// The host in the request, or `None` for any.
    pub host: Option<String>,
    /// The replaced beginning of the path, `/` or `/debian/`.
    pub path: String,
    /// Its replacement: a URI that ends with `/`.
    pub upstream: Key,
}

/// The list, longest path first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewrites(Vec<Rewrite>);

impl Rewrites {
    /// The list in matching order.
    #[must_use]
    pub fn new(mut rewrites: Vec<Rewrite>) -> Self {
        rewrites.sort_by_key(|rewrite| std::cmp::Reverse((rewrite.host.is_some(), rewrite.path.len())));
        Rewrites(rewrites)
    }

    /// The rewritten target of a request for `key`; `None` without an upstream.
    #[must_use]
    pub fn rewrite(&self, key: &Key) -> Option<Key> {
        let path = key.path_and_query();
        self.0.iter().find_map(|rewrite| {
            let named = rewrite.host.as_deref().is_none_or(|host| host.eq_ignore_ascii_case(key.host()));
            let rest = path.strip_prefix(rewrite.path.as_str()).filter(|_| named)?;
            rewrite.upstream.under(rest)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_of_the_right_host_is_taken() {
        let rewrite = |host: Option<&str>, path: &str, upstream: &str| Rewrite {
            host: host.map(str::to_owned),
            path: path.to_owned(),
            upstream: Key::parse(upstream).unwrap(),
        };
        let rewrites = Rewrites::new(vec![
            rewrite(None, "/debian/", "http://deb.example/debian/"),
            rewrite(None, "/debian/security/", "http://sec.example/"),
            rewrite(Some("mirror"), "/", "http://all.example/"),
        ]);
        let of = |uri: &str| rewrites.rewrite(&Key::parse(uri).unwrap()).map(|key| key.as_str().to_owned());
        assert_eq!(of("http://a/debian/pool/x?y").as_deref(), Some("http://deb.example/debian/pool/x?y"));
        assert_eq!(of("http://a/debian/security/x").as_deref(), Some("http://sec.example/x"));
        assert_eq!(of("http://mirror:8080/z").as_deref(), Some("http://all.example/z"));
        assert_eq!(of("http://a/z"), None);
    }
}
