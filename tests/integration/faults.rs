//! DynamoDB fails, and only sockets or processes can show what becomes of it. The other tests of its
//! faults are in virtual time, in `tests/simulator/tests/scripted`.

mod clock_skew;
mod connections;
mod processes;
