//! The servers under load, as processes of their own, and what the kernel says that they take.

use crate::BODY;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server that runs until it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    /// Where nginx keeps its files.
    folder: Option<PathBuf>,
}

impl Server {
    /// `seawall mock` with one route.
    pub(crate) fn mock(program: &Path, route: &str) -> Self {
        Self::started(Command::new(program).args(["-q", "mock", "--route", route]))
    }

    /// `seawall mock` with this file.
    pub(crate) fn mock_of(program: &Path, file: &str) -> Self {
        let path = std::env::temp_dir().join(format!("seawall-bench-{}.toml", std::process::id()));
        std::fs::write(&path, file).expect("the temporary folder takes files");
        let server = Self::started(Command::new(program).args(["-q", "mock"]).arg(&path));
        std::fs::remove_file(&path).expect("the file was just written");
        server
    }

    fn started(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was just built");
        let stdout = child.stdout.take().expect("its output is a pipe");
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("the mock prints a line");
        let address = line
            .trim()
            .strip_prefix("mock listening on http://")
            .unwrap_or_else(|| panic!("the mock said {line:?}"))
            .to_owned();
        Self {
            child,
            address,
            folder: None,
        }
    }

    /// Waits until so many attempts are being answered.
    pub(crate) async fn wait_for_open(&self, attempts: usize) {
        let request = "GET /__seawall/journal?since=18446744073709551615 HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
        let expected = format!("\"open\":{attempts}");
        loop {
            let mut stream = tokio::net::TcpStream::connect(&self.address)
                .await
                .expect("the mock listens");
            tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes())
                .await
                .expect("the mock listens");
            let mut answer = String::new();
            tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut answer)
                .await
                .expect("the mock answers");
            if answer.contains(&expected) {
                return;
            }
        }
    }

    /// The CPU time that the process has taken.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = self.proc("stat");
        // After the name in brackets: fields 14 and 15 of proc(5), in clock ticks of a hundredth of a second.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks: u64 = [11, 12]
            .iter()
            .map(|field| fields[*field].parse::<u64>().expect("the kernel writes numbers"))
            .sum();
        Duration::from_millis(ticks * 10)
    }

    /// What of it is in memory.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status = self.proc("status");
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|rest| rest.trim().strip_suffix(" kB"))
            .and_then(|kib| kib.parse::<u64>().ok())
            .expect("the kernel writes VmRSS in kB");
        kib * 1024
    }

    fn proc(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id()))
            .expect("the server runs, on Linux")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that has ended by itself is what killing it would have come to.
        self.child.kill().ok();
        self.child.wait().ok();
        if let Some(folder) = &self.folder {
            std::fs::remove_dir_all(folder).ok();
        }
    }
}

/// nginx with one static answer, where it is installed.
pub(crate) fn nginx() -> Option<Server> {
    let found = Command::new("nginx").arg("-v").stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        return None;
    }
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .expect("a port is free")
        .port();
    let folder = std::env::temp_dir().join(format!("seawall-bench-nginx-{port}"));
    std::fs::create_dir_all(&folder).expect("the temporary folder takes files");
    let config = format!(
        "daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; keepalive_requests 100000000; server {{ listen 127.0.0.1:{port};\n\
         location / {{ default_type application/json; return 200 '{BODY}'; }} }} }}\n",
        folder = folder.display()
    );
    let path = folder.join("nginx.conf");
    std::fs::write(&path, config).expect("the temporary folder takes files");
    let child = Command::new("nginx")
        .arg("-c")
        .arg(&path)
        .stderr(Stdio::null())
        .spawn()
        .expect("it just told its version");
    let address = format!("127.0.0.1:{port}");
    while std::net::TcpStream::connect(&address).is_err() {
        std::thread::yield_now();
    }
    Some(Server {
        child,
        address,
        folder: Some(folder),
    })
}

/// Builds `seawall` as users get it; where it stands.
pub(crate) fn program() -> Option<PathBuf> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let built = seawall_bench::cargo()
        .args([
            "build",
            "--quiet",
            "--release",
            "--locked",
            "-p",
            "seawall-cli",
            "--manifest-path",
            manifest,
        ])
        .status();
    match built {
        Ok(status) if status.success() => {}
        Ok(status) => {
            eprintln!("the program does not build: {status}");
            return None;
        }
        Err(error) => {
            eprintln!("cargo, which builds the program, does not start: {error}");
            return None;
        }
    }
    Some(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/release/seawall")).to_owned())
}

/// Lets this process, and those it starts, have as many files open as the host allows.
pub(crate) fn allow_open_files() -> std::io::Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    Ok(())
}
