create index penstock_background_jobs_owing on penstock_background_jobs (owner)
    where owner is not null and finished_at is null;
