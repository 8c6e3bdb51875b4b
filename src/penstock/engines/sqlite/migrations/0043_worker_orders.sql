-- What a person has told a worker to do.
alter table penstock_workers add column ordered text;
