create index background_jobs_owing on {schema}.background_jobs (owner) where owner is not null and finished_at is null;
