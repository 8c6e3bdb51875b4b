select * from {schema}.end_runs(
    %(ids)s, %(tokens)s, %(states)b::text[], %(delays)b::double precision[], %(refunds)b::boolean[],
    %(keep_places)b::boolean[], %(results)b::text[], %(notes)b::text[], %(errors)b::text[], %(suspects)b::boolean[],
    %(crashes)b::boolean[], %(rescues)b::boolean[], %(reasons)b::text[], %(ran_for)s, %(keep)s,
    %(park_lanes)b::text[], %(park_tasks)b::text[], %(park_misfits)b::text[], %(park_reasons)b::text[],
    %(lanes)b::text[], %(cooldowns)b::double precision[], %(healths)b::boolean[],
    %(by_holder)s, %(now)s)
