select * from (
  select m.place, j.* from penstock_flow_jobs as m cross join penstock_jobs as j on j.id = m.job_id
  where m.flow = :flow
  union all
  select m.place, j.* from penstock_flow_jobs as m cross join penstock_finished as j on j.id = m.job_id
  where m.flow = :flow
)
order by place
