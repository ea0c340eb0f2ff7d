import { addressHash, erasedSuppressionKey } from '../../mail/erasure.ts'
import { suppressionKey, type SuppressionOrigin } from '../../mail/suppression.ts'
import type { Connection } from './connection.ts'

/** Looks an address up on the suppression list of a team: under itself, and under its hash where it was erased. What put it there; undefined: it is not listed. */
export function createListed(
  db: Connection,
): (teamId: string, address: string) => SuppressionOrigin | undefined {
  const listed = db
    .prepare<[string, string], SuppressionOrigin>(
      'select origin from suppressions where team_id = ? and address = ?',
    )
    .pluck()
  // Hashes are hexadecimal: none comes after this letter. Few teams have any, and making one takes 25 microseconds.
  const anyErased = db
    .prepare<[string, string, string], number>(
      'select 1 from suppressions where team_id = ? and address >= ? and address < ? limit 1',
    )
    .pluck()
  const erased = [erasedSuppressionKey(''), erasedSuppressionKey('g')] as const
  // Made by a migration, and never changed.
  const key = db.prepare<[], Buffer>("select value from secrets where name = 'erasures'").pluck().get()!
  return (teamId, address) => {
    const found = listed.get(teamId, suppressionKey(address))
    if (found !== undefined || anyErased.get(teamId, ...erased) === undefined) return found
    return listed.get(teamId, erasedSuppressionKey(addressHash(key, teamId, address)))
  }
}
