/** Describes an audit log entry in one sentence: "ada@acme.com rotated DKIM for acme.com". Pure. */
import { buildChangePhrase, type Phrase } from './audit-changes.ts'
import { asObject, getTargetName } from './audit-target.ts'
import type { AuditAction, AuditEntry } from './audit.ts'

/** The parts of an entry that the sentence uses. */
export type AuditSentenceInput = Pick<
  AuditEntry,
  'actor' | 'actorKind' | 'actorName' | 'action' | 'target' | 'targetName' | 'before' | 'after' | 'details'
>

type Fields = Record<string, unknown>

/** The input of the phrases. */
interface Facts {
  /** The object: its name, else its id, else `UNKNOWN`. */
  name: string
  before: Fields
  after: Fields
  details: Fields
}

type Say = (facts: Facts) => Phrase

/** Creates a phrase for actions that mention only the name of their object. */
const simple =
  (past: string, bare: string, object: (name: string) => string): Say =>
  ({ name }) => [past, bare, object(name)]

const UNKNOWN = '(unknown)'
const quoted = (name: string): string => (name === '' || name === UNKNOWN ? '' : ` “${name}”`)
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
/** Appends an optional text after `words`. */
const after = (words: string, value: unknown): string =>
  textOf(value) === '' ? '' : `${words} ${textOf(value)}`
const many = (count: number, one: string, more: string): string =>
  count === 1 ? `1 ${one}` : `${count.toLocaleString('en')} ${more}`

const account = (past: string, bare: string, object: string): Say => simple(past, bare, () => object)

