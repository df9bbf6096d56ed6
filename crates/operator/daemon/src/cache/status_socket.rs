//! The Unix socket of `overheard status`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixListener;
use webcache::proxy::Proxy;

/// Timeout of a client that reads the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The Unix socket that sends the state as JSON to each client.
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
    /// Binds to `path`. A stale socket is replaced.
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
        // Mode for the group: a node on this machine, which runs as another user, shows the caches' state.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660)).map_err(named)?;
        Ok(StatusSocket { socket, path: path.to_owned() })
    }

    /// A guard that removes the file.
    #[must_use]
    pub fn removal(&self) -> Removal {
        Removal(self.path.clone())
    }

    /// Answers clients one after the other, without end.
    pub async fn serve(self, proxy: Arc<Proxy>) {
        while let Ok((mut stream, _)) = self.socket.accept().await {
            let report = serde_json::to_vec(&proxy.report()).unwrap_or_default();
            let _ = tokio::time::timeout(PATIENCE, stream.write_all(&report)).await;
        }
    }
}
