//! Hits on a small object, by the web cache and by those that this machine has beside it (nginx, Squid): each
//! behind the same clients, one after the other, on loopback.

use super::Row;
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The object that is asked for.
const OBJECT_BYTES: usize = 10_000;
/// Different ones of them that are kept while memory is looked at.
const OBJECTS: usize = 10_000;
/// Number of connections, each of which sends its next request after an answer.
const CONNECTIONS: usize = 32;
const RUN: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(10);

pub fn measure(runs: u32) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir().context("cannot make a folder for the caches")?;
    let origin = origin()?;
    let mut rows = Vec::new();
    for name in ["overheard", "nginx", "squid"] {
        let port = free_port()?;
        let Some(mut cache) = start(name, port, origin, folder.path())? else {
            tracing::info!("{name} is not installed and not measured");
            continue;
        };
        wait_for(port).with_context(|| format!("{name} does not come to listen"))?;
        let empty = resident_bytes(cache.id())?;
        ask_for_all(port)?;
        let resident = resident_bytes(cache.id())?;
        let before = processor_time(cache.id())?;
        let began = Instant::now();
        let hits: Vec<f64> = (0..runs).map(|_| hits_per_second(port)).collect();
        let took = processor_time(cache.id())? - before;
        let all: f64 = hits.iter().sum::<f64>() / f64::from(runs) * began.elapsed().as_secs_f64();
        let mut sorted = hits;
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        rows.push(Row::new(format!("{name}: hits of 10 KB"), middle, "a second"));
        rows.push(Row::new(
            format!("{name}: hits by its own processor time"),
            all / took.max(1e-3),
            "a second",
        ));
        let content = (OBJECTS * OBJECT_BYTES) as f64;
        rows.push(Row::new(
            format!("{name}: memory with 10,000 objects"),
            resident as f64 / content,
            "of their bytes",
        ));
        let besides = (resident as f64 - content).max(empty as f64) / f64::from(1 << 20);
        rows.push(Row::new(format!("{name}: resident besides them"), besides, "MiB"));
        // its workers too
        let _ = kill_process_group(Pid::from_child(&cache), Signal::KILL);
        let _ = cache.wait();
    }
    Ok(rows)
}

/// Serves any path, for as long as the process lives.
fn origin() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port for an origin")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                let body = [b'x'; OBJECT_BYTES];
                let head = format!(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nETag: \"a\"\r\nContent-Length: {OBJECT_BYTES}\r\n\r\n"
                );
                while let Ok(1..) = stream.read(&mut request) {
                    // Contents that differ: equal ones would be kept once.
                    let mut body = body;
                    let path = request.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
                    body.iter_mut().zip(path).for_each(|(to, from)| *to = *from);
                    // At once: two writes would wait for each other's acknowledgment.
                    if stream.write_all(&[head.as_bytes(), &body].concat()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(port)
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// `None`: it is not installed.
fn start(name: &str, port: u16, origin: u16, folder: &Path) -> anyhow::Result<Option<Child>> {
    let folder = folder.join(name);
    fs::create_dir(&folder)?;
    let at = folder.display();
    let (program, config, arguments) = match name {
        "overheard" => (
            crate::programs::find()?.overheard,
            format!(
                "[cache]\nname = \"bench\"\nclients = [\"127.0.0.0/8\"]\n[store]\nmemory_mib = 256\n[reverse]\n\
                 listen = \"127.0.0.1:{port}\"\n[[reverse.upstream]]\nurl = \"http://127.0.0.1:{origin}/\"\n"
            ),
            vec!["cache".to_owned(), format!("{at}/config"), "--socket".to_owned(), format!("{at}/socket")],
        ),
        "nginx" => (
            "nginx".into(),
            format!(
                "daemon off; worker_processes 2; pid {at}/pid; error_log stderr error; events {{ worker_connections 256; }}\n\
                 http {{ access_log off; keepalive_requests 100000000; proxy_cache_path {at}/kept keys_zone=a:32m max_size=1g;\n\
                 client_body_temp_path {at}/b; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u;\n\
                 scgi_temp_path {at}/s; server {{ listen 127.0.0.1:{port}; location / {{ proxy_cache a;\n\
                 sendfile on; proxy_pass http://127.0.0.1:{origin}; }} }} }}\n"
            ),
            vec!["-e".to_owned(), "stderr".to_owned(), "-c".to_owned(), format!("{at}/config")],
        ),
        _ => (
            "squid".into(),
            format!(
                "http_port 127.0.0.1:{port} accel defaultsite=127.0.0.1\ncache_peer 127.0.0.1 parent {origin} 0 \
                 no-query originserver\nhttp_access allow all\naccess_log none\ncache_log /dev/stderr\npid_filename none\n\
                 cache_mem 256 MB\nvisible_hostname bench\nshutdown_lifetime 0 seconds\n"
            ),
            vec!["-N".to_owned(), "-f".to_owned(), format!("{at}/config")],
        ),
    };
    fs::write(folder.join("config"), config)?;
    let log = fs::File::create(folder.join("log"))?;
    let mut command = Command::new(&program);
    command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
    match command.spawn() {
        Ok(child) => Ok(Some(child)),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why).with_context(|| format!("cannot start {}", program.display())),
    }
}

fn wait_for(port: u16) -> anyhow::Result<()> {
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if Instant::now() > until {
            bail!("nothing listens on port {port}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Asks for one object on an open connection.
fn ask(stream: &mut TcpStream, request: &[u8], buffer: &mut [u8]) -> anyhow::Result<()> {
    stream.write_all(request)?;
    let (mut filled, mut head) = (0, None);
    loop {
        let length = stream.read(buffer.get_mut(filled..).context("the answer is too long")?)?;
        if length == 0 {
            bail!("the connection ended in an answer");
        }
        filled += length;
        head =
            head.or_else(|| buffer[..filled].windows(4).position(|end| end == b"\r\n\r\n").map(|at| at + 4));
        if head.is_some_and(|head| filled >= head + OBJECT_BYTES) {
            if !buffer.starts_with(b"HTTP/1.1 200") {
                bail!("answered {}", String::from_utf8_lossy(&buffer[..20]));
            }
            return Ok(());
        }
    }
}

fn request(path: usize) -> Vec<u8> {
    format!("GET /{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").into_bytes()
}

fn connect(port: u16) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn ask_for_all(port: u16) -> anyhow::Result<()> {
    let (mut stream, mut buffer) = (connect(port)?, vec![0; 32 << 10]);
    (0..OBJECTS).try_for_each(|path| ask(&mut stream, &request(path), &mut buffer))
}

fn hits_per_second(port: u16) -> f64 {
    let (stop, hits) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let Ok(mut stream) = connect(port) else { return };
                let (mut buffer, request) = (vec![0; 32 << 10], request(0));
                while !stop.load(Ordering::Relaxed) && ask(&mut stream, &request, &mut buffer).is_ok() {
                    hits.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(RUN);
        stop.store(true, Ordering::Relaxed);
    });
    hits.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

/// A process and its children.
fn family(head: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{head}/task/{head}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    std::iter::once(head).chain(children).collect()
}

/// Seconds of processor time that a process and its children have had.
fn processor_time(head: u32) -> anyhow::Result<f64> {
    family(head).into_iter().map(|process| Ok(lab::processor_seconds(process)?)).sum()
}

fn resident_bytes(head: u32) -> anyhow::Result<u64> {
    let of = |process: u32| -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
    };
    family(head).into_iter().map(of).sum()
}
