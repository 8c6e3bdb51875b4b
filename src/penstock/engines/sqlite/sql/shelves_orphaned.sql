select distinct shelf from penstock_shelves
where shelf >= '@' and shelf < 'A' and n > 0 and (
  substr(shelf, 2) not in (select id from penstock_schedules)
  or substr(shelf, 2) in (select value from json_each(?)))
