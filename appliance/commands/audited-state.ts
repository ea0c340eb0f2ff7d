/** Reads the state of an object before and after a command changes it, for the audit log. */
import { formatRule } from '../mail/receiving-rules.ts'
import { Refusal } from '../mail/refusals.ts'
import { presentDomainSummary } from '../api/domains.ts'
import { presentApiKeySetting } from '../api/api-keys.ts'
import { presentArchive } from '../api/archive.ts'
import { presentFormSetting } from '../api/forms.ts'
import { presentLane, presentProvider } from '../api/shaping.ts'
import { presentSource } from '../api/sources.ts'
import { presentWebhookSetting } from '../api/webhooks.ts'
import { Failure, type Context } from './context.ts'
import { openShaping } from './provider.ts'

/** Reads an object. @param named the first argument of the command */
type Read = (context: Context, named: string, teamId: string) => Promise<unknown>

/**
 * Readers by the noun of the audited action. Commands with other nouns write their own entries, or have no state to
 * record.
 */
const READS: Record<string, Read> = {
  async domain({ senders, storage, clock }, name, teamId) {
    const domain = await senders.findDomain({ teamId, name })
    if (!domain) return undefined
    const without = await storage.domainsWithoutBodies({ teamId }, clock.now())
    const rules = await storage.getReceivingRules({ teamId, domainId: domain.id }, clock.now())
    return {
      ...presentDomainSummary(domain),
      tls: domain.tls,
      keep_bodies: !without.includes(domain.name),
      rules: rules.map(formatRule).join(', '),
    }
  },
  async api_key({ senders }, id, teamId) {
    const key = (await senders.listKeys({ teamId })).find((one) => one.id === id)
    return key && presentApiKeySetting(key)
  },
  archive: async ({ archive }, _named, teamId) => presentArchive(await archive.get({ teamId })),
  form: async ({ forms }, id, teamId) => presentFormSetting(await forms.get({ teamId, id })),
  webhook: async ({ webhooks }, id, teamId) => presentWebhookSetting(await webhooks.get({ teamId, id })),
  source: async ({ sources }, ip) => presentSource(await sources.get(ip)),
  provider: async (context, id) => presentProvider(await openShaping(context).provider(id)),
  async lane(context, id) {
    const lane = (await openShaping(context).lanes()).find((one) => one.id === id)
    return lane && presentLane(lane)
  },
  async member({ accounts }, email, teamId) {
    const typed = email.trim().normalize('NFC').toLowerCase()
    const members = await accounts.members.listMembers({ teamId })
    const member = members.find((one) => one.email.toLowerCase() === typed)
    return member && { email: member.email, role: member.role }
  },
  async team({ accounts }, _named, teamId) {
    const { name, mfaRequired } = await accounts.teams.getTeam({ id: teamId })
    return { name, mfa_required: mfaRequired }
  },
  async provider_rules({ accounts }, _named, teamId) {
    const { name, providerRules } = await accounts.teams.getTeam({ id: teamId })
    return { name, mode: providerRules }
  },
  async alert_settings({ accounts, storage, clock }, _named, teamId) {
    const { name } = await accounts.teams.getTeam({ id: teamId })
    return { name, ...(await storage.alertSettings({ teamId }, clock.now())) }
  },
  plan: async ({ storage, clock }, _named, teamId) => ({
    plan: await storage.planOf({ teamId }, clock.now()),
  }),
  pool: async ({ sources }, named) => ({ region: (await sources.pool(named)).region }),
  pool_assignment: ({ storage, clock }) => storage.listAssignments({}, clock.now()),
}

/** Returns the current state of a command's target; undefined if there is none, or nothing to record. */
export async function readTargetState(
  context: Context,
  act: { noun: string; personal?: true },
  given: readonly string[],
  teamId: string | null,
): Promise<unknown> {
  const read = act.personal ? undefined : READS[act.noun]
  if (!read) return undefined
  try {
    return await read(context, given[0] ?? '', teamId ?? '')
  } catch (error) {
    // The command itself reports that the object doesn't exist.
    if (error instanceof Refusal || error instanceof Failure) return undefined
    throw error
  }
}
