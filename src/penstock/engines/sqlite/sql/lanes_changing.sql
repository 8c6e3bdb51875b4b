select * from penstock_limited_lanes where changes_at <= ? order by changes_at limit ?
