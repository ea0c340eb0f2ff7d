/** The data that the DNS server publishes for sending domains: their keys, and the serial of its zones. */
import { sql } from 'kysely'
import type { DkimKey } from './dkim-keys.ts'
import { NAME_HOLDING_STATUSES, toDomain, type Domain } from './domains.ts'
import type { Db } from './schema.ts'

/** The fields of a key that the DNS server needs. */
type ServedKey = Pick<DkimKey, 'domainId' | 'selector' | 'algorithm' | 'publicKey' | 'state' | 'retireAt'>

/** A domain whose records the DNS server publishes. */
export interface ServedDomain {
  domain: Domain
  /** The keys, oldest first, without retired ones. */
  keys: ServedKey[]
  /** Whether this team has verified the name. Other teams may have added it, too. */
  holds: boolean
}

/**
 * Lists the domains of all teams that delegate records, or that have just stopped: they still have a key with one of
 * these selectors that isn't retired. Oldest first.
 */
async function servedDomains(db: Db, { selectors }: { selectors: string[] }): Promise<ServedDomain[]> {
  const rows = await db
    .selectFrom('domains as d')
    .selectAll()
    .where((where) =>
      where.or([
        where('d.delegation', '!=', 'none'),
        where.exists(
          where
            .selectFrom('dkim_keys as k')
            .select('k.id')
            .whereRef('k.domain_id', '=', 'd.id')
            .where('k.selector', 'in', selectors)
            .where('k.state', '!=', 'retired'),
        ),
      ]),
    )
    .orderBy('d.id')
    .execute()
  const keys = new Map<string, ServedKey[]>(rows.map(({ id }) => [id, []]))
  for (let at = 0; at < rows.length; at += CHUNK)
    for (const key of await keysOf(db, rows.slice(at, at + CHUNK))) keys.get(key.domainId)?.push(key)
  return rows.map((row) => ({
    domain: toDomain(row),
    keys: keys.get(row.id)!,
    holds: NAME_HOLDING_STATUSES.some((status) => status === row.status),
  }))
}

/** Number of domains whose keys are read at once. */
const CHUNK = 500

function keysOf(db: Db, domains: readonly { id: string }[]): Promise<ServedKey[]> {
  return db
    .selectFrom('dkim_keys')
    .select([
      'domain_id as domainId',
      'selector',
      'algorithm',
      'public_key as publicKey',
      'state',
      'retire_at as retireAt',
    ])
    .where(
      'domain_id',
      'in',
      domains.map(({ id }) => id),
    )
    .where('state', '!=', 'retired')
    .orderBy('id')
    .execute()
}

/**
 * Returns the serial of zones with this content. If the content has changed, this is a new, higher serial (RFC 1982).
 * All nodes of one storage get the same serial.
 */
async function zoneSerial(db: Db, { digest }: { digest: string }, now: number): Promise<number> {
  const serial = Math.floor(now / 1000)
  await db
    .insertInto('dns_serial')
    .values({ id: 1, serial, digest })
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet({
          digest,
          serial: sql<number>`case when dns_serial.serial < ${serial} then ${serial} else dns_serial.serial + 1 end`,
        })
        .where('dns_serial.digest', '!=', digest),
    )
    .execute()
  const row = await db.selectFrom('dns_serial').select('serial').where('id', '=', 1).executeTakeFirstOrThrow()
  return row.serial
}

export const methods = {
  reads: { servedDomains },
  writes: { zoneSerial },
}
