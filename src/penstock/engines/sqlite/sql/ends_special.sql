select j.*, e.keep = 1 or j.flow is not null as kept
from temp.penstock_ends as e cross join penstock_jobs as j on j.id = e.id
where j.traits
