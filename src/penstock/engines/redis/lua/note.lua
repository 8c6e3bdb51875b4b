#!lua flags=no-writes
-- One note.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 kind; 3 key
-- Returns the note, see _notes.lua, or nothing
--@ _keys
--@ _notes
return (note_of(ARGV[2], ARGV[3], time_of(ARGV[1])))
