insert into penstock_lanes (lane, queue, task, misfit, reason) values (?, ?, ?, ?, ?)
on conflict (lane) do update set reason = excluded.reason
