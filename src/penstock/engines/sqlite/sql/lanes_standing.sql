select exists (select 1 from penstock_limited_lanes where grp = :group and kind is not null)
  or exists (
    select 1 from penstock_limited_lanes where grp = :group and kind is null and changes_at is not null
  )
