-- Until when that lane of a group owes which owes least; 0 where one owes nothing.
select case
  when exists (select 1 from penstock_limited_lanes where grp = :group and kind = 0) then 0
  else (
    select min(owed_until) from penstock_limited_lanes indexed by penstock_limited_lanes_owing
    where grp = :group and kind > 0
  )
end
