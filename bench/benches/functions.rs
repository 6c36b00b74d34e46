//! Measures the functions and the yardsticks, and prints one table.
use anyhow::Result;
use bench::running::{Mode, Running};
use bench::{requests, subject};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let subjects = subject::build_functions()?;
    let mut all = vec![(subjects.customers, requests::customer()?, 1u64), (subjects.signals, requests::batch(100, None)?, 100)];
    if args.iter().any(|a| a == "--stock") {
        let stock = subject::build_stock()?;
        all.push((stock.clone(), requests::customer()?, 1));
        all.push((stock, requests::batch(100, None)?, 100));
    }
    if args.iter().any(|a| a == "--only-stock") {
        all.clear();
        let stock = subject::build_stock()?;
        all.push((stock.clone(), requests::customer()?, 1));
        all.push((stock, requests::batch(100, None)?, 100));
    }
    for (subject, event, per) in &all {
        for tls in [false, true] {
            let mode = Mode { counted: true, tls };
            let mut last = 0;
            for n in [0u64, 1, 2, 3, 13] {
                if n > 3 || n <= 3 {
                    let mut running = Running::start(subject, mode).await?;
                    for _ in 0..n { running.invoke(event).await?; }
                    let counts = running.dynamodb.take_counts();
                    let p = running.profile().await?;
                    println!("{} x{per} tls={tls} n={n}: {} (+{}) sha {} {:?}", subject.name, p.instructions, p.instructions as i64 - last, p.sha256(), counts.connections);
                    if n == 1 {
                        let mut f: Vec<_> = p.functions.iter().collect();
                        f.sort_by_key(|f| std::cmp::Reverse(f.1));
                        for (name, cost) in f.iter().take(12) { println!("      {cost:>10} {name}"); }
                    }
                    last = p.instructions as i64;
                }
            }
        }
    }
    Ok(())
}
