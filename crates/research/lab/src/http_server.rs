//! An HTTP daemon (nginx) in a namespace, with its files below one folder.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Doing, LabError, end_of_log};
use crate::namespace::Namespace;
use crate::program::Program;

/// Timeout of the daemon's start.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval of checks whether it listens.
const INTERVAL: Duration = Duration::from_millis(5);

/// A running nginx. Dropped, it is ended.
pub struct HttpServer {
    _program: Program,
}

impl HttpServer {
    /// Serves the files in `content` on `port` of every address of `namespace`, with a freshness of
    /// `fresh_seconds`. Its own files are in `folder`. Returns when it listens.
    ///
    /// # Errors
    ///
    /// [`LabError::ProgramAbsent`] without nginx, [`LabError::Daemon`] if it does not listen in time.
    pub fn start(
        namespace: &Namespace,
        content: &Path,
        folder: &Path,
        port: u16,
        fresh_seconds: Option<u32>,
    ) -> Result<Self, LabError> {
        let config = folder.join("nginx.conf");
        let log = folder.join("nginx.log");
        fs::write(&config, configuration(content, folder, port, fresh_seconds))
            .doing(|| format!("write {}", config.display()))?;
        let mut command = Command::new("nginx");
        command.args(["-p", ".", "-c"]).arg(&config).arg("-e").arg(&log).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut program = Program::start(namespace, command, "nginx-light")?;
        let deadline = Instant::now() + PATIENCE;
        let complain = |detail: &str| LabError::Daemon {
            daemon: "nginx".to_owned(),
            detail: detail.to_owned(),
            log: end_of_log(&fs::read_to_string(&log).unwrap_or_default(), 500),
        };
        loop {
            if program.wait_until(Instant::now() + INTERVAL)?.is_some() {
                return Err(complain("ended at once"));
            }
            if namespace.enter(|| is_listening(port))? {
                return Ok(Self { _program: program });
            }
            if Instant::now() >= deadline {
                return Err(complain("does not listen"));
            }
        }
    }
}

/// Whether a program accepts connections on loopback's `port` in the calling thread's namespace.
pub(crate) fn is_listening(port: u16) -> bool {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), PATIENCE).is_ok()
}

/// One process, no logs, nothing outside `folder`; the answers are files as they are.
fn configuration(content: &Path, folder: &Path, port: u16, fresh_seconds: Option<u32>) -> String {
    let expires = fresh_seconds.map_or_else(|| "off".to_owned(), |seconds| format!("{seconds}s"));
    let (content, folder) = (content.display(), folder.display());
    format!(
        "daemon off;\n\
         master_process off;\n\
         pid {folder}/nginx.pid;\n\
         error_log {folder}/nginx.log error;\n\
         events {{ worker_connections 512; }}\n\
         http {{\n\
           access_log off;\n\
           client_body_temp_path {folder}/nginx-body;\n\
           proxy_temp_path {folder}/nginx-proxy;\n\
           fastcgi_temp_path {folder}/nginx-fastcgi;\n\
           uwsgi_temp_path {folder}/nginx-uwsgi;\n\
           scgi_temp_path {folder}/nginx-scgi;\n\
           sendfile on;\n\
           types {{ }}\n\
           default_type application/octet-stream;\n\
           server {{\n\
             listen {port};\n\
             listen [::]:{port};\n\
             root {content};\n\
             expires {expires};\n\
           }}\n\
         }}\n"
    )
}
