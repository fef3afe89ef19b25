//! Asking a server on this machine, as a probe does.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Asks `address` for `path`: the status, the headers and the body.
pub async fn get(address: SocketAddr, path: &str) -> Result<(u16, String, String)> {
    ask(address, "GET", path, "").await
}

/// As [`get`], with another method and a body.
pub async fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
) -> Result<(u16, String, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok((status, head.to_owned(), body.to_owned()))
}
