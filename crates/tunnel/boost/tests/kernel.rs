//! The programs in this machine's kernel, on loopback connections.
#![cfg(feature = "bpf")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use boost::{Controller, Wrapped};
use libbpf_rs::query::ProgInfoIter;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wire::inner::{Flow, TCP};

/// Bytes that keep a window busy for a while.
const BYTES: usize = 8 << 20;
/// The most bytes that a test sends on one connection.
const MOST_BYTES: usize = 1 << 30;
/// Bytes written and read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// One test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A controller, if this machine can load one. Its name contains the process's number, so tests load it one
/// at a time.
fn controller(wrapped: Wrapped) -> Option<Controller> {
    match Controller::load(wrapped) {
        Ok(controller) => Some(controller),
        Err(error) => {
            let possible =
                rustix::process::geteuid().is_root() && Path::new("/sys/kernel/btf/vmlinux").exists();
            assert!(!possible, "{error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn available() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap()
}

/// A loopback connection whose first end uses `control`. `before` runs when its flow is known.
fn connection(address: &str, control: &str, before: impl FnOnce(&Flow)) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(address).unwrap();
    let to = listener.local_addr().unwrap();
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).unwrap();
    let any: SocketAddr = (to.ip(), 0).into();
    socket.bind(&any.into()).unwrap();
    socket.set_tcp_congestion(control.as_bytes()).unwrap();
    let from = socket.local_addr().unwrap().as_socket().unwrap();
    before(&Flow {
        source: from.ip(),
        destination: to.ip(),
        protocol: TCP,
        source_port: from.port(),
        destination_port: to.port(),
    });
    socket.connect(&to.into()).unwrap();
    (socket.into(), listener.accept().unwrap().0)
}

/// The kernel's report about a connection's sending end.
fn told(stream: &TcpStream) -> String {
    let port = stream.local_addr().unwrap().port();
    let output = Command::new("ss").args(["-tinH", &format!("sport = :{port}")]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn window(stream: &TcpStream) -> u32 {
    let told = told(stream);
    let cwnd = told.split_whitespace().find_map(|word| word.strip_prefix("cwnd:"));
    cwnd.unwrap_or_else(|| panic!("no window in {told}")).parse().unwrap()
}

/// Carries many bytes, and returns whether they arrived unchanged.
fn carry(from: TcpStream, to: TcpStream) -> bool {
    carry_while(from, to, |sent| sent < BYTES)
}

/// Carries bytes while `goes_on` returns true for their number. Returns whether they arrived unchanged.
fn carry_while(mut from: TcpStream, mut to: TcpStream, goes_on: impl Fn(usize) -> bool + Send) -> bool {
    let byte_at = |at: usize| ((at * 31) >> 7) as u8;
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut sent = 0;
            while goes_on(sent) {
                let chunk: Vec<u8> = (sent..sent + CHUNK_BYTES).map(byte_at).collect();
                from.write_all(&chunk).unwrap();
                sent += chunk.len();
            }
            sent
        });
        let (mut came, mut as_they_were) = (0, true);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = to.read(&mut chunk).unwrap();
            if read == 0 {
                break;
            }
            as_they_were &= chunk[..read].iter().zip(came..).all(|(byte, at)| *byte == byte_at(at));
            came += read;
        }
        as_they_were && came == writer.join().unwrap()
    })
}

#[test]
fn the_initial_window_is_as_many_wire_packets_as_without_and_the_name_goes_with_the_controller() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for wrapped in Wrapped::ALL {
        let Some(controller) = controller(wrapped) else { return };
        let name = controller.name().to_owned();
        assert!(available().split_whitespace().any(|other| other == name), "{name}");
        // The kernel's own congestion control, if present; all of them start alike.
        let has = available().split_whitespace().any(|name| name == wrapped.name());
        let own = if has { wrapped.name() } else { "reno" };
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let (plain, _end) = connection(address, own, |_| {});
            let (unknown, _end) = connection(address, &name, |_| {});
            assert_eq!(window(&unknown), window(&plain), "{}", told(&unknown));
            assert!(told(&unknown).contains(&name));
            let (boosted, _end) = connection(address, &name, |flow| controller.tell(flow, 3.5));
            // Ten wire packets of 3.5 segments on the link, and half of one in preparation.
            assert_eq!(window(&boosted), 37, "{}", told(&boosted));
            let (never_below, _end) = connection(address, &name, |flow| controller.tell(flow, 0.25));
            assert_eq!(window(&never_below), window(&plain));
        }
        let (from, to) = connection("127.0.0.1:0", &name, |flow| controller.tell(flow, 2.0));
        drop(controller);
        assert!(!available().split_whitespace().any(|other| other == name), "{name} stays");
        assert!(carry(from, to), "what was connected by then goes on");
    }
}

#[test]
fn whatever_is_wrapped_carries_bytes_at_any_ratio() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for wrapped in Wrapped::ALL {
        let Some(controller) = controller(wrapped) else { return };
        for ratio in [1.0, 3.5, 64.0] {
            let told = |flow: &Flow| controller.tell(flow, ratio);
            let (from, to) = connection("127.0.0.1:0", controller.name(), told);
            assert!(carry(from, to), "{wrapped} at {ratio}");
        }
    }
}

/// The kernel's numbers of the BPF programs that this process has open.
fn own_programs() -> BTreeSet<u32> {
    let descriptors = fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let said = descriptors.filter_map(|descriptor| fs::read_to_string(descriptor.path()).ok());
    said.filter_map(|said| said.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok()))
        .collect()
}

/// Whether the kernel has any of these programs.
fn has(programs: &BTreeSet<u32>) -> bool {
    ProgInfoIter::default().any(|program| programs.contains(&program.id))
}

/// Whether the kernel has warned since its start (Documentation/admin-guide/tainted-kernels, bit 9).
fn has_warned() -> bool {
    let tainted: u64 = fs::read_to_string("/proc/sys/kernel/tainted").unwrap().trim().parse().unwrap();
    tainted & 1 << 9 != 0
}

#[test]
fn unloaded_while_many_connections_send_it_leaves_nothing_behind_and_they_go_on() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let had_warned = has_warned();
    let mut programs = BTreeSet::new();
    for wrapped in Wrapped::ALL {
        let Some(controller) = controller(wrapped) else { return };
        let loaded = own_programs();
        assert!(loaded.len() > 3 && has(&loaded), "{loaded:?}");
        programs.extend(loaded);
        let connections = (0..16).map(|number: u8| {
            let told = |flow: &Flow| controller.tell(flow, 1.0 + f64::from(number) / 2.0);
            connection("127.0.0.1:0", controller.name(), told)
        });
        let connections: Vec<_> = connections.collect();
        let unloaded = AtomicBool::new(false);
        let goes_on = |sent: usize| sent < BYTES || !unloaded.load(Ordering::Relaxed) && sent < MOST_BYTES;
        std::thread::scope(|scope| {
            let carried =
                connections.into_iter().map(|(from, to)| scope.spawn(move || carry_while(from, to, goes_on)));
            let carried: Vec<_> = carried.collect();
            std::thread::sleep(Duration::from_millis(5));
            drop(controller);
            assert!(carried.iter().any(|it| !it.is_finished()), "in the midst of it");
            unloaded.store(true, Ordering::Relaxed);
            assert!(carried.into_iter().all(|it| it.join().unwrap()), "{wrapped}");
        });
    }
    // A closing connection keeps programs for a moment.
    let end = Instant::now() + Duration::from_secs(10);
    while has(&programs) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!has(&programs), "they stay");
    assert_eq!(has_warned(), had_warned);
}
