-- What is left of periods that are over.
delete from {schema}.keys where left_as is not null and until <= coalesce(%(now)s::timestamptz, now())
