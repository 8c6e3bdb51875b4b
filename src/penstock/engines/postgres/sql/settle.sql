select * from {schema}.settle(
    %(ids)s, %(tokens)s, %(results)b::text[], %(notes)b::text[], %(ran_for)s, %(keep)s, %(worker)s, %(request)s,
    %(queues)b::text[], %(most)b::integer[], %(limit)s, %(tasks)b::text[], %(fingerprints)b::text[],
    %(free)s, %(healths)s, %(now)s)
