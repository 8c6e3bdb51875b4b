insert into penstock_queues (name, paused) values (?, ?) on conflict (name) do update set paused = excluded.paused
