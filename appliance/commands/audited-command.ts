/** Records in the audit log what commands change: an entry before they run, completed with their result. */
import { startAuditEntry, completeAuditEntry, recordAuditEntry } from '../accounts/audit.ts'
import type { AuditAction } from '../mail/audit.ts'
import { Refusal } from '../mail/refusals.ts'
import { readTargetState } from './audited-state.ts'
import type { Context } from './context.ts'
import { getCommandLineActor } from './queue-change.ts'

/** How the audit log records a command. */
export interface CommandAudit {
  /** Noun and verb, as in the API: `domain.create`. */
  action: AuditAction
  /** Together with the first argument, or else the printed id, it identifies the target. */
  noun: string
  /** The command affects the whole server. */
  appliance?: true
  /** The command's arguments name recipients. They aren't recorded, because erasures don't reach the audit log. */
  personal?: true
  /** The command's output contains a secret and isn't recorded. */
  secret?: true
}

/** The verbs of a noun's actions. */
type Verb<Noun extends string, Action = AuditAction> = Action extends `${Noun}.${infer V}` ? V : never

const source = (verb: Verb<'source'>): CommandAudit => ({
  action: `source.${verb}`,
  noun: 'source',
  appliance: true,
})
const webhook = (verb: Verb<'webhook'>): CommandAudit => ({ action: `webhook.${verb}`, noun: 'webhook' })
const suppression = (verb: Verb<'suppression'>): CommandAudit => ({
  action: `suppression.${verb}`,
  noun: 'suppression',
  personal: true,
})
const domain = (verb: Verb<'domain'>): CommandAudit => ({ action: `domain.${verb}`, noun: 'domain' })

/** The commands that change something, by name. Other commands only read, or write their own audit entries. */
export const AUDITED_COMMANDS: Record<string, CommandAudit> = {
  setup: { action: 'team.create', noun: 'team' },
  'domain add': domain('create'),
  'domain verify': domain('verify'),
  'domain rotate': domain('rotate_dkim'),
  'domain delegate': domain('update'),
  'domain bodies': domain('keep_bodies'),
  'domain remove': domain('delete'),
  'inbound add-rule': domain('receiving_rules'),
  'inbound remove-rule': domain('receiving_rules'),
  'key create': { action: 'api_key.create', noun: 'api_key' },
  'key revoke': { action: 'api_key.delete', noun: 'api_key' },
  'user reset-factors': { action: 'user.reset_factors', noun: 'user', secret: true },
  'user password': { action: 'user.password', noun: 'user', secret: true },
  'user reset-link': { action: 'user.reset_link', noun: 'user', secret: true },
  'team create': { action: 'team.create', noun: 'team', appliance: true },
  'team rename': { action: 'team.rename', noun: 'team' },
  'member invite': { action: 'invitation.create', noun: 'invitation', secret: true },
  'member role': { action: 'member.update', noun: 'member' },
  'member remove': { action: 'member.remove', noun: 'member' },
  'certificate issue': { action: 'certificate.issue', noun: 'certificate', appliance: true },
  'certificate renew': { action: 'certificate.renew', noun: 'certificate', appliance: true },
  'team plan': { action: 'team.plan', noun: 'plan' },
  'team set-provider-rules': { action: 'team.provider_rules', noun: 'provider_rules' },
  'alert mute': { action: 'team.alerts', noun: 'alert_settings' },
  'alert unmute': { action: 'team.alerts', noun: 'alert_settings' },
  'alert email': { action: 'team.alerts', noun: 'alert_settings' },
  'contact import': { action: 'contact.import', noun: 'contact_import', personal: true },
  'contact undo': { action: 'contact.import_undo', noun: 'contact_import', personal: true },
  'contact export': { action: 'contact.export', noun: 'contact', personal: true },
  'segment import': { action: 'contact.import', noun: 'contact_import', personal: true },
  'segment export': { action: 'contact.export', noun: 'contact', personal: true },
  'topic import': { action: 'contact.import', noun: 'contact_import', personal: true },
  'topic export': { action: 'contact.export', noun: 'contact', personal: true },
  'automation enable': { action: 'automation.update', noun: 'automation' },
  'automation retry': { action: 'automation.retry', noun: 'automation' },
  'automation stop': { action: 'automation.stop', noun: 'automation' },
  'broadcast export': { action: 'broadcast.export', noun: 'broadcast' },
  'archive enable': { action: 'archive.update', noun: 'archive' },
  'archive disable': { action: 'archive.update', noun: 'archive' },
  'archive set': { action: 'archive.update', noun: 'archive' },
  'form enable': { action: 'form.update', noun: 'form' },
  'form disable': { action: 'form.update', noun: 'form' },
  'form remove': { action: 'form.delete', noun: 'form' },
  'broadcast send': { action: 'broadcast.send', noun: 'broadcast' },
  'broadcast pause': { action: 'broadcast.pause', noun: 'broadcast' },
  'broadcast resume': { action: 'broadcast.resume', noun: 'broadcast' },
  'broadcast rate': { action: 'broadcast.update', noun: 'broadcast' },
  'broadcast winner': { action: 'broadcast.choose_variant', noun: 'broadcast' },
  'broadcast publish': { action: 'broadcast.update', noun: 'broadcast' },
  'broadcast withdraw': { action: 'broadcast.update', noun: 'broadcast' },
  'broadcast cancel': { action: 'broadcast.cancel', noun: 'broadcast' },
  'template publish': { action: 'template.publish', noun: 'template' },
  'suppression add': suppression('create'),
  'suppression remove': suppression('delete'),
  'suppression import': suppression('import'),
  // Each imported object is recorded, too.
  import: { action: 'import.run', noun: 'import', secret: true },
  'webhook add': webhook('create'),
  'webhook set': webhook('update'),
  'webhook enable': webhook('update'),
  'webhook disable': webhook('update'),
  'webhook rotate': webhook('rotate_secret'),
  'webhook replay': webhook('replay'),
  'webhook remove': webhook('delete'),
  'node forget': { action: 'node.forget', noun: 'node', appliance: true },
  'source add': source('create'),
  'source remove': source('delete'),
  'source suspend': source('update'),
  'source resume': source('update'),
  'source pool': source('update'),
  'source hostname': source('update'),
  'source warm-up': source('update'),
  'source assign': { action: 'pool_assignment.create', noun: 'pool_assignment', appliance: true },
  'source unassign': { action: 'pool_assignment.delete', noun: 'pool_assignment', appliance: true },
  'source region': { action: 'pool.update', noun: 'pool', appliance: true },
  'provider set': { action: 'provider.update', noun: 'provider', appliance: true },
  'lane pause': { action: 'lane.pause', noun: 'lane', appliance: true },
  'lane resume': { action: 'lane.resume', noun: 'lane', appliance: true },
  'metrics recompute': { action: 'metrics.recompute', noun: 'metrics', appliance: true },
}