const SENTENCES: Record<AuditAction, Say> = {
  'account.passkey.add': account('added', 'add', 'a passkey to their account'),
  'account.passkey.remove': account('removed', 'remove', 'a passkey from their account'),
  'account.passkey.rename': account('renamed', 'rename', 'a passkey on their account'),
  'account.password': account('changed', 'change', 'their password'),
  'account.password_reset': account('reset', 'reset', 'their password with a link sent by email'),
  'account.proof': account('confirmed', 'confirm', 'their identity for a protected change'),
  'account.recovery_codes.renew': account('replaced', 'replace', 'their recovery codes'),
  'account.totp.add': account('added', 'add', 'an authenticator app to their account'),
  'account.totp.remove': account('removed', 'remove', 'the authenticator app from their account'),
  'api_key.create': simple('created', 'create', (name) => `the API key${quoted(name)}`),
  'api_key.delete': simple('deleted', 'delete', (name) => `the API key${quoted(name)}`),
  'api_key.update': ({ name, details }) => [
    'renamed',
    'rename',
    `the API key${quoted(name)} to${quoted(textOf(details.name)) || ' an empty name'}`,
  ],
  'automation.create': simple('created', 'create', (name) => `the automation${quoted(name)}`),
  'automation.delete': simple('deleted', 'delete', (name) => `the automation${quoted(name)}`),
  'automation.retry': simple('retried', 'retry', (name) => `a run of the automation${quoted(name)}`),
  'automation.stop': simple('stopped', 'stop', (name) => `the automation${quoted(name)}`),
  'automation.update': simple('changed', 'change', (name) => `the automation${quoted(name)}`),
  'backup.create': ({ details }) => ['backed up', 'back up', `this server${after(' to', argument(details))}`],
  'backup.restore': ({ details }) => [
    'restored',
    'restore',
    `this server${after(' from', argument(details))}`,
  ],
  'certificate.issue': account('requested', 'request', 'missing TLS certificates'),
  'certificate.renew': account('renewed', 'renew', 'all TLS certificates'),
  'contact.batch_add': account('added', 'add', 'contacts'),
  'contact.batch_change': account('changed', 'change', 'several contacts'),
  'contact.create': account('created', 'create', 'a contact'),
  'contact.delete': account('deleted', 'delete', 'a contact'),
  'contact.export': account('exported', 'export', 'contacts'),
  'contact.import': account('imported', 'import', 'contacts'),
  'contact.import_undo': account('undid', 'undo', 'an import of contacts'),
  'contact.update': account('changed', 'change', 'a contact'),
  'contact_property.create': simple('created', 'create', (name) => `the contact property${quoted(name)}`),
  'contact_property.delete': simple('deleted', 'delete', (name) => `the contact property${quoted(name)}`),
  'contact_property.update': simple('changed', 'change', (name) => `the contact property${quoted(name)}`),
  'domain.create': simple('added', 'add', (name) => `the domain ${name}`),
  'domain.delete': simple('deleted', 'delete', (name) => `the domain ${name}`),
  'domain.keep_bodies': ({ name, details }) =>
    details.keep === false || argument(details, 1) === 'discard'
      ? ['stopped', 'stop', `storing message bodies for ${name}`]
      : ['started', 'start', `storing message bodies for ${name}`],
  'domain.receiving_rules': simple('changed', 'change', (name) => `the receiving rules of ${name}`),
  'domain.rotate_dkim': simple('rotated', 'rotate', (name) => `DKIM for ${name}`),
  'domain.update': (facts) => buildChangePhrase(facts, facts.name),
  'domain.verify': simple('checked', 'check', (name) => `the DNS records of ${name}`),
  'email.share': account('created', 'create', 'a public link to an email'),
  'erasure.begin': account('started', 'start', "erasing a person's data"),
  'event.create': simple('created', 'create', (name) => `the event${quoted(name)}`),
  'event.delete': simple('deleted', 'delete', (name) => `the event${quoted(name)}`),
  'event.update': simple('changed', 'change', (name) => `the event${quoted(name)}`),
  'form.create': simple('created', 'create', (name) => `the sign-up form${quoted(name)}`),
  'form.delete': simple('deleted', 'delete', (name) => `the sign-up form${quoted(name)}`),
  'form.update': simple('changed', 'change', (name) => `the sign-up form${quoted(name)}`),
  'identity.link': ({ after: made, name }) => ['linked', 'link', identity(made, name, 'to')],
  'identity.unlink': ({ before, name }) => ['unlinked', 'unlink', identity(before, name, 'from')],
  'import.run': ({ details }) => ['imported', 'import', `data${after(' from', details.from)}`],
  'image.delete': simple('deleted', 'delete', (name) => `the image ${name}`),
  'image.upload': simple('uploaded', 'upload', (name) => `the image ${name}`),
  'invitation.accept': ({ after: made }) => [
    'accepted',
    'accept',
    `an invitation to the team${after(' as', made.role)}`,
  ],
  'invitation.create': ({ name, details }) => ['invited', 'invite', `${name}${after(' as', details.role)}`],
  'invitation.revoke': simple('withdrew', 'withdraw', (name) => `the invitation for ${name}`),
  'lane.pause': ({ name, details }) => ['paused', 'pause', `the lane ${name}${minutes(details.minutes)}`],
  'lane.resume': simple('resumed', 'resume', (name) => `the lane ${name}`),
  'member.join': ({ after: made }) => ['joined', 'join', `the team${after(' as', made.role)}`],
  'member.remove': simple('removed', 'remove', (name) => `${name} from the team`),
  'member.update': ({ name, before, after: made, details }) => [
    'changed',
    'change',
    `the role of ${name}${after(' from', before.role)}${after(' to', details.role ?? made.role)}`,
  ],
  'metrics.recompute': account('recomputed', 'recompute', 'the metrics'),
  'pool.update': (facts) => buildChangePhrase(facts, `the pool ${facts.name}`),
  'pool_assignment.create': ({ details }) => ['assigned', 'assign', assignment(details, 'to')],
  'pool_assignment.delete': ({ before, details }) => [
    'removed',
    'remove',
    assignment(before.pool === undefined ? details : before, 'from'),
  ],
  'provider.update': (facts) => buildChangePhrase(facts, facts.name),
  'queue.drop': (facts) => queued('dropped', 'drop', facts),
  'queue.expire': (facts) => queued('expired', 'expire', facts),
  'queue.hold': (facts) => queued('held', 'hold', facts),
  'queue.release': (facts) => queued('released', 'release', facts),
  'queue.reroute': (facts) => queued('rerouted', 'reroute', facts),
  'queue.retry': (facts) => queued('retried', 'retry', facts),
  'region.fail_over': ({ name, after: done, details }) => [
    'moved',
    'move',
    `the mail of the region ${name}${after(' to', details.to)}${movedMail(done.count)}`,
  ],
  'region.restore': simple('restored', 'restore', (name) => `the region ${name}`),
  'secrets.rekey': account('replaced', 'replace', 'the master key of this server'),
  'segment.create': simple('created', 'create', (name) => `the segment${quoted(name)}`),
  'segment.delete': simple('deleted', 'delete', (name) => `the segment${quoted(name)}`),
  'segment.update': simple('changed', 'change', (name) => `the segment${quoted(name)}`),
  'session.create': ({ details }) => ['signed in', 'sign in', method(details)],
  'session.end': ({ name, after: made }) => ['signed out', 'sign out', sessions(name, made)],
  'node.forget': simple('removed', 'remove', (name) => `the node ${name}`),
  'source.create': simple('added', 'add', (name) => `the sending IP ${name}`),
  'source.delete': simple('removed', 'remove', (name) => `the sending IP ${name}`),
  'source.update': (facts) => sourceChange(facts),
  'storage.move': ({ details }) => ['moved', 'move', `the storage${after(' to', argument(details))}`],
  'suppression.create': ({ after: made }) => ['suppressed', 'suppress', addresses(made)],
  'suppression.delete': ({ after: made }) => [
    'removed',
    'remove',
    `${addresses(made)} from the suppression list`,
  ],
  'suppression.import': ({ after: made }) => ['imported', 'import', `a suppression list${added(made)}`],
  'team.alerts': simple('changed', 'change', () => 'which alerts the team is notified of'),
  'team.create': ({ name, after: made, details }) => [
    'created',
    'create',
    `the team${quoted(textOf(asObject(made.team).name) || name)}${after(' with the owner', details.email)}`,
  ],
  'team.leave': simple('left', 'leave', (name) => `the team${quoted(name)}`),
  'team.plan': ({ name, before, after: made }) => [
    'changed',
    'change',
    `the plan of the team${after(' from', before.plan)} to ${textOf(made.plan) || name}`,
  ],
  'team.provider_rules': ({ before, after: made, details }) => [
    'changed',
    'change',
    `what happens to mail that breaks provider rules${after(' from', before.mode)}${after(' to', textOf(made.mode) || textOf(details.mode) || argument(details))}`,
  ],
  'team.rename': ({ name, details }) => [
    'renamed',
    'rename',
    `the team${quoted(name)} to${quoted(textOf(details.name) || argument(details))}`,
  ],
  'team.security': ({ details }) =>
    details.mfa_required === false
      ? ['stopped', 'stop', 'requiring two-step sign-in for the team']
      : ['started', 'start', 'requiring two-step sign-in for the team'],
  'team.set_up': simple('set up', 'set up', (name) => `this server with the team${quoted(name)}`),
  'broadcast.cancel': simple('canceled', 'cancel', (name) => `the broadcast${quoted(name)}`),
  'broadcast.choose_variant': ({ name, details }) => [
    'chose',
    'choose',
    `${after('variant', textOf(details.variant) || argument(details, 1)) || 'a variant'} for the rest of the broadcast${quoted(name)}`,
  ],
  'broadcast.create': simple('created', 'create', (name) => `the broadcast${quoted(name)}`),
  'broadcast.delete': simple('deleted', 'delete', (name) => `the broadcast${quoted(name)}`),
  'broadcast.export': simple(
    'exported',
    'export',
    (name) => `the recipients of the broadcast${quoted(name)}`,
  ),
  'broadcast.pause': simple('paused', 'pause', (name) => `the broadcast${quoted(name)}`),
  'broadcast.resume': simple('resumed', 'resume', (name) => `the broadcast${quoted(name)}`),
  'broadcast.send': simple('sent', 'send', (name) => `the broadcast${quoted(name)}`),
  'broadcast.update': simple('changed', 'change', (name) => `the broadcast${quoted(name)}`),
  'template.create': simple('created', 'create', (name) => `the template${quoted(name)}`),
  'template.delete': simple('deleted', 'delete', (name) => `the template${quoted(name)}`),
  'template.publish': simple('published', 'publish', (name) => `the template${quoted(name)}`),
  'template.update': simple('changed', 'change', (name) => `the template${quoted(name)}`),
  'topic.create': simple('created', 'create', (name) => `the topic${quoted(name)}`),
  'topic.delete': simple('deleted', 'delete', (name) => `the topic${quoted(name)}`),
  'topic.update': simple('changed', 'change', (name) => `the topic${quoted(name)}`),
  'archive.update': account('changed', 'change', 'the public archive'),
  'unsubscribe_page.update': account('changed', 'change', 'the unsubscribe page'),
  'user.password': simple('set', 'set', (name) => `a new password for ${name}`),
  'user.reset_factors': simple('removed', 'remove', (name) => `the second steps of ${name}`),
  'user.reset_link': simple('created', 'create', (name) => `a password reset link for ${name}`),
  'webhook.create': simple('added', 'add', (name) => `the webhook ${name}`),
  'webhook.delete': simple('deleted', 'delete', (name) => `the webhook ${name}`),
  'webhook.replay': ({ name, after: made }) => ['replayed', 'replay', `${events(made)} to ${name}`],
  'webhook.rotate_secret': simple('rotated', 'rotate', (name) => `the signing secret of the webhook ${name}`),
  'webhook.update': (facts) => webhookChange(facts),
}

