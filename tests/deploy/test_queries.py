"""What the queries of delivery/queries.sql find in the sample data of events/seed, whose items delivery/history.py makes events of."""

import gzip
import json
import subprocess
import sys
import tempfile
import unittest
import uuid
from pathlib import Path

import duckdb

from template import PROJECT

HOME = PROJECT / "delivery"
# The parts of queries.sql by their names.
QUERIES = dict(part.split("\n", 1) for part in (HOME / "queries.sql").read_text().split("\n----- ")[1:])
# The one of the sample data whose profile is left out, for the query that looks for such customers.
WITHOUT_PROFILE = "customer-00027"


def typed(value) -> dict:
    """A value in DynamoDB's JSON."""
    match value:
        case dict():
            return {"M": {name: typed(member) for name, member in value.items()}}
        case list():
            return {"L": [typed(member) for member in value]}
        case bool():
            return {"BOOL": value}
        case None:
            return {"NULL": True}
        case str():
            return {"S": value}
    return {"N": str(value)}


def sample(name: str) -> list[dict]:
    return [json.loads(line) for line in (PROJECT / "events" / "seed" / name).read_text().splitlines()]


def items() -> list[dict]:
    """The sample data as the tables hold it: a signal a minute, in a week."""
    profiles = [{"pk": f"dev#{customer['customerId']}", "accountId": "dev", "customerId": customer["customerId"],
                 "updatedAt": "2026-11-20T00:00:00.000Z"} | customer["customerData"]
                for customer in sample("customers.ndjson") if customer["customerId"] != WITHOUT_PROFILE]
    times = [f"2026-11-{20 + n // 1440}T{n // 60 % 24:02}:{n % 60:02}:00.000Z" for n in range(7 * 1440)]
    signals = [{"sk": f"{time}#{uuid.uuid4()}#0000", "accountId": "dev", "receivedAt": time} | signal
               for time, signal in zip(times, sample("signals.ndjson"))]
    return [{name: typed(value) for name, value in item.items()} for item in profiles + signals]


class Queries(unittest.TestCase):
    def test_every_query_of_the_page_finds_something_in_the_sample_data(self):
        with tempfile.TemporaryDirectory() as name:
            data = Path(name) / "exported" / "AWSDynamoDB" / "1" / "data"
            data.mkdir(parents=True)
            with gzip.open(data / "0.json.gz", "wt") as lines:
                lines.writelines(json.dumps({"Item": item}) + "\n" for item in items())
            subprocess.run([sys.executable, HOME / "history.py", "exported", "events"], cwd=name, check=True)
            database = duckdb.connect()
            database.execute(QUERIES["duckdb"].replace("s3://LAKE_BUCKET", name))
            database.execute(QUERIES["views"])
            queries = [query for name, query in QUERIES.items() if name not in ("duckdb", "views")]
            self.assertEqual(len(queries), 4)
            for query in queries:
                rows = database.execute(query.replace("'acme'", "'dev'").replace("'c-1001'", "'customer-00017'")).fetchall()
                self.assertTrue(rows, query)
                self.assertTrue(all(cell > 0 for row in rows for cell in row if isinstance(cell, int)), f"{query}{rows}")


if __name__ == "__main__":
    unittest.main()
