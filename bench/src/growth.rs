//! How cost grows with the signals of a batch, measured and drawn. Must not know which goals there are.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow};
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea as _};
use plotters::series::LineSeries;
use plotters::style::{Color as _, RGBColor, WHITE};

use crate::observation::{self, Observation};
use crate::requests;
use crate::target::Target;

/// The batch sizes that are measured: around multiples of 25, since a call has 25 signals, then wider apart.
const SIZES: [usize; 14] = [1, 10, 25, 26, 50, 75, 100, 150, 200, 250, 300, 350, 400, 500];

/// One size of batch.
#[derive(Clone, Debug)]
pub struct Point {
    /// How many signals.
    pub signals: usize,
    /// What a request with so many costs.
    pub observation: Observation,
}

/// A title, and the value that is drawn below it.
type Panel = (&'static str, fn(&Observation) -> f64);

/// Measures batches from 1 to 500 signals, each size in a process of its own.
///
/// # Errors
/// When a response is not 200.
pub async fn measure(signals: &Target) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for size in SIZES {
        let observation = observation::observe(signals, &requests::batch(size, None)?, true).await?;
        points.push(Point { signals: size, observation });
    }
    Ok(points)
}

/// Draws time, memory and calls, one below the other.
///
/// # Errors
/// When the file cannot be written.
pub fn draw(points: &[Point], path: &Path) -> Result<()> {
    let drawing = SVGBackend::new(path, (720, 780)).into_drawing_area();
    drawing.fill(&WHITE).map_err(|error| anyhow!("{error}"))?;
    let panels: [Panel; 3] = [
        ("milliseconds, DynamoDB taking 5 a call", |observation| milliseconds(observation.duration)),
        ("peak memory, MB", |observation| megabytes(observation.memory)),
        ("calls to DynamoDB, warm", |observation| {
            f64::from(u32::try_from(observation.counts.calls()).unwrap_or(u32::MAX))
        }),
    ];
    for (area, (title, of)) in drawing.split_evenly((panels.len(), 1)).iter().zip(panels) {
        let series: Vec<(f64, f64)> = points.iter().map(|point| (signals(point), of(&point.observation))).collect();
        panel(area, title, &series)?;
    }
    drawing.present().map_err(|error| anyhow!("{} cannot be written: {error}", path.display()))
}

fn panel(area: &DrawingArea<SVGBackend<'_>, Shift>, title: &str, series: &[(f64, f64)]) -> Result<()> {
    const BLUE: RGBColor = RGBColor(31, 90, 160);
    let highest = series.iter().fold(0.0, |highest: f64, (_, value)| highest.max(*value));
    let chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .x_label_area_size(32)
        .y_label_area_size(44)
        .build_cartesian_2d(0.0..500.0, 0.0..highest * 1.15);
    let mut chart = chart.map_err(|error| anyhow!("{error}"))?;
    let mesh = chart.configure_mesh().x_desc("signals in the batch").light_line_style(WHITE).draw();
    mesh.map_err(|error| anyhow!("{error}"))?;
    let line = LineSeries::new(series.iter().copied(), BLUE.stroke_width(2)).point_size(3);
    chart.draw_series(line).map_err(|error| anyhow!("{error}"))?;
    Ok(())
}

fn signals(point: &Point) -> f64 {
    f64::from(u32::try_from(point.signals).unwrap_or(u32::MAX))
}

/// For a table or a plot.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// For a table or a plot: of a million bytes.
#[expect(clippy::cast_precision_loss, reason = "memory has fewer than 53 bits")]
pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1_000_000.0
}
