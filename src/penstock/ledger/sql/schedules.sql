select s.id, s.spec, s.source, s.next_at, s.paused from {schedules} s order by s.id
