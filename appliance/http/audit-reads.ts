/** Reads an object before and after an action, for the audit log. */
import type { FastifyRequest } from 'fastify'
import { presentDkimKey } from '../api/dkim-keys.ts'
import { presentDomainSummary } from '../api/domains.ts'
import { presentApiKeySetting } from '../api/api-keys.ts'
import { presentLane, presentProvider } from '../api/shaping.ts'
import { presentNode } from '../api/nodes.ts'
import { presentAssignment, presentSource } from '../api/sources.ts'
import { presentWebhookSetting } from '../api/webhooks.ts'
import { formatRule } from '../mail/receiving-rules.ts'
import { getCaller, requirePerson, getObjectRef } from './access.ts'
import type { HttpDeps } from './deps.ts'

type Read = (request: FastifyRequest) => Promise<unknown>

/** Returns the id in the path, which has been validated. */
const idOf = ({ params }: FastifyRequest): string => (params as { id: string }).id

/** Reads the key in the path. */
export function readKey({ senders }: Pick<HttpDeps, 'senders'>): Read {
  return async (request) => {
    const { teamId, id } = getObjectRef(request)
    const key = (await senders.listKeys({ teamId })).find((one) => one.id === id)
    return key && presentApiKeySetting(key)
  }
}

/** Reads the settings of the domain in the path, without its DNS records. */
export function readDomain({ senders }: Pick<HttpDeps, 'senders'>): Read {
  return async (request) => {
    const domain = await senders.getDomain(getObjectRef(request))
    const { tls, trackingSubdomain, returnPath, delegation } = domain
    const settings = {
      tls,
      tracking_subdomain: trackingSubdomain,
      custom_return_path: returnPath,
      delegation,
    }
    return { ...presentDomainSummary(domain), ...settings }
  }
}

/** Reads the DKIM keys of the domain in the path, without their records. */
export function readDkimKeys({ senders }: Pick<HttpDeps, 'senders'>): Read {
  return async (request) => {
    const domain = await senders.getDomain(getObjectRef(request))
    const keys = await senders.dkimKeys(domain)
    const settings = keys.map((key) => {
      const { id, selector, algorithm, state } = presentDkimKey(domain, key)
      return { id, selector, algorithm, state }
    })
    return { name: domain.name, keys: settings }
  }
}

/** Reads whether bodies of the domain in the path are kept. */
export function readBodies({ senders, storage, clock }: HttpDeps): Read {
  return async (request) => {
    const { teamId, id } = getObjectRef(request)
    const { name } = await senders.getDomain({ teamId, id })
    return { name, keep: !(await storage.domainsWithoutBodies({ teamId }, clock.now())).includes(name) }
  }
}

/** Reads the receiving rules of the domain in the path, one per line. */
export function readReceivingRules({ senders, storage, clock }: HttpDeps): Read {
  return async (request) => {
    const { teamId, id } = getObjectRef(request)
    const { name } = await senders.getDomain({ teamId, id })
    const rules = await storage.getReceivingRules({ teamId, domainId: id }, clock.now())
    return { name, rules: rules.map(formatRule).join(', ') }
  }
}

/** Reads the webhook in the path, without its secret. */
export function readWebhook({ webhooks }: Pick<HttpDeps, 'webhooks'>): Read {
  return async (request) => presentWebhookSetting(await webhooks.get(getObjectRef(request)))
}

/** Reads the node in the path. */
export function readNode({ node }: Pick<HttpDeps, 'node'>): Read {
  return async (request) => {
    const one = (await node.list()).find(({ id }) => id === idOf(request))
    return one && presentNode(one)
  }
}

/** Reads the source in the path. */
export function readSource({ sources }: Pick<HttpDeps, 'sources'>): Read {
  return async ({ params }) => presentSource(await sources.get((params as { ip: string }).ip))
}

/** Reads the provider in the path. */
export function readProvider({ shaping }: Pick<HttpDeps, 'shaping'>): Read {
  return async (request) => presentProvider(await shaping.provider(idOf(request)))
}

/** Reads the lane in the path. */
export function readLane({ shaping }: Pick<HttpDeps, 'shaping'>): Read {
  return async (request) => {
    const id = idOf(request)
    const lane = (await shaping.lanes()).find((one) => one.id === id)
    return lane && presentLane(lane)
  }
}

/** Reads the current team, with its rules. */
export function readTeam({ accounts }: Pick<HttpDeps, 'accounts'>): Read {
  return async (request) => {
    const { name, mfaRequired } = await accounts.teams.getTeam({ id: getCaller(request).teamId })
    return { name, mfa_required: mfaRequired }
  }
}

/** Reads how the current team applies the rules of mailbox providers. */
export function readProviderRules({ accounts }: Pick<HttpDeps, 'accounts'>): Read {
  return async (request) => {
    const { name, providerRules } = await accounts.teams.getTeam({ id: getCaller(request).teamId })
    return { name, mode: providerRules }
  }
}

/** Reads the notification settings of the current team. */
export function readAlertSettings({
  accounts,
  storage,
  clock,
}: Pick<HttpDeps, 'accounts' | 'storage' | 'clock'>): Read {
  return async (request) => {
    const { teamId } = getCaller(request)
    const { name } = await accounts.teams.getTeam({ id: teamId })
    return { name, ...(await storage.alertSettings({ teamId }, clock.now())) }
  }
}

/** Reads the caller's role in the team in the path. */
export function readOwnRole({ accounts }: Pick<HttpDeps, 'accounts'>): Read {
  return async (request) => {
    const own = await accounts.teams.teamsOf({ userId: requirePerson(request).userId })
    const one = own.find(({ id }) => id === idOf(request))
    return one && { name: one.name, role: one.role }
  }
}

/** Reads the address and role of the invitation in the path. */
export function readInvitation({ accounts }: Pick<HttpDeps, 'accounts'>): Read {
  return async (request) => {
    const { teamId, id } = getObjectRef(request)
    const one = (await accounts.members.listInvitations({ teamId })).find((open) => open.id === id)
    return one && { email: one.email, role: one.role, invited_by: one.invitedBy }
  }
}

/** Reads the caller's identity in the path. */
export function readIdentity({ providers }: Pick<HttpDeps, 'providers'>): Read {
  return async (request) => {
    const own = await providers.identities(requirePerson(request).userId)
    const one = own.find(({ id }) => id === idOf(request))
    return one && { provider: one.provider, email: one.email }
  }
}

/** Reads the pool in the path. */
export function readPool({ sources }: Pick<HttpDeps, 'sources'>): Read {
  return async (request) => {
    const { pool } = request.params as { pool: string }
    return { region: (await sources.pool(pool)).region }
  }
}

/** Reads the pool assignment in the path. */
export function readAssignment({ sources }: Pick<HttpDeps, 'sources'>): Read {
  return async (request) => {
    const one = (await sources.assignments()).find(({ id }) => id === idOf(request))
    return one && presentAssignment(one)
  }
}
