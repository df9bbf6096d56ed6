//! The lab in the virtual-time kernel; without such a kernel it prints one line and is skipped.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests of what runs in real time, which panic on failure"
)]

mod scenarios;
mod wi_fi;

use std::time::{Duration, Instant};

use air::{LinkConfig, ReorderConfig};
use lab::virtual_time::{Boot, Kernel, SeedLibrary};
use lab::{Action, Daemon, Direction, Download, Driver, Ending, Event, LabError, Medium, Ready};
use lab::{Place, Scenario, Start, Topology};
use scenarios::{FILE_BYTES, bare, download, lossy, quiet, stream, virtually};

#[test]
fn one_seed_gives_identical_figures_twice_and_another_seed_gives_others() {
    let Some(driver) = virtually() else { return };
    let folder = tempfile::tempdir().unwrap();
    let scenario = |seed| bare(folder.path(), 0.01, &[seed]);
    let outcomes = lab::run(&Driver::Virtual(driver), &[scenario(7), scenario(7), scenario(8)]).unwrap();

    assert_eq!(outcomes[0], outcomes[1]);
    assert_ne!(outcomes[0].links, outcomes[2].links);
    for outcome in &outcomes {
        let download = &outcome.downloads[0];
        assert_eq!(download.ending, Ending::Complete, "{}", download.complaint);
        assert_eq!((download.bytes, download.intact), (FILE_BYTES as u64, true));
        // The link is the only thing that takes time: a little more than the octets at 1 MByte/s.
        assert!((0.6..5.0).contains(&download.seconds), "{}", download.seconds);
        assert!(outcome.link("air").unwrap().forward.lost.packets > 0);
    }
}

#[test]
fn a_stream_loses_exactly_what_the_link_loses() {
    let Some(driver) = virtually() else { return };
    let mut scenario = quiet("stream", 0.1, &[3]);
    scenario.streams = vec![lab::Stream { keeps_delays: true, ..stream(&scenario) }];
    let outcome = lab::run(&Driver::Virtual(driver), &[scenario]).unwrap().remove(0);
    let (stream, air) = (&outcome.streams[0], &outcome.link("air").unwrap().forward);
    assert_eq!((stream.sent, stream.refused), (500, 0));
    assert_eq!(air.offered.packets, 500, "nothing else crosses the link");
    assert!((25..80).contains(&air.lost.packets), "{}", air.lost.packets);
    assert_eq!(stream.received, 500 - air.lost.packets);
    assert_eq!((stream.duplicated, stream.reordered, stream.altered), (0, 0, 0));
    // 1048 octets at 1 MByte/s and 10 ms.
    assert!((stream.delay.median_milliseconds - 11.048).abs() < 0.1, "{:?}", stream.delay);
    assert_eq!(outcome.link("air").unwrap().backward.offered.packets, 0);
    let arrived: Vec<f64> = stream.delays_milliseconds.iter().copied().flatten().collect();
    assert_eq!((stream.delays_milliseconds.len(), arrived.len() as u64), (500, stream.received));
    assert!(arrived.iter().all(|delay| (10.0..=stream.delay.longest_milliseconds).contains(delay)));
}

#[test]
fn a_stream_sees_every_mishap_that_the_link_makes() {
    let Some(driver) = virtually() else { return };
    let mut scenario = quiet("mishaps", 0.05, &[4]);
    let Medium::Air { forward, .. } = &mut scenario.topology.links[0].medium else { panic!() };
    forward.duplicate = 0.1;
    forward.corrupt = 0.1;
    forward.reorder = Some(ReorderConfig { probability: 0.1, extra_delay: Duration::from_millis(12) });
    scenario.streams = vec![stream(&scenario)];
    let outcome = lab::run(&Driver::Virtual(driver), &[scenario]).unwrap().remove(0);
    let (stream, air) = (&outcome.streams[0], &outcome.link("air").unwrap().forward);
    for mishaps in [air.lost, air.duplicated, air.corrupted, air.reordered] {
        assert!(mishaps.packets > 5, "{air:?}");
    }
    assert_eq!(air.delivered.packets, 500 - air.lost.packets + air.duplicated.packets);
    // The UDP checksum finds every flipped bit but those of the traffic class, the flow label and the hop
    // limit.
    assert_eq!(stream.altered, 0);
    let unharmed = 500 - air.lost.packets - air.corrupted.packets;
    assert!((unharmed..=unharmed + 3).contains(&stream.received), "{stream:?}");
    assert!(stream.duplicated > 5 && stream.duplicated <= air.duplicated.packets);
    assert!(stream.reordered > 5 && stream.reordered <= air.reordered.packets);
}

