select lane, queue, task, misfit from penstock_lanes where jobs > 0
