insert into {queues} (queue_name, paused) values (:queue, :paused)
on conflict (queue_name) do update set paused = excluded.paused
