-- The triggers on it that fire.
select tgname from pg_trigger
where tgrelid = to_regclass(%(name)s) and not tgisinternal and tgenabled <> 'D'
