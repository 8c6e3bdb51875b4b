delete from penstock_finished where id in (select value from json_each(?))
returning id, queue, task, state, key, is_unique, traits, shelf, flow
