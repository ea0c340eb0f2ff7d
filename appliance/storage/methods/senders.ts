import type { Kysely, Selectable } from 'kysely'
import type { ApiKeysTable, DomainsTable, Tables } from '../schema.ts'
import type { ApiKey, DkimKey, Domain, DomainStatus, RecordCheck } from '../storage.ts'

type Db = Kysely<Tables>

const toApiKey = (row: Selectable<ApiKeysTable>): ApiKey => ({
  id: row.id,
  teamId: row.team_id,
  name: row.name,
  permission: row.permission,
  domainId: row.domain_id,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
})

const toDomain = (row: Selectable<DomainsTable>): Domain => ({
  id: row.id,
  teamId: row.team_id,
  name: row.name,
  status: row.status,
  region: row.region,
  returnPath: row.return_path,
  checks: JSON.parse(row.checks) as RecordCheck[],
  createdAt: row.created_at,
  checkedAt: row.checked_at,
})

/** See `Storage.createApiKey`. */
export async function createApiKey(db: Db, key: ApiKey & { tokenHash: string }): Promise<void> {
  await db
    .insertInto('api_keys')
    .values({
      id: key.id,
      team_id: key.teamId,
      name: key.name,
      permission: key.permission,
      domain_id: key.domainId,
      token_hash: key.tokenHash,
      created_at: key.createdAt,
      last_used_at: key.lastUsedAt,
    })
    .execute()
}

/** See `Storage.findApiKey`. */
export async function findApiKey(db: Db, args: { tokenHash: string }): Promise<ApiKey | undefined> {
  const row = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('token_hash', '=', args.tokenHash)
    .executeTakeFirst()
  return row && toApiKey(row)
}

/** See `Storage.listApiKeys`. Newest first. */
export async function listApiKeys(db: Db, args: { teamId: string }): Promise<ApiKey[]> {
  const rows = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('team_id', '=', args.teamId)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(toApiKey)
}

/** See `Storage.deleteApiKey`. */
export async function deleteApiKey(db: Db, args: { teamId: string; id: string }): Promise<boolean> {
  const deleted = await db
    .deleteFrom('api_keys')
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

/** See `Storage.touchApiKeys`. A later use that is already noted stays. */
export async function touchApiKeys(db: Db, args: { uses: { id: string; at: number }[] }): Promise<void> {
  for (const { id, at } of args.uses) {
    await db
      .updateTable('api_keys')
      .set({ last_used_at: at })
      .where('id', '=', id)
      .where((where) => where.or([where('last_used_at', 'is', null), where('last_used_at', '<', at)]))
      .execute()
  }
}

/** See `Storage.createDomain`. The unique name decides between two callers. */
export async function createDomain(
  db: Db,
  { domain, key }: { domain: Domain; key: DkimKey },
): Promise<'created' | 'taken'> {
  const inserted = await db
    .insertInto('domains')
    .values({
      id: domain.id,
      team_id: domain.teamId,
      name: domain.name,
      status: domain.status,
      region: domain.region,
      return_path: domain.returnPath,
      checks: JSON.stringify(domain.checks),
      created_at: domain.createdAt,
      checked_at: domain.checkedAt,
    })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .executeTakeFirstOrThrow()
  if (inserted.numInsertedOrUpdatedRows === 0n) return 'taken'
  await db
    .insertInto('dkim_keys')
    .values({
      id: key.id,
      team_id: key.teamId,
      domain_id: key.domainId,
      selector: key.selector,
      algorithm: key.algorithm,
      private_key: key.privateKey,
      public_key: key.publicKey,
      created_at: key.createdAt,
    })
    .execute()
  return 'created'
}

/** See `Storage.listDomains`. Newest first. */
export async function listDomains(db: Db, args: { teamId: string }): Promise<Domain[]> {
  const rows = await db
    .selectFrom('domains')
    .selectAll()
    .where('team_id', '=', args.teamId)
    .orderBy('id', 'desc')
    .execute()
  return rows.map(toDomain)
}

/** See `Storage.getDomain`. */
export async function getDomain(db: Db, args: { teamId: string; id: string }): Promise<Domain | undefined> {
  const row = await db
    .selectFrom('domains')
    .selectAll()
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  return row && toDomain(row)
}

/** See `Storage.findDomain`. */
export async function findDomain(
  db: Db,
  args: { teamId: string; name: string },
): Promise<Domain | undefined> {
  const row = await db
    .selectFrom('domains')
    .selectAll()
    .where('name', '=', args.name)
    .where('team_id', '=', args.teamId)
    .executeTakeFirst()
  return row && toDomain(row)
}

/** See `Storage.deleteDomain`. Its DKIM keys go with it, and the API keys that were restricted to it. */
export async function deleteDomain(db: Db, args: { teamId: string; id: string }): Promise<boolean> {
  const deleted = await db
    .deleteFrom('domains')
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

/** See `Storage.saveDomainCheck`. */
export async function saveDomainCheck(
  db: Db,
  args: { teamId: string; id: string; status: DomainStatus; checks: RecordCheck[] },
  now: number,
): Promise<void> {
  await db
    .updateTable('domains')
    .set({ status: args.status, checks: JSON.stringify(args.checks), checked_at: now })
    .where('id', '=', args.id)
    .where('team_id', '=', args.teamId)
    .execute()
}

/** See `Storage.dkimKeys`. Oldest first. */
export async function dkimKeys(db: Db, args: { domainId: string }): Promise<DkimKey[]> {
  const rows = await db
    .selectFrom('dkim_keys')
    .selectAll()
    .where('domain_id', '=', args.domainId)
    .orderBy('id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    teamId: row.team_id,
    domainId: row.domain_id,
    selector: row.selector,
    algorithm: row.algorithm,
    privateKey: row.private_key,
    publicKey: row.public_key,
    createdAt: row.created_at,
  }))
}
