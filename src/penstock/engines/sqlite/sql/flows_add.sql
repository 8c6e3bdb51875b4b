insert into penstock_flows (id, name, created_at, unfinished) values (?, ?, ?, ?)
on conflict (id) do update set unfinished = unfinished + excluded.unfinished
returning unfinished
