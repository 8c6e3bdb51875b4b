delete from penstock_ticks where schedule = ?1 and due <= (
  select due from penstock_ticks where schedule = ?1 order by due desc limit 1 offset ?2
)
