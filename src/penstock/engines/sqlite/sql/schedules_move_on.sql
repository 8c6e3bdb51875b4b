update penstock_schedules set next_at = ?, last_due = ?, last_job = coalesce(?, last_job) where id = ?
