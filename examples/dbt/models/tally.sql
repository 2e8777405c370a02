-- Printed by: foreknow sql --policy policy.toml (the table is a ref, and no semicolon ends it)
{{ config(materialized="table") }}
SELECT "age", "region", "diagnosis", COUNT(*) AS "count"
FROM {{ ref("release") }}
GROUP BY "age", "region", "diagnosis"
