select j.*, e.keep
from temp.ends as e cross join penstock_jobs as j on j.id = e.id
where j.traits
