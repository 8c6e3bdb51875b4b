insert into penstock_breakers (name, declared, standing, declared_at) values (?, ?, ?, ?)
on conflict (name) do update set declared = excluded.declared, declared_at = excluded.declared_at
