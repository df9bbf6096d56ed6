//! Neighbours of other kinds: ICP queries to and from caches such as Squid.

pub mod message;

use crate::datagrams::receive;
use crate::proxy::{Kind, Way, now};
use crate::semantics::key::Key;
use crate::store::Store;
use message::{LONGEST_BYTES, Message, Opcode};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

/// Timeout of a query.
const PATIENCE: Duration = Duration::from_millis(100);
/// The most queries at a time; further ones are not sent.
const MOST_QUESTIONS: usize = 1024;

/// Another cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// Its address.
    pub address: IpAddr,
    /// Port for queries.
    pub icp_port: u16,
    /// Port for requests.
    pub http_port: u16,
    /// Whether it fetches missing content for us.
    pub parent: bool,
}

/// The socket and the neighbours.
pub struct Icp {
    socket: UdpSocket,
    neighbours: Vec<Neighbour>,
    store: Arc<Store>,
    next: AtomicU32,
    questions: Mutex<HashMap<u32, mpsc::Sender<(IpAddr, Opcode)>>>,
}

impl std::fmt::Debug for Icp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Icp").field("neighbours", &self.neighbours).finish_non_exhaustive()
    }
}

impl Icp {
    /// Opens the socket and answers queries from then on.
    pub async fn start(
        listen: SocketAddr,
        neighbours: Vec<Neighbour>,
        store: Arc<Store>,
    ) -> io::Result<Arc<Self>> {
        let socket = UdpSocket::bind(listen).await.map_err(|why| {
            io::Error::new(
                why.kind(),
                format!("[icp] listen: cannot listen on {listen}: {why}; choose another"),
            )
        })?;
        let (next, questions) = (AtomicU32::new(rand::random()), Mutex::new(HashMap::new()));
        let icp = Arc::new(Icp { socket, neighbours, store, next, questions });
        tokio::spawn(icp.clone().listen());
        Ok(icp)
    }

    /// The neighbours that have `key`, then those that fetch it for us.
    pub async fn ways(&self, key: &Key) -> Vec<Way> {
        let way = |neighbour: &Neighbour, kind| Way {
            address: SocketAddr::new(neighbour.address, neighbour.http_port),
            kind,
        };
        let mut answers = self.ask(key).await;
        let mut ways = Vec::new();
        let mut missing = 0;
        while let Some((from, opcode)) = answers.receiver.recv().await {
            tracing::debug!("{} at {from}: {opcode:?}", key.as_str());
            missing += 1;
            let holder = self.neighbours.iter().find(|neighbour| neighbour.address == from);
            if let (Some(holder), Opcode::Hit) = (holder, opcode) {
                ways.push(way(holder, if holder.parent { Kind::Proxy } else { Kind::ProxyHolder }));
                break;
            }
            if missing >= self.neighbours.len() {
                break;
            }
        }
        ways.extend(
            self.neighbours
                .iter()
                .filter(|neighbour| neighbour.parent)
                .map(|parent| way(parent, Kind::Proxy)),
        );
        ways.dedup();
        ways
    }

    async fn ask(&self, key: &Key) -> Answers<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel(self.neighbours.len().max(1));
        let question = Message { opcode: Opcode::Query, number, url: key.as_str().to_owned() }.emit();
        {
            let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
            if questions.len() < MOST_QUESTIONS && question.is_some() {
                questions.insert(number, sender.clone());
            }
        }
        for neighbour in &self.neighbours {
            let to = SocketAddr::new(neighbour.address, neighbour.icp_port);
            if let Some(question) = &question {
                let _ = self.socket.try_send_to(question, to);
            }
        }
        // The last sender is dropped after the timeout, which ends the receiver.
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            drop(sender);
        });
        Answers { icp: self, number, receiver }
    }

    async fn listen(self: Arc<Self>) {
        let mut datagram = vec![0; LONGEST_BYTES + 1];
        loop {
            let (length, from) = receive(&self.socket, &mut datagram).await;
            let address = from.ip().to_canonical();
            // An answer is larger than a small query. Strangers get none, so nobody is flooded through us.
            let known = self.neighbours.iter().any(|neighbour| neighbour.address == address);
            let Some(message) = datagram.get(..length).filter(|_| known).and_then(Message::parse) else {
                continue;
            };
            if message.opcode == Opcode::Query {
                let answer = Message { opcode: self.answer(&message.url), ..message };
                if let Some(answer) = answer.emit() {
                    let _ = self.socket.try_send_to(&answer, from);
                }
                continue;
            }
            let questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(asked) = questions.get(&message.number) {
                let _ = asked.try_send((address, message.opcode));
            }
        }
    }

    fn answer(&self, url: &str) -> Opcode {
        let Ok(key) = Key::parse(url) else { return Opcode::Err };
        if self.store.has_fresh(&key, now()) { Opcode::Hit } else { Opcode::Miss }
    }
}

/// The answers to one query. Dropping it ends the query.
struct Answers<'a> {
    icp: &'a Icp,
    number: u32,
    receiver: mpsc::Receiver<(IpAddr, Opcode)>,
}

impl Drop for Answers<'_> {
    fn drop(&mut self) {
        self.icp.questions.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}
