select {schema}.complete_run(
    $1::text, $2::text, $3::text, $4::text, $5::double precision, $6::boolean, $7::boolean, $8::text,
    $9::text::timestamptz)
