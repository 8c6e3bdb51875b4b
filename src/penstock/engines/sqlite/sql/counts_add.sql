insert into penstock_counts (queue, state, n) values (?, ?, ?)
on conflict (queue, state) do update set n = n + excluded.n
