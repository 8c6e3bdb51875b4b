insert into penstock_shelves (shelf, state, n) values (?, ?, ?)
on conflict (shelf, state) do update set n = n + excluded.n
