-- Functions that statements of both engines call, and that only SQLite has by itself.

-- A value of a JSON object by its path, `$.name`.
create function json_extract(document text, path text) returns text
  language sql immutable parallel safe as $$ select document::json ->> substr(path, 3) $$;

-- The items of a JSON array with their places, from 0.
create function json_each(document text) returns table (key bigint, value text)
  language sql immutable parallel safe rows 20
  as $$ select place - 1, item from json_array_elements_text(document::json) with ordinality as items (item, place) $$;

-- An item of a JSON array that is written as text.
create function json_item(document text, place integer) returns text
  language sql immutable parallel safe as $$ select document::json ->> place $$;
create operator ->> (leftarg = text, rightarg = integer, function = json_item);

create function instr(whole text, part text) returns integer
  language sql immutable parallel safe as $$ select strpos(whole, part) $$;

-- The time of the server in seconds, which moves within a transaction.
create function unixepoch(modifier text) returns double precision
  language sql volatile as $$ select extract(epoch from clock_timestamp())::double precision $$;
