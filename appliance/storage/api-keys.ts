/** API keys. Only the hash of a token is stored. */
import type { Selectable } from 'kysely'
import type { ApiKeysTable, Db } from './schema.ts'
import type { Permission } from './values.ts'

export interface ApiKey {
  id: string
  teamId: string
  name: string
  permission: Permission
  /** The only domain that the key may send from; null for any domain of the team. */
  domainId: string | null
  /** The first characters of the token; null for keys of older versions until their next use. */
  prefix: string | null
  createdAt: number
  lastUsedAt: number | null
}

const toApiKey = (row: Selectable<ApiKeysTable>): ApiKey => ({
  id: row.id,
  teamId: row.team_id,
  name: row.name,
  permission: row.permission,
  domainId: row.domain_id,
  prefix: row.prefix,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
})

async function createApiKey(db: Db, key: ApiKey & { tokenHash: string }): Promise<void> {
  await db
    .insertInto('api_keys')
    .values({
      id: key.id,
      team_id: key.teamId,
      name: key.name,
      permission: key.permission,
      domain_id: key.domainId,
      token_hash: key.tokenHash,
      prefix: key.prefix,
      created_at: key.createdAt,
      last_used_at: key.lastUsedAt,
    })
    .execute()
}

async function findApiKey(db: Db, args: { tokenHash: string }): Promise<ApiKey | undefined> {
  const row = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('token_hash', '=', args.tokenHash)
    .executeTakeFirst()
  return row && toApiKey(row)
}

/** Finds a key by its ID alone, for listeners that the configuration binds to a key. */
async function getApiKey(db: Db, args: { id: string }): Promise<ApiKey | undefined> {
  const row = await db.selectFrom('api_keys').selectAll().where('id', '=', args.id).executeTakeFirst()
  return row && toApiKey(row)
}

/** Lists the keys of a team, newest first. */
async function listApiKeys(db: Db, args: { teamId: string }): Promise<ApiKey[]> {
  const rows = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('team_id', '=', args.teamId)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(toApiKey)
}

async function renameApiKey(db: Db, args: { teamId: string; id: string; name: string }): Promise<boolean> {
  const renamed = await db
    .updateTable('api_keys')
    .set({ name: args.name })
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirstOrThrow()
  return renamed.numUpdatedRows > 0n
}

async function deleteApiKey(db: Db, args: { teamId: string; id: string }): Promise<boolean> {
  const deleted = await db
    .deleteFrom('api_keys')
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

/**
 * Records the last use of many keys at once, and the prefix of keys that don't have one yet. Keeps a later use that is
 * already stored.
 */
async function touchApiKeys(
  db: Db,
  args: { uses: { id: string; at: number; prefix: string | null }[] },
): Promise<void> {
  for (const { id, at, prefix } of args.uses) {
    if (prefix !== null)
      await db
        .updateTable('api_keys')
        .set({ prefix })
        .where('id', '=', id)
        .where('prefix', 'is', null)
        .execute()
    await db
      .updateTable('api_keys')
      .set({ last_used_at: at })
      .where('id', '=', id)
      .where((where) => where.or([where('last_used_at', 'is', null), where('last_used_at', '<', at)]))
      .execute()
  }
}

export const methods = {
  reads: { findApiKey, getApiKey, listApiKeys },
  writes: { createApiKey, deleteApiKey, touchApiKeys, renameApiKey },
}
