import { refuse } from '../mail/refusals.ts'
import type { Permission } from '../storage/storage.ts'
import { presentApiKey } from '../api/api-keys.ts'
import { presentDeleted, presentList } from '../api/shared.ts'
import type { Context } from './context.ts'
import { formatInstant, formatTable } from './output.ts'

/** `key create`: creates an API key and prints its token, which is never shown again. */
export async function createKey(
  { senders, output, team }: Context,
  options: { name: string; permission?: Permission; domain?: string },
): Promise<void> {
  const { id: teamId } = await team()
  const domain =
    options.domain === undefined ? undefined : await senders.findDomain({ teamId, name: options.domain })
  if (options.domain !== undefined && !domain)
    throw refuse('not_found', { resource: `Domain ${options.domain}` })
  const { key, token } = await senders.createKey({
    teamId,
    name: options.name,
    // A key for one domain always has sending access.
    permission: options.permission ?? (domain ? 'sending_access' : 'full_access'),
    domainId: domain?.id,
  })
  output.object({ object: 'api_key', id: key.id, token })
  output.text(token)
  output.error("Save the token now. It won't be shown again.")
}

/** Formats the prefix of a token, with dots for the rest. */
const shownPrefix = (prefix: string | null): string => (prefix === null ? '-' : `${prefix}…`)

/** Runs `key list`. */
export async function listKeys({ senders, output, team }: Context): Promise<void> {
  const { id: teamId } = await team()
  const keys = await senders.listKeys({ teamId })
  output.object(presentList(keys.map(presentApiKey)))
  if (keys.length === 0) return output.text('No API keys. Create one: posthaste key create --name my-app')
  const names = new Map((await senders.listDomains({ teamId })).map(({ id, name }) => [id, name]))
  const rows = keys.map((key) => [
    key.id,
    shownPrefix(key.prefix),
    key.domainId === null ? key.permission : `only ${names.get(key.domainId) ?? 'a removed domain'}`,
    formatInstant(key.lastUsedAt),
    key.name,
  ])
  output.text(...formatTable(['ID', 'PREFIX', 'PERMISSION', 'LAST USED', 'NAME'], rows))
}

/** `key revoke`: ends a key immediately. */
export async function revokeKey({ senders, output, team }: Context, id: string): Promise<void> {
  const { id: teamId } = await team()
  await senders.revokeKey({ teamId, id })
  output.object(presentDeleted('api_key', id))
  output.text(`Revoked key ${id}.`)
}
