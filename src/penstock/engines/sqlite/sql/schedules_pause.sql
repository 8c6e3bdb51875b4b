update penstock_schedules set paused = ?, next_at = ? where id = ? and paused <> ?
