alter table beats add column memory integer
