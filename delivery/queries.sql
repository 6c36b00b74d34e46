-- The lake in SQL, for Athena and DuckDB. tests/deploy runs each part, whose name is after the five dashes.

----- duckdb
-- For DuckDB only: the table `events`, which Athena has as the table of the output LakeTable. LAKE_BUCKET is the output LakeBucketName.
CREATE VIEW events AS SELECT * FROM read_json('s3://LAKE_BUCKET/events/*/*.gz', format = 'newline_delimited',
  hive_partitioning = true, hive_types_autocast = false,
  columns = {id: 'VARCHAR', source: 'VARCHAR', type: 'VARCHAR', subject: 'VARCHAR', time: 'VARCHAR', data: 'JSON'});
-- Functions of Athena that DuckDB has under other names, or not. It needs DuckDB 1.3 or later.
CREATE MACRO json_extract_scalar(text, path) AS CASE WHEN json_type(text, path) NOT IN ('OBJECT', 'ARRAY') THEN json_extract_string(text, path) END;
CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern);
CREATE MACRO from_iso8601_timestamp_nanos(text) AS CAST(text AS TIMESTAMPTZ);
CREATE MACRO at_timezone(moment, zone) AS moment AT TIME ZONE zone;
CREATE MACRO to_iso8601(moment) AS strftime(moment, '%Y-%m-%dT%H:%M:%S.%f000Z');

----- views
-- Once, for all that follows: views without duplicates.
-- `time` is when a signal arrived. `occurred_at` is the client's data.timestamp in UTC and to the microsecond, so that it sorts as text.
-- It is null where that is no time of RFC 3339, such as 2026-11-20T22:33:44.123+01:00, or one before 1971, which programs write for a time
-- that was not set. The pattern is that of RFC 3339, with the offsets that Athena knows; the parser says whether the day exists.
-- `message_id` is the client's data.messageId, and null where that is blank.
CREATE VIEW signals AS
SELECT split_part(source, '/', 3) AS account, id, type, subject, json_extract_scalar(data, '$.customerId') AS customer, time,
  CASE WHEN utc >= '1971' THEN substr(utc, 1, 26) || 'Z' END AS occurred_at,
  CASE WHEN regexp_like(message, '\S') THEN message END AS message_id, data, dt
FROM (
  SELECT *, row_number() OVER (PARTITION BY source, id ORDER BY dt) AS copy, json_extract_scalar(data, '$.data.messageId') AS message,
    to_iso8601(at_timezone(try(from_iso8601_timestamp_nanos(CASE WHEN regexp_like(json_extract_scalar(data, '$.data.timestamp'),
      '^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)$')
      THEN json_extract_scalar(data, '$.data.timestamp') END)), 'UTC')) AS utc
  FROM events WHERE source LIKE '%/signals') AS copies
WHERE copy = 1;

-- Of several signals of an account with the same type, subject and message_id, the one that arrived first: for clients that send an event
-- again in a new request. A signal without a message_id is there as it is.
CREATE VIEW unique_signals AS
SELECT account, id, type, subject, customer, time, occurred_at, message_id, data, dt
FROM (SELECT *, row_number() OVER (PARTITION BY account, type, subject, message_id ORDER BY time, id) AS copy FROM signals) AS copies
WHERE copy = 1 OR message_id IS NULL;

-- The latest change of each customer. A deletion's time has no milliseconds, so it counts as the last change of its second.
CREATE VIEW customers AS
SELECT split_part(source, '/', 3) AS account, subject AS customer, time, data
FROM (
  SELECT *, row_number() OVER (PARTITION BY source, subject
    ORDER BY substr(time, 1, 19) DESC, type = 'intake.customer.deleted' DESC, time DESC) AS age
  FROM events WHERE source LIKE '%/customers') AS changes
WHERE age = 1 AND type <> 'intake.customer.deleted';

----- events a day by type
SELECT substr(time, 1, 10) AS day, type, count(*) AS signals FROM signals GROUP BY 1, 2 ORDER BY 1, 2;

----- a funnel
-- Of those who viewed a product, how many added one to the cart afterwards, and how many then purchased.
WITH viewed AS (
  SELECT account, customer, min(time) AS viewed_at FROM signals WHERE type = 'product_viewed' AND customer IS NOT NULL GROUP BY 1, 2),
added AS (
  SELECT account, customer, min(time) AS added_at FROM viewed JOIN signals USING (account, customer)
  WHERE type = 'added_to_cart' AND time > viewed_at GROUP BY 1, 2),
purchased AS (
  SELECT account, customer FROM added JOIN signals USING (account, customer)
  WHERE type = 'purchase' AND time > added_at GROUP BY 1, 2)
SELECT (SELECT count(*) FROM viewed) AS viewed, (SELECT count(*) FROM added) AS added, (SELECT count(*) FROM purchased) AS purchased;

----- the history of one customer
SELECT time, type, json_extract_scalar(data, '$.data.price') AS price, data
FROM signals WHERE account = 'acme' AND customer = 'c-1001' ORDER BY time, id;

----- signals without a profile
-- Customers with signals but without a profile.
SELECT account, customer, count(*) AS signals FROM signals AS sent
WHERE customer IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM customers WHERE customers.account = sent.account AND customers.customer = sent.customer)
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2;

----- when events occurred
-- How long events took to arrive, and each event once although its client sent it twice.
SELECT occurred_at, time, type, customer FROM unique_signals WHERE occurred_at IS NOT NULL ORDER BY occurred_at, id;
