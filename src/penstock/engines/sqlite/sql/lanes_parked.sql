select lane, queue, task from penstock_lanes where jobs > 0