/** The command as typed: its full name, arguments and options. */
export interface CommandInvocation {
  /** `domain add` */
  name: string
  given: string[]
  options: object
}

/** Runs a command. If it changes something, records an audit entry before it and completes the entry afterwards. */
export async function runAudited(
  typed: CommandInvocation,
  context: Context,
  work: (context: Context) => Promise<void>,
): Promise<void> {
  const act = AUDITED_COMMANDS[typed.name]
  if (!act || onlyLooks(typed.options)) return work(context)
  const { storage, clock } = context
  const printed: Printed = {}
  const writing = { ...context, output: overheard(context, printed) }
  const asked = {
    actor: getCommandLineActor(),
    action: act.action,
    target: targetOf(act, typed),
    details: act.personal ? { command: typed.name } : detailsOf(typed),
  }
  const teamId = await teamOf(act, context, typed)
  // Only `setup` creates a team. Before that, no audit log exists.
  if (teamId === undefined) {
    await work(writing)
    const made = await teamOf(act, context, typed)
    return recordAuditEntry(storage, clock, { ...asked, teamId: made ?? null, after: printed.object })
  }
  const read = () => readTargetState(context, act, typed.given, teamId)
  const before = await read()
  const id = await startAuditEntry(storage, clock, { ...asked, teamId, before })
  try {
    await work(writing)
  } catch (error) {
    await completeAuditEntry(storage, clock, { id, after: { refused: reasonOf(act, error) } })
    throw error
  }
  const untold = act.personal === true || act.secret === true
  const after = (before === undefined ? undefined : await read()) ?? (untold ? {} : printed.object)
  await completeAuditEntry(storage, clock, { id, after, target: targetOf(act, typed, printed.object) })
}

const onlyLooks = (options: { preview?: boolean; dryRun?: boolean }): boolean =>
  options.preview === true || options.dryRun === true

/** The API object that a command prints with --json. */
interface Printed {
  object?: object
}

function overheard({ output }: Context, printed: Printed): Context['output'] {
  return {
    ...output,
    object(value) {
      printed.object = value
      output.object(value)
    },
  }
}

/** Returns the team of a command; null for the whole server, undefined if no team exists yet. */
async function teamOf({ appliance }: CommandAudit, context: Context, { name }: CommandInvocation) {
  if (appliance) return null
  const first = await context.storage.firstTeam({}, context.clock.now())
  // For `setup`, --team names the new team.
  return first === undefined || name === 'setup' ? first?.id : (await context.team()).id
}

function targetOf(
  { noun, personal }: CommandAudit,
  { given }: CommandInvocation,
  printed: object = {},
): string {
  const { id } = printed as { id?: unknown }
  const named = personal ? id : (given[0] ?? id)
  return typeof named === 'string' ? `${noun} ${named}` : noun
}

function detailsOf({ name, given, options }: CommandInvocation): Record<string, unknown> {
  const { config: _config, json: _json, yes: _yes, ...asked } = options as Record<string, unknown>
  return { command: name, ...(given.length > 0 && { arguments: given.flat() }), ...asked }
}

/**
 * Returns the error message for the log. Messages may contain the arguments, so those of personal commands are left
 * out.
 */
function reasonOf({ personal }: CommandAudit, error: unknown): string {
  if (error instanceof Refusal) return error.wireName
  return !personal && error instanceof Error ? error.message : 'failed'
}
