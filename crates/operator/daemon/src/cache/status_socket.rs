//! The Unix socket that `overheard status` asks on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixListener;
use webcache::proxy::Proxy;

/// How long whoever asks may take to read the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The Unix socket that tells the state as JSON to whoever connects.
pub struct StatusSocket {
    socket: UnixListener,
    path: PathBuf,
}

/// Removes the socket's file when dropped.
pub struct Removal(PathBuf);

impl Drop for Removal {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl StatusSocket {
    /// Binds to `path`. A socket that nobody answers on any more is replaced.
    pub fn open(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let named = |why: io::Error| {
            io::Error::new(why.kind(), format!("cannot listen on {}: {why}", path.display()))
        };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(named)?;
        }
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(io::Error::other(format!(
                "a cache answers on {} already; stop it first",
                path.display()
            )));
        }
        let _ = std::fs::remove_file(path);
        let socket = UnixListener::bind(path).map_err(named)?;
        // the group's: a node on this machine, which runs as another user, shows what caches do
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660)).map_err(named)?;
        Ok(StatusSocket { socket, path: path.to_owned() })
    }

    /// What removes the file at the end.
    #[must_use]
    pub fn removal(&self) -> Removal {
        Removal(self.path.clone())
    }

    /// Answers for ever, one after the other.
    pub async fn serve(self, proxy: Arc<Proxy>) {
        while let Ok((mut stream, _)) = self.socket.accept().await {
            let report = serde_json::to_vec(&proxy.report()).unwrap_or_default();
            let _ = tokio::time::timeout(PATIENCE, stream.write_all(&report)).await;
        }
    }
}
