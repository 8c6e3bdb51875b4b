-- Circuit breakers, one row each: as declared, and as they stand. `model/breaker.py` says the same in Python.
create table {schema}.breakers (
    name text primary key,
    threshold integer not null,
    reset interval not null,
    probes integer not null,
    failure_rate double precision,
    window_length interval not null,
    minimum integer not null,
    declared_at timestamptz not null,  -- for the last time
    circuit text not null default 'closed',
    failures integer not null default 0,
    runs integer not null default 0,
    window_from timestamptz not null default '-infinity',
    since timestamptz,  -- null: it has never changed
    probing jsonb not null default '{}'  -- who probes -> until when that counts, seconds since the epoch; null: for ever
) with (fillfactor = 50);

-- As it stands at a moment: what was open long enough is half-open, probes whose time has passed are gone.
create function {schema}.breaker_at(b {schema}.breakers, moment timestamptz) returns {schema}.breakers
language plpgsql stable as $$
begin
    if b.circuit = 'open' and moment >= b.since + b.reset then
        b.circuit := 'half-open';
        b.since := b.since + b.reset;
        b.probing := '{}';
    elsif b.circuit = 'half-open' and b.probing <> '{}' then
        b.probing := coalesce(
            (select jsonb_object_agg(p.key, p.value) from jsonb_each(b.probing) p
             where p.value = 'null' or p.value::text::double precision > extract(epoch from moment)), '{}');
    end if;
    return b;
end
$$;

-- How many more may start under it; null: no bound.
create function {schema}.breaker_room(b {schema}.breakers) returns integer
language sql stable as $$
    select case b.circuit when 'half-open'
        then greatest(0, b.probes - (select count(*)::integer from jsonb_object_keys(b.probing)))
        when 'open' then 0 end
$$;

-- After a run has ended. `healthy` null tells nothing and gives a probe's place back.
create function {schema}.breaker_told(b {schema}.breakers, permit text, healthy boolean, moment timestamptz)
returns {schema}.breakers
language plpgsql stable as $$
declare
    opens boolean := false;
begin
    if b.circuit = 'half-open' then
        if healthy is null or not b.probing ? permit then
            b.probing := b.probing - permit;
            return b;
        end if;
        opens := not healthy;
        if healthy then
            b.circuit := 'closed';
            b.failures := 0;
            b.runs := 0;
            b.window_from := moment;
            b.since := moment;
            b.probing := '{}';
        end if;
    elsif b.circuit = 'open' or healthy is null then
        return b;
    elsif b.failure_rate is not null then
        if moment >= b.window_from + b.window_length then
            b.window_from := moment;
            b.failures := 0;
            b.runs := 0;
        end if;
        b.runs := b.runs + 1;
        b.failures := b.failures + (not healthy)::integer;
        opens := not healthy and b.runs >= b.minimum and b.failures >= b.failure_rate * b.runs;
    elsif healthy then
        b.failures := 0;
    else
        b.failures := b.failures + 1;
        opens := b.failures >= b.threshold;
    end if;
    if opens then
        b.circuit := 'open';
        b.since := moment;
        b.probing := '{}';
    end if;
    return b;
end
$$;

create function {schema}.write_breaker(b {schema}.breakers) returns void
language sql as $$
    update {schema}.breakers o
    set circuit = b.circuit, failures = b.failures, runs = b.runs, window_from = b.window_from, since = b.since,
        probing = b.probing
    where o.name = b.name
$$;

-- Tell a breaker how several runs ended, in order; whether it was not closed before and lets something start now.
create function {schema}.report_breaker(
    breaker text, permits text[], healths boolean[], moment timestamptz
) returns boolean
language plpgsql as $$
declare
    before {schema}.breakers;
    b {schema}.breakers;
begin
    -- Most of the time all is well, and stays so: nothing to lock.
    if not exists (select from unnest(healths) as h(healthy) where not h.healthy) and exists (
        select from {schema}.breakers o
        where o.name = breaker and o.circuit = 'closed' and (
            o.failures = 0 and o.failure_rate is null
            or not exists (select from unnest(healths) as h(healthy) where h.healthy)))
    then
        return false;
    end if;
    select * into before from {schema}.breakers o where o.name = breaker for update;
    if not found then
        return false;
    end if;
    b := {schema}.breaker_at(before, moment);
    for i in 1..cardinality(permits) loop
        b := {schema}.breaker_told(b, permits[i], healths[i], moment);
    end loop;
    if b is distinct from before then
        perform {schema}.write_breaker(b);
    end if;
    return before.circuit <> 'closed' and coalesce({schema}.breaker_room(b) > 0, true);
end
$$;

-- Ask to start under a breaker; where that makes a probe, its place counts for the breaker's reset time.
create function {schema}.enter_breaker(breaker text, permit text, at timestamptz)
returns table (allowed boolean, retry_in double precision)
language plpgsql as $$
declare
    moment constant timestamptz := coalesce(at, now());
    b {schema}.breakers;
begin
    select * into b from {schema}.breakers o where o.name = breaker and o.circuit <> 'closed' for update;
    if not found then
        return query select true, null::double precision;
        return;
    end if;
    b := {schema}.breaker_at(b, moment);
    if {schema}.breaker_room(b) = 0 then
        return query select false, case b.circuit when 'open'
            then greatest(0, extract(epoch from b.since + b.reset - moment)::double precision) end;
        return;
    end if;
    b.probing := b.probing || jsonb_build_object(permit, extract(epoch from moment + b.reset));
    perform {schema}.write_breaker(b);
    return query select true, null::double precision;
end
$$;
