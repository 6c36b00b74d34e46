//! Scratch.
use anyhow::Result;
use bench::running::{Mode, Running};
use bench::{requests, subject};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let (path, which, tls, n) = (&args[1], &args[2], args[3] == "tls", args[4].parse::<u64>()?);
    let arguments = args.get(5).iter().map(|a| a.into()).collect();
    let s = subject::Subject { name: "x", program: path.into(), arguments };
    let event = match which.as_str() { "customer" => requests::customer()?, n => requests::batch(n.parse()?, None)? };
    let mut running = Running::start(&s, Mode { counted: true, tls }).await?;
    for _ in 0..n { running.invoke(&event).await?; }
    let counts = running.dynamodb.take_counts();
    let p = running.profile().await?;
    println!("{which} tls={tls} n={n}: {} sha {} {:?}", p.instructions, p.sha256(), counts);
    Ok(())
}
