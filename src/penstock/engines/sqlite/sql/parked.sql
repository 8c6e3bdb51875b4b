select lane, queue, task, reason, jobs from penstock_lanes where jobs > 0 order by lane
