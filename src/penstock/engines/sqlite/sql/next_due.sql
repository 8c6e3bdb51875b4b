select due_at from penstock_jobs where state = 'delayed' order by due_at limit 1
