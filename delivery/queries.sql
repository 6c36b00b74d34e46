-- The lake in SQL, for Athena and DuckDB. tests/deploy runs each part, whose name is after the five dashes.

----- duckdb
-- For DuckDB only: the table `events`, which Athena has as the table of the output LakeTable. LAKE_BUCKET is the output LakeBucketName.
CREATE VIEW events AS SELECT * FROM read_json('s3://LAKE_BUCKET/events/*/*.gz', format = 'newline_delimited',
  hive_partitioning = true, hive_types_autocast = false,
  columns = {id: 'VARCHAR', source: 'VARCHAR', type: 'VARCHAR', subject: 'VARCHAR', time: 'VARCHAR', data: 'JSON'});
CREATE MACRO json_extract_scalar(text, path) AS json_extract_string(text, path);

----- views
-- Once, for all that follows: views without duplicates.
CREATE VIEW signals AS
SELECT split_part(source, '/', 3) AS account, id, type, subject, json_extract_scalar(data, '$.customerId') AS customer, time, data, dt
FROM (SELECT *, row_number() OVER (PARTITION BY source, id ORDER BY dt) AS copy FROM events WHERE source LIKE '%/signals') AS copies
WHERE copy = 1;

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
