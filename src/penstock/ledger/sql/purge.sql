-- What failed that long ago has no dead letter any more; a bounded step.
update {jobs} set failure = null where id in (
    select id from {jobs} where status = 'failed' and failure is not null and finished_at < :before
    order by finished_at limit :limit)
