-- To the hour: mostly nothing is written.
update penstock_groups set declared_at = :now
where declared_at <= :now - 3600000000 and name in (select value from json_each(:names))
