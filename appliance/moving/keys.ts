import type { Permission } from '../storage/storage.ts'
import type { HostedObject } from './hosted.ts'
import { stringOrNull } from './objects.ts'
import { tryAdd, countSkipped, type MoveDeps, type MoveCount } from './report.ts'

const PERMISSIONS = ['full_access', 'sending_access'] as const satisfies Permission[]

/**
 * Creates a key for each key of the hosted service, with the same name; tokens can't be moved. The hosted service
 * doesn't report a key's permission and domain, but another Posthaste server does. Skips a name if there are already as
 * many keys with it here.
 */
export async function moveKeys(deps: MoveDeps, count: MoveCount): Promise<void> {
  const { hosted, senders, teamId, options } = deps
  const here = new Map<string, number>()
  for (const { name } of await senders.listKeys({ teamId })) here.set(name, (here.get(name) ?? 0) + 1)
  const domains = domainNames(deps)
  const untold: string[] = []
  for await (const wire of hosted.list('/api-keys')) {
    count.there += 1
    const name = stringOrNull(wire.name)
    const left = here.get(name ?? '') ?? 0
    if (name === null) countSkipped(count, 'an API key', 'the hosted API returned no name for it')
    else if (left > 0) {
      count.present += 1
      here.set(name, left - 1)
    } else if (await addOne(deps, wire, { name, count, domains })) untold.push(name)
  }
  if (untold.length === 0) return
  const many = untold.length === 1 ? '1 key' : `${untold.length} keys`
  count.notes.push({
    what: many,
    text: `the hosted API does not report their permission; they get ${options.permission} (--permission)`,
  })
}

interface One {
  name: string
  count: MoveCount
  domains: (id: string) => Promise<string | undefined>
}

/** Returns whether the key was added without knowing its permission. */
async function addOne(deps: MoveDeps, wire: HostedObject, { name, count, domains }: One): Promise<boolean> {
  const { senders, teamId, options, made } = deps
  const told = PERMISSIONS.find((one) => one === wire.permission)
  const hostedDomain = stringOrNull(wire.domain_id)
  const domain = hostedDomain === null ? null : await domains(hostedDomain)
  if (domain === undefined) {
    countSkipped(count, name, 'it is restricted to a domain that the hosted API does not list')
    return false
  }
  const permission = told ?? (domain === null ? options.permission : 'sending_access')
  const moves = options.dryRun && options.only.includes('domains')
  const here = domain === null || moves ? undefined : await senders.findDomain({ teamId, name: domain })
  if (domain !== null && !moves && !here) {
    countSkipped(count, name, `it is restricted to ${domain}, which does not exist here`)
    return false
  }
  const before = count.added
  await tryAdd(count, name, async () => {
    if (options.dryRun) return
    const fresh = await senders.createKey({ teamId, name, permission, domainId: here?.id })
    await made({ kind: 'api_key', ...fresh, domain })
  })
  return count.added > before && told === undefined
}

/**
 * Creates a function that fetches the hosted service's domain names by ID, when the first key is restricted to a
 * domain.
 */
function domainNames({ hosted }: MoveDeps): One['domains'] {
  let names: Map<string, string> | undefined
  return async (id) => {
    if (!names) {
      names = new Map()
      for await (const one of hosted.list('/domains'))
        names.set(stringOrNull(one.id) ?? '', stringOrNull(one.name) ?? '')
    }
    return names.get(id)
  }
}
