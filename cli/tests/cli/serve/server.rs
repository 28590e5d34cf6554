//! A service for tests, and plain HTTP requests to it.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Directory;

/// A service that runs in a directory and stores its collection in `data` there.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    /// Output of the service before it listened.
    pub said: String,
}

/// An HTTP answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Server {
    /// Starts a service with small codes and a short warm-up, so that a few items suffice and all
    /// of them are learned.
    pub fn small(directory: &Directory) -> Server {
        Server::start(
            directory,
            "--bits 32 --set lift=none --warmup 20 --renewal never --held-out 0",
        )
    }

    pub fn start(directory: &Directory, options: &str) -> Server {
        Server::start_by(Server::command(directory, options))
    }

    /// Starts the service with a command that replaces its own process by the service.
    pub fn start_by(mut command: Command) -> Server {
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            if out.read_line(&mut line).unwrap() == 0 {
                let mut err = String::new();
                child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
                panic!("it does not start: {said}{err}");
            }
            if let Some((_, address)) = line.trim().split_once("listening on ") {
                break address.split_once("://").unwrap().1.parse().unwrap();
            }
            said += &line;
        };
        Server { child, address, said }
    }

    pub fn command(directory: &Directory, options: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hashbrook"));
        command
            .args("serve --dir data --listen 127.0.0.1:0".split(' '))
            .args(options.split_whitespace())
            .current_dir(directory.path())
            .env_remove("HASHBROOK_TOKEN")
            .env_remove("RUST_LOG")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Returns a file's path in the mount namespace of the service.
    pub fn sees(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.child.id()));
        root.join(path.strip_prefix("/").unwrap())
    }

    #[cfg(target_os = "linux")]
    pub fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().count()
    }

    /// Returns the service's peak memory since its start, in MB.
    #[cfg(target_os = "linux")]
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    }

    #[cfg(target_os = "linux")]
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks the service to stop, waits for its end, and returns its standard error.
    pub fn stop(self) -> String {
        self.ask_to_stop();
        self.stop_asked()
    }

    /// Waits for the end of a service that was asked to stop, and returns its standard error.
    pub fn stop_asked(mut self) -> String {
        let end = Instant::now() + Duration::from_secs(60);
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > end => panic!("it does not stop"),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert!(status.success(), "{status}: {err}");
        err
    }

    pub fn ask_to_stop(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    pub fn post(&self, path: &str, value: Value) -> Answer {
        self.send(
            "POST",
            path,
            &[("content-type", "application/json")],
            value.to_string().as_bytes(),
        )
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n", body.len());
        // A server that refuses a body may close the connection before the whole body is sent.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        Answer::read(&mut stream)
    }

    /// Waits until all acknowledged changes are learned or unlearned.
    pub fn wait_learned(&self) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.get("/stats").ok()["learning"]["behind_bytes"] != 0 {
            assert!(Instant::now() < end, "it learns for a minute: {}", self.get("/stats").text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Puts `items` random vectors of 4 dimensions under ids from 0. Every third item has no label;
    /// the others are labelled with the sign of their first number.
    pub fn with_items(self, items: usize) -> Server {
        let mut random = Random(7);
        let items: Vec<Value> = (0..items)
            .map(|id| {
                let vector: Vec<f32> = (0..4).map(|_| random.next_float()).collect();
                let label = if vector[0] < 0.0 { "minus" } else { "plus" };
                let labels = if id % 3 == 0 { vec![] } else { vec![label] };
                json!({"id": id, "vector": vector, "labels": labels, "payload": {"at": id}})
            })
            .collect();
        self.post("/items?wait=learned", json!({"items": items})).ok();
        self
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    /// Reads an answer up to the end of the connection.
    pub fn read(stream: &mut TcpStream) -> Answer {
        let mut bytes = Vec::new();
        // If the server has not read the whole request, the connection may end with a reset.
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_lowercase(), value.trim().to_owned())
        };
        let headers: Vec<(String, String)> = lines.map(header).collect();
        let is_chunked = headers.iter().any(|(_, value)| value == "chunked");
        let body = &bytes[end + 4..];
        let body = if is_chunked { Answer::joined(body) } else { body.to_vec() };
        Answer { status, headers, body }
    }

    /// Joins the chunks of a body.
    fn joined(mut chunks: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let line = chunks.windows(2).position(|two| two == b"\r\n").expect("a size");
            let size = std::str::from_utf8(&chunks[..line]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            if size == 0 {
                return body;
            }
            body.extend_from_slice(&chunks[line + 2..][..size]);
            chunks = &chunks[line + 2 + size + 2..];
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(has, _)| has == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// Checks that the request failed with `status` and with a message that contains all `parts`.
    pub fn fails(&self, status: u16, parts: &[&str]) {
        assert_eq!(self.status, status, "{}", self.text());
        let error = &self.json()["error"];
        assert_eq!(error["status"], status);
        let message = error["message"].as_str().unwrap();
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
    }
}

/// A generator of reproducible pseudo-random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Returns a number from -1 to 1.
    pub fn next_float(&mut self) -> f32 {
        self.next() as f32 / (1u64 << 30) as f32 - 1.0
    }

    pub fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.next() % most).map(|_| self.next() as u8).collect()
    }
}

/// Flips a bit of the journal in the payload of an item.
pub fn damage_payload(directory: &Directory, payload: &str) {
    let path = directory.file("data/journal/00000000.journal");
    let journal = std::fs::read(&path).unwrap();
    let at = journal.windows(payload.len()).position(|part| part == payload.as_bytes()).unwrap();
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(&[journal[at] ^ 1]).unwrap();
}
