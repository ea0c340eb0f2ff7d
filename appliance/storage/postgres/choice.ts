/**
 * The queries of `CHOICE_SQL` (spool/due-queues.ts) for PostgreSQL. Each uses only an index, regardless of the length of
 * other queues.
 */

const free = "state = 'waiting' and due_at <= @now and (lease_until is null or lease_until <= @now)"

const headOf = (stream: string): string => `
  select coalesce(json_agg(json_build_array(rowid, email_id, due_at, queue)), '[]')::text from (
    select rowid, email_id, due_at, queue from deliveries
    where stream = '${stream}' and ${free} order by due_at, queue, lease_until nulls first, rowid limit @most) as head`

/** Selects the delivery that is due first in the first queue of a range. */
const firstIn = (range: string): string => `cross join lateral (
  select queue, due_at, pool, provider, stream from deliveries as first
  where state = 'waiting' and ${range} order by queue, due_at limit 1) as d`

const isDue = 'cast(d.due_at <= @now as integer)'

export const POSTGRES_CHOICE_SQL = {
  heads: `select (${headOf('transactional')}) as transactional, (${headOf('broadcast')}) as broadcast`,
  // The limit is outside the recursion, because rows that aren't fetched aren't computed.
  queues: `with recursive
    ranges (at, after, last, room) as (
      select cast(value ->> 0 as bigint), value ->> 1, value ->> 2, cast(value ->> 3 as bigint) from json_each(@ranges)),
    walk (at, last, room, queue, due_at) as (
      select at, last, room - ${isDue}, d.queue, d.due_at
      from ranges ${firstIn('first.queue > ranges.after and first.queue <= ranges.last')}
      union all
      select at, last, room - ${isDue}, d.queue, d.due_at
      from walk ${firstIn('first.queue > walk.queue and first.queue <= walk.last')}
      where room > 0)
    select at, queue, due_at as "dueAt" from walk limit @most`,
  round: `with recursive walk (queue, due_at, destination, stream, nth) as (
      select d.queue, d.due_at, d.pool || '/' || d.provider, d.stream, 1
      from (select 1) as start ${firstIn('first.queue > @after and first.queue <= @last')}
      union all
      select d.queue, d.due_at, d.pool || '/' || d.provider, d.stream,
        case when walk.destination = d.pool || '/' || d.provider and walk.stream = d.stream then nth + 1 else 1 end
      from walk ${firstIn(`first.queue <= @last and first.queue > case
          when walk.destination in (select value from json_each(@skipped)) then walk.destination || '0'
          when nth < @window then walk.queue
          else walk.destination || case walk.stream when 'broadcast' then '/b0' else '/t0' end end`)})
    select queue, due_at as "dueAt" from walk limit @most`,
  rows: `select (select coalesce(json_agg(json_build_array(found.rowid, found.email_id, found.due_at, found.several)), '[]')::text from (
      select rowid, email_id, due_at, cast(exists (
          select 1 from deliveries other where other.email_id = deliveries.email_id and other.rowid <> deliveries.rowid) as integer) as several
      from deliveries
      where queue = line.value and ${free} order by due_at, lease_until nulls first, rowid limit @most) as found) as found
    from json_each(@queues) as line order by line.key`,
  siblings: `with kin as materialized (
      select d.email_id, d.domain, d.queue, json_agg(d.rowid)::text as members
      from json_each(@rows) as one cross join deliveries d where d.rowid = cast(one.value as bigint)
      group by 1, 2, 3)
    select kin.members as asked, (select coalesce(json_agg(found.rowid), '[]')::text from (
      select rowid from deliveries where email_id = kin.email_id and domain = kin.domain and queue = kin.queue
        and ${free} order by id limit @most) as found) as found
    from kin`,
}
