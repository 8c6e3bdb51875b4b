-- The row is always written, not only when missing: that locks it against a `tidy` which finds the lane empty.
insert into {schema}.lanes (lane, queue, task, misfit, reason)
select * from unnest(%(lanes)b::text[], %(queues)b::text[], %(tasks)b::text[], %(misfits)b::text[], %(reasons)b::text[])
on conflict (lane) do update set reason = excluded.reason
