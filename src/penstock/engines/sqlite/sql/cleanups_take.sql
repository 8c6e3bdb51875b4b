insert into penstock_cleanups (queue, run) values (?, ?)
on conflict (queue) do update set run = excluded.run where run < excluded.run
