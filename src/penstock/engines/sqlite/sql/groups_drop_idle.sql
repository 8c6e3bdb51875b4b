delete from penstock_groups where declared is null and waiting = 0 and active = 0 and cooled_until <= ?
