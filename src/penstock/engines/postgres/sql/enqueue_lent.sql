select id, state, duplicate
from {schema}.enqueue({schema}.at_home($1::text, $4::text)::json, $2::boolean, $3::text::timestamptz)
