insert into penstock_groups (name, queue, waiting, active) values (?, ?, ?, ?)
on conflict (name) do update set waiting = waiting + excluded.waiting, active = active + excluded.active
