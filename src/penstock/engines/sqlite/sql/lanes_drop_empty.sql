delete from penstock_lanes where jobs = 0