#[test]
fn a_download_over_a_link_that_dies_stalls_and_keeps_what_it_has() {
    let Some(driver) = virtually() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut scenario = bare(folder.path(), 0.0, &[1]);
    let config = lossy(1.0);
    let death = Action::Configure { link: "air".to_owned(), direction: Direction::Forward, config };
    scenario.events = vec![Event { at_seconds: 0.3, action: death }];
    let outcome = lab::run(&Driver::Virtual(driver), &[scenario]).unwrap().remove(0);
    let download = &outcome.downloads[0];
    assert_eq!(download.ending, Ending::Stalled, "{}", download.complaint);
    assert!((100_000..400_000).contains(&download.bytes), "{}", download.bytes);
    assert!(download.intact);
    assert!((60.0..70.0).contains(&download.seconds), "{}", download.seconds);
}

#[test]
fn daemons_events_and_a_chain_of_downloads_go_through_a_gateway() {
    let Some(driver) = virtually() else { return };
    let folder = tempfile::tempdir().unwrap();
    let wire = LinkConfig { delay: Duration::from_millis(30), ..LinkConfig::default() };
    let wire = Medium::Air { forward: wire.clone(), backward: wire };
    let topology = Topology::behind_gateway(lossy(0.01), lossy(0.01), wire);
    let server = topology.ipv4("wire", "server").unwrap();
    let proxy = topology.ipv6("air", "gateway").unwrap();
    let daemon = Daemon {
        name: "proxy".to_owned(),
        place: "gateway".to_owned(),
        command: ["socat", "TCP6-LISTEN:8080,ipv6only=0,fork,reuseaddr", &format!("TCP4:{server}:80")]
            .map(str::to_owned)
            .to_vec(),
        config: "socat reads no {config}".to_owned(),
        ready: Ready::Listening(8080),
        status: ["echo", r#"{"config": "{config}"}"#].map(str::to_owned).to_vec(),
        later: false,
        within_seconds: None,
    };
    let waited_for = |name: &str, ready| Daemon {
        name: name.to_owned(),
        place: "station".to_owned(),
        command: shell("sleep 0.5; touch {socket}; echo all set; sleep 1000"),
        ready,
        status: Vec::new(),
        ..daemon.clone()
    };
    let daemons = vec![
        waited_for("interface", Ready::Interface("air".to_owned())),
        waited_for("path", Ready::Path("{socket}".to_owned())),
        waited_for("text", Ready::Said { text: "all set".to_owned(), within_seconds: 5 }),
        waited_for("command", Ready::Succeeds { command: shell("test -e {socket}"), within_seconds: 5 }),
        daemon.clone(),
    ];
    let run = |at_seconds, place: &str, words: &[&str]| {
        let command = words.iter().map(|word| (*word).to_owned()).collect();
        Event { at_seconds, action: Action::Run { place: place.to_owned(), command } }
    };
    let direct = Download {
        from: server.into(),
        ..download(&Scenario { topology: topology.clone(), ..quiet("", 0.0, &[]) })
    };
    let scenario = Scenario {
        name: "chain".to_owned(),
        servers: vec!["server".to_owned()],
        daemons,
        downloads: vec![
            direct.clone(),
            Download { from: proxy.into(), port: 8080, start: Start::After(0), ..direct.clone() },
            Download { start: Start::AtSeconds(20.0), ..direct },
        ],
        events: vec![
            run(10.0, "gateway", &["ip", "-o", "route", "get", &server.to_string()]),
            Event { at_seconds: 12.0, action: Action::Stop("proxy".to_owned()) },
            Event { at_seconds: 14.0, action: Action::Start("proxy".to_owned()) },
            run(5000.0, "gateway", &["false"]),
        ],
        parameters: [("net.ipv4.tcp_congestion_control".to_owned(), "reno".to_owned())].into(),
        topology,
        ..bare(folder.path(), 0.01, &[5])
    };
    let outcome = lab::run(&Driver::Virtual(driver), &[scenario]).unwrap().remove(0);
    for download in &outcome.downloads {
        assert_eq!(download.ending, Ending::Complete, "{}", download.complaint);
        assert!(download.intact);
    }
    // Three handshakes and first octets: 2 RTTs of 80 ms direct, 20 and 80 ms through the proxy.
    let [direct, proxied, later] = &outcome.downloads[..] else { panic!() };
    assert!(direct.first_byte_seconds > 0.16, "{}", direct.first_byte_seconds);
    assert!(proxied.started_seconds >= direct.seconds);
    assert!((20.0..20.1).contains(&later.started_seconds));
    assert!(outcome.link("wire").unwrap().forward.transmitted.bytes > 3 * FILE_BYTES as u64);
    assert_eq!(outcome.said.len(), 1, "the event after the end did not happen");
    assert!(outcome.said[0].contains("wire"), "{}", outcome.said[0]);
    let config = outcome.statuses["proxy"]["config"].as_str().unwrap();
    assert!(config.ends_with("proxy.toml"), "{config}");
}

#[test]
fn the_guests_own_randomness_follows_from_the_seed() {
    let Some((kernel, library)) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let drawn = |seed| {
        let file = folder.path().join("drawn");
        let mut command = shell("head -c 1000 /dev/urandom > \"$0\"");
        command.push(file.to_string_lossy().into_owned());
        Boot::new(command, seed).run(&kernel, &library, &mut || false).unwrap();
        std::fs::read(file).unwrap()
    };
    let first = drawn(1);
    assert_eq!(first.len(), 1000);
    assert_eq!(first, drawn(1));
    assert_ne!(first, drawn(2));
}

#[test]
fn a_kernel_does_not_outlive_who_booted_it() {
    let Some(driver) = virtually() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut scenario = bare(folder.path(), 0.0, &[1]);
    // An endless computation stops the virtual clock.
    scenario.daemons = vec![Daemon {
        name: "busy".to_owned(),
        place: "gateway".to_owned(),
        command: shell("while :; do :; done"),
        config: String::new(),
        ready: Ready::AtOnce,
        status: Vec::new(),
        later: false,
        within_seconds: None,
    }];
    let file = folder.path().join("scenario.json");
    std::fs::write(&file, serde_json::to_vec(&scenario).unwrap()).unwrap();
    let mut victim = std::process::Command::new(&driver.programs.laboratory)
        .args(["run", "--overheard"])
        .arg(&driver.programs.overheard)
        .arg(&file)
        .spawn()
        .unwrap();
    let kernel = || -> Option<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", victim.id())).ok()?;
        let children =
            tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let of_kernel = |child: &&str| {
            let line = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            line.contains("time-travel=inf-cpu") && !line.starts_with("setpriv")
        };
        children.collect::<String>().split_whitespace().find(of_kernel).map(str::to_owned)
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    let kernel = loop {
        if let Some(kernel) = kernel() {
            break kernel;
        }
        assert!(Instant::now() < deadline, "no kernel was booted");
        std::thread::sleep(Duration::from_millis(10));
    };
    victim.kill().unwrap();
    victim.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while std::path::Path::new(&format!("/proc/{kernel}")).exists() {
        assert!(Instant::now() < deadline, "the kernel is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_kernel_that_panics_is_an_error_with_its_last_words() {
    let Some((kernel, library)) = kernel() else { return };
    let boot = Boot::new(shell("echo just before the end; echo c > /proc/sysrq-trigger"), 1);
    let error = boot.run(&kernel, &library, &mut || false).unwrap_err();
    let LabError::Guest { detail, console } = &error else { panic!("{error}") };
    assert_eq!(detail, "stopped before its command had ended");
    assert!(console.contains("just before the end"), "{console}");
    assert!(console.contains("sysrq triggered crash"), "{console}");
}

#[test]
fn a_kernel_that_hangs_is_killed() {
    let Some((kernel, library)) = kernel() else { return };
    let silence = Duration::from_secs(2);
    let boot = Boot { silence, ..Boot::new(shell("while :; do :; done"), 1) };
    let started = Instant::now();
    let error = boot.run(&kernel, &library, &mut || false).unwrap_err();
    assert!(error.to_string().contains("showed no progress for 2 seconds"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_command_that_fails_is_an_error_with_its_status() {
    let Some((kernel, library)) = kernel() else { return };
    let boot = Boot::new(shell("echo it is \\'quoted\\'; exit 7"), 1);
    let error = boot.run(&kernel, &library, &mut || false).unwrap_err();
    let LabError::Guest { detail, console } = &error else { panic!("{error}") };
    assert_eq!(detail, "ran a command that ended with status 7");
    assert!(console.contains("it is 'quoted'"), "{console}");
}

#[test]
fn a_day_passes_in_no_time() {
    let Some((kernel, library)) = kernel() else { return };
    let started = Instant::now();
    Boot::new(shell("sleep 86400"), 1).run(&kernel, &library, &mut || false).unwrap();
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_scenario_that_cannot_run_says_why() {
    let Some(driver) = virtually() else { return };
    let mut scenario = quiet("absent", 0.0, &[1]);
    scenario.daemons = vec![Daemon {
        name: "nobody".to_owned(),
        place: "station".to_owned(),
        command: vec!["false".to_owned()],
        config: String::new(),
        ready: Ready::Listening(9),
        status: Vec::new(),
        later: false,
        within_seconds: None,
    }];
    let error = lab::run(&Driver::Virtual(driver), &[scenario]).unwrap_err();
    assert!(error.to_string().contains("the daemon `nobody` ended before it was ready"), "{error}");
}

#[test]
fn a_readiness_check_that_never_succeeds_ends_the_run_after_its_own_time() {
    let Some(driver) = virtually() else { return };
    let mut scenario = quiet("never", 0.0, &[1]);
    scenario.daemons = vec![Daemon {
        name: "slow".to_owned(),
        place: "station".to_owned(),
        command: shell("echo still busy; sleep 1000"),
        config: String::new(),
        ready: Ready::Succeeds { command: vec!["false".to_owned()], within_seconds: 40 },
        status: Vec::new(),
        later: false,
        within_seconds: None,
    }];
    let error = lab::run(&Driver::Virtual(driver), &[scenario]).unwrap_err().to_string();
    assert!(error.contains("`slow` did not become ready in 40 seconds; it said: still busy"), "{error}");
}

#[test]
fn without_a_kernel_one_line_says_how_to_get_one() {
    let error = Kernel::at(std::path::Path::new("/nonexistent/linux")).unwrap_err();
    assert!(error.to_string().contains("overheard-lab kernel --make"), "{error}");
    assert_eq!(error.to_string().lines().count(), 1);
}

fn kernel() -> Option<(Kernel, SeedLibrary)> {
    let driver = virtually()?;
    Some((driver.kernel, SeedLibrary::compile().unwrap()))
}

fn shell(script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
}

#[test]
fn routers_on_a_channel_find_ways_that_clients_browse_over() {
    let Some(driver) = virtually() else { return };
    if !std::path::Path::new("/usr/sbin/babeld").exists() {
        return println!("left out: babeld is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let names = ["one", "two", "three", "four"];
    let place = |name: &str| Place { name: name.to_owned(), forwards: true, ..Place::default() };
    let channel = lab::Channel {
        name: "mesh".to_owned(),
        stations: names.map(str::to_owned).to_vec(),
        medium: air::MediumConfig {
            stations: (0..4).map(|number| [f64::from(number) * 200.0, 0.0]).collect(),
            ..Default::default()
        },
    };
    let babeld = |name: &str| Daemon {
        name: format!("babeld-{name}"),
        place: name.to_owned(),
        command: [
            "babeld",
            "-I",
            "{folder}/{name}.pid",
            "-S",
            "{folder}/{name}.state",
            "-C",
            "default type wireless",
            "-C",
            "redistribute local ip 10.78.0.0/16 allow",
            "-C",
            "redistribute local deny",
            "mesh",
        ]
        .map(|word| word.replace("{name}", name))
        .to_vec(),
        config: String::new(),
        ready: Ready::AtOnce,
        status: Vec::new(),
        later: false,
        within_seconds: None,
    };
    let topology =
        Topology { places: names.map(place).to_vec(), channels: vec![channel], ..Topology::default() };
    let server = topology.address_on("mesh", "one").unwrap();
    let page = |think_seconds| lab::Page { think_seconds, contents: vec!["file".to_owned(); 2] };
    let scenario = Scenario {
        topology,
        servers: vec!["one".to_owned()],
        daemons: names.iter().map(|name| babeld(name)).collect(),
        downloads: Vec::new(),
        clients: vec![lab::Client {
            place: "four".to_owned(),
            from: server.into(),
            pages: vec![page(60.0), page(1.0), page(1000.0)],
        }],
        fresh_seconds: Some(5000),
        bound_seconds: 100.0,
        ..bare(folder.path(), 0.0, &[1])
    };
    let outcome = lab::run(&Driver::Virtual(driver), &[scenario]).unwrap().remove(0);
    let fetches = &outcome.fetches[0];
    assert_eq!(fetches.len(), 4, "the last page was due after the end");
    for fetch in fetches {
        assert!(fetch.ending == Ending::Complete && fetch.intact, "{fetch:?}");
        // Three hops that share the air.
        let megabits = fetch.bytes as f64 * 8e-6 / fetch.seconds;
        assert!((0.8..2.5).contains(&megabits), "{megabits}");
    }
    assert!((60.0..60.2).contains(&fetches[0].started_seconds), "{fetches:?}");
    let stations = &outcome.channels[0].stations;
    assert!(stations.iter().all(|station| station.link_local.packets > 10), "{stations:?}");
    let carried = |station: usize| stations[station].delivered.packets - stations[station].link_local.packets;
    assert!(carried(1) > 4 * 567_000 / 1448, "the next to the server passes everything on: {stations:?}");
    assert!(carried(1).abs_diff(carried(2)) < carried(1) / 20, "{stations:?}");
}
