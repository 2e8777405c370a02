{# Groups of fewer than k people: a first look in plain SQL. What adversaries could infer needs the
   verdicts of the model audit. #}
{% test k_anonymity(model, columns, k) %}
{% set names = [] %}
{% for name in columns %}{% do names.append(adapter.quote(name)) %}{% endfor %}
SELECT {{ names | join(", ") }}, SUM({{ adapter.quote("count") }}) AS people
FROM {{ model }}
GROUP BY {{ names | join(", ") }}
HAVING SUM({{ adapter.quote("count") }}) < {{ k }}
{% endtest %}
