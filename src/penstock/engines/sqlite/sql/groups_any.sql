select exists (select 1 from penstock_groups)
