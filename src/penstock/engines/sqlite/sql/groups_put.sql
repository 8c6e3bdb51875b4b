insert into penstock_groups (name, queue, declared) values (?, ?, ?)
on conflict (name) do update set declared = excluded.declared
