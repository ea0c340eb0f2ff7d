/** Records in the audit log what commands change: an entry before they run, completed with their result. */
import { beginAct, endAct, recordAct } from '../accounts/audit.ts'
import type { AuditAction } from '../mail/audit.ts'
import { Refusal } from '../mail/refusals.ts'
import { readAct } from './act-reads.ts'
import type { Context } from './context.ts'
import { thisPerson } from './queue-change.ts'

/** How the audit log records a command. */
export interface CommandAct {
  /** Noun and verb, as in the API: `domain.create`. */
  action: AuditAction
  /** Together with the first argument, or else the printed id, it identifies the target. */
  noun: string
  /** Affects the whole server. */
  appliance?: true
  /** Its arguments name recipients. They aren't recorded, because erasures don't reach the audit log. */
  personal?: true
  /** Its output contains a secret and isn't recorded. */
  secret?: true
}

/** The verbs of a noun's actions. */
type Verb<Noun extends string, Action = AuditAction> = Action extends `${Noun}.${infer V}` ? V : never

const source = (verb: Verb<'source'>): CommandAct => ({
  action: `source.${verb}`,
  noun: 'source',
  appliance: true,
})
const webhook = (verb: Verb<'webhook'>): CommandAct => ({ action: `webhook.${verb}`, noun: 'webhook' })
const suppression = (verb: Verb<'suppression'>): CommandAct => ({
  action: `suppression.${verb}`,
  noun: 'suppression',
  personal: true,
})
const domain = (verb: Verb<'domain'>): CommandAct => ({ action: `domain.${verb}`, noun: 'domain' })

/** The commands that change something, by name. Others only read, or record themselves. */
export const COMMAND_ACTS: Record<string, CommandAct> = {
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
  'provider set': { action: 'provider.update', noun: 'provider', appliance: true },
  'lane pause': { action: 'lane.pause', noun: 'lane', appliance: true },
  'lane resume': { action: 'lane.resume', noun: 'lane', appliance: true },
  'metrics recompute': { action: 'metrics.recompute', noun: 'metrics', appliance: true },
}

/** The command as typed: its full name, arguments and options. */
export interface Typed {
  /** `domain add` */
  name: string
  given: string[]
  options: object
}

/** Runs a command. If it changes something, records an audit entry before it and completes the entry afterwards. */
export async function audited(
  typed: Typed,
  context: Context,
  work: (context: Context) => Promise<void>,
): Promise<void> {
  const act = COMMAND_ACTS[typed.name]
  if (!act || onlyLooks(typed.options)) return work(context)
  const { storage, clock } = context
  const printed: Printed = {}
  const writing = { ...context, output: overheard(context, printed) }
  const asked = {
    actor: thisPerson(),
    action: act.action,
    target: targetOf(act, typed),
    details: act.personal ? { command: typed.name } : detailsOf(typed),
  }
  const teamId = await teamOf(act, context, typed)
  // Only `setup` creates a team. Before that, no audit log exists.
  if (teamId === undefined) {
    await work(writing)
    const made = await teamOf(act, context, typed)
    return recordAct(storage, clock, { ...asked, teamId: made ?? null, after: printed.object })
  }
  const read = () => readAct(context, act, typed.given, teamId)
  const before = await read()
  const id = await beginAct(storage, clock, { ...asked, teamId, before })
  try {
    await work(writing)
  } catch (error) {
    await endAct(storage, clock, { id, after: { refused: reasonOf(act, error) } })
    throw error
  }
  const untold = act.personal === true || act.secret === true
  const after = (before === undefined ? undefined : await read()) ?? (untold ? {} : printed.object)
  await endAct(storage, clock, { id, after, target: targetOf(act, typed, printed.object) })
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

/** Returns the team of a command. Null: the whole server; undefined: no team exists yet. */
async function teamOf({ appliance }: CommandAct, context: Context, { name }: Typed) {
  if (appliance) return null
  const first = await context.storage.firstTeam({}, context.clock.now())
  // For `setup`, --team names the new team.
  return first === undefined || name === 'setup' ? first?.id : (await context.team()).id
}

function targetOf({ noun, personal }: CommandAct, { given }: Typed, printed: object = {}): string {
  const { id } = printed as { id?: unknown }
  const named = personal ? id : (given[0] ?? id)
  return typeof named === 'string' ? `${noun} ${named}` : noun
}

function detailsOf({ name, given, options }: Typed): Record<string, unknown> {
  const { config: _config, json: _json, yes: _yes, ...asked } = options as Record<string, unknown>
  return { command: name, ...(given.length > 0 && { arguments: given.flat() }), ...asked }
}

/**
 * Returns the error message for the log. Messages may contain the arguments, so those of personal commands are left
 * out.
 */
function reasonOf({ personal }: CommandAct, error: unknown): string {
  if (error instanceof Refusal) return error.wireName
  return !personal && error instanceof Error ? error.message : 'failed'
}
