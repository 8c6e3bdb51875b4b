-- What is left of periods that are over.
delete from {schema}.keys where outlives and until <= coalesce(%(now)s::timestamptz, now())
