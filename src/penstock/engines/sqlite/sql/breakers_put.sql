insert into penstock_breakers (name, declared, standing) values (?, ?, ?)
on conflict (name) do update set declared = excluded.declared
