insert into penstock_turns (queue, ahead) values (?, ?) on conflict (queue) do update set ahead = excluded.ahead
