select name, declared from penstock_groups where declared is not null