/** Returns the sentence for an entry, without a full stop. */
export function describeAuditEntry(entry: AuditSentenceInput): string {
  const who = actorWords(entry)
  const say = Object.hasOwn(SENTENCES, entry.action) ? SENTENCES[entry.action as AuditAction] : undefined
  if (!say) return `${who}: ${entry.action} (${entry.target})`
  const [past, bare, object] = say(factsOf(entry))
  const about = object === '' ? '' : ` ${object}`
  if (entry.after === null) return `${who} started to ${bare}${about}; the outcome is unknown`
  const { refused } = asObject(entry.after)
  if (refused === undefined) return `${who} ${past}${about}`
  return `${who} tried to ${bare}${about}, but ${refusal(refused)}`
}

/** Returns what a successful action did, without the actor and a full stop: "Rotated DKIM for acme.com". */
export function describeAction(entry: AuditSentenceInput): string {
  const say = Object.hasOwn(SENTENCES, entry.action) ? SENTENCES[entry.action as AuditAction] : undefined
  if (!say) return entry.action
  const [past, , object] = say(factsOf(entry))
  const words = object === '' ? past : `${past} ${object}`
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const factsOf = (entry: AuditSentenceInput): Facts => ({
  name: nameOf(entry),
  before: asObject(entry.before),
  after: asObject(entry.after),
  details: asObject(entry.details),
})

/** Returns the object's name. Entries of older versions have no stored name; objects without a name have an id. */
function nameOf(entry: AuditSentenceInput): string {
  const [, ...rest] = entry.target.split(' ')
  return entry.targetName ?? getTargetName(entry) ?? (rest.join(' ') || UNKNOWN)
}

function actorWords({ actor, actorKind, actorName }: AuditSentenceInput): string {
  switch (actorKind) {
    case 'user':
      return actor || 'A deleted user'
    case 'api_key':
      return actorName === null ? `API key ${actor}` : `API key “${actorName}”`
    case 'command':
      return `${actor} (command line)`
    case 'system':
      return 'Posthaste'
  }
}

const REFUSALS: Record<string, string> = {
  not_found: 'it was not found',
  wrong_credentials: 'the email address or password was wrong',
  wrong_password: 'the password was wrong',
  wrong_code: 'the code was wrong',
  wrong_passkey: 'the passkey was not accepted',
}

/** Describes a refusal by its name, its status or, for a command, its sentence. */
function refusal(refused: unknown): string {
  const words = typeof refused === 'number' ? `status ${refused}` : textOf(refused).replace(/\.$/, '')
  return REFUSALS[words] ?? `it was refused: ${words.replaceAll('_', ' ')}`
}

/** Returns an argument of a command. */
function argument({ arguments: given }: Fields, at = 0): string {
  return Array.isArray(given) ? textOf(given[at]) : ''
}

/** Returns the number of moved deliveries, once it is known. */
const movedMail = (value: unknown): string => {
  const count = numberOf(value)
  return count === undefined ? '' : `: ${many(count, 'delivery', 'deliveries')}`
}

const minutes = (value: unknown): string => {
  const count = numberOf(value)
  return count === undefined ? '' : ` for ${many(count, 'minute', 'minutes')}`
}

function identity({ provider, email }: Fields, name: string, preposition: string): string {
  const at = textOf(provider) === '' ? 'an account' : `the ${textOf(provider)} account`
  return `${at} ${textOf(email) || name} ${preposition} their account`
}

function assignment(given: Fields, preposition: string): string {
  const { stream, team, domain, team_id: teamId, domain_id: domainId } = given
  const pool = textOf(given.pool) || argument(given)
  const mail = textOf(stream) === '' ? 'mail' : `${textOf(stream)} mail`
  const from = domain ?? domainId
  const of = team ?? teamId
  if (textOf(from) !== '') return `the pool${quoted(pool)} ${preposition} ${mail} from ${textOf(from)}`
  if (textOf(of) !== '') return `the pool${quoted(pool)} ${preposition} ${mail} of the team ${textOf(of)}`
  return `the pool${quoted(pool)} ${preposition} all ${mail}`
}

/** Filters that are IDs, which sentences omit because they mean nothing to people. */
const IDS = ['team_id', 'email_id', 'id', 'touched_by']

function queued(past: string, bare: string, { after: done, details }: Facts): Phrase {
  const count = numberOf(done.count)
  const deliveries = count === undefined ? 'queued deliveries' : many(count, 'delivery', 'deliveries')
  const conditions = Object.entries(asObject(details.filter))
    .filter(([name]) => !IDS.includes(name))
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${textOf(value)}`)
  const where = conditions.length === 0 ? '' : ` (${conditions.join(', ')})`
  const kept = details.new === true ? ' and new mail like them' : ''
  const why = textOf(details.reason) === '' ? '' : ' after a restore from a backup'
  const undoing = textOf(details.undoes) === '' ? '' : ' by undoing an earlier change'
  const broken = done.broken_off === true ? ', then was interrupted' : ''
  const object = `${deliveries}${where}${kept}${after(' to the pool', details.pool)}${why}${undoing}${broken}`
  return [past, bare, object]
}

function method({ method: by }: Fields): string {
  const [kind, provider] = textOf(by).split(':')
  if (kind === 'oidc') return `with ${provider}`
  return kind === '' ? '' : `with a ${kind}`
}

/** Your own session has no name; `deleted` counts all others. */
function sessions(name: string, { deleted }: Fields): string {
  if (name !== UNKNOWN) return 'of another session'
  return typeof deleted === 'number' ? 'of all other sessions' : ''
}

function sourceChange(facts: Facts): Phrase {
  const { name, before, after: made } = facts
  if (before.state !== made.state && made.state === 'suspended')
    return ['suspended', 'suspend', `the sending IP ${name}`]
  if (before.state === 'suspended' && made.state !== undefined && made.state !== 'suspended')
    return ['resumed', 'resume', `the sending IP ${name}`]
  return buildChangePhrase(facts, `the sending IP ${name}`)
}

function webhookChange(facts: Facts): Phrase {
  const { name, before, after: made } = facts
  if (before.status !== made.status && made.status === 'disabled')
    return ['disabled', 'disable', `the webhook ${name}`]
  if (before.status !== made.status && made.status === 'enabled')
    return ['enabled', 'enable', `the webhook ${name}`]
  return buildChangePhrase(facts, `the webhook ${name}`)
}

function events({ object, events: count }: Fields): string {
  if (object === 'webhook_event') return '1 event'
  return typeof count === 'number' ? many(count, 'event', 'events') : 'events'
}

/** Describes only ids and counts, because the log names no recipients. */
function addresses({ id, ids }: Fields): string {
  if (Array.isArray(ids)) return many(lengthOf(ids), 'address', 'addresses')
  return textOf(id) === '' ? 'addresses' : '1 address'
}

/** Returns the original length of a stored list. A shortened list ends with the number of omitted items. */
function lengthOf(ids: readonly unknown[]): number {
  const left = /^\[and (\d+) more\]$/.exec(textOf(ids.at(-1)))?.[1]
  return left === undefined ? ids.length : ids.length - 1 + Number(left)
}

function added({ added: count }: Fields): string {
  return typeof count === 'number' ? ` with ${many(count, 'new address', 'new addresses')}` : ''
}
