update penstock_jobs
set traits = traits | ?, shelf = ?, flow = ?, origin = ?, deadline_at = ?, at_deadline = ?
where id = ?
