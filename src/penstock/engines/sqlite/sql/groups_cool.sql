insert into penstock_groups (name, queue, cooled_until) values (?, ?, ?)
on conflict (name) do update set cooled_until = max(cooled_until, excluded.cooled_until)
