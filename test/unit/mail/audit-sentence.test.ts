import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { AUDITED_COMMANDS } from '../../../appliance/commands/audited-command.ts'
import {
  describeAction,
  describeAuditEntry,
  type AuditSentenceInput,
} from '../../../appliance/mail/audit-sentence.ts'
import { AUDIT_ACTIONS, type AuditAction } from '../../../appliance/mail/audit.ts'
import { QUEUE_ACTIONS } from '../../../appliance/mail/queue.ts'

const ID = '0193c3e2-5a71-7000-8000-000000000001'

const said = (action: string, more: Partial<AuditSentenceInput> = {}): string =>
  describeAuditEntry({
    actor: 'ada@acme.com',
    actorKind: 'user',
    actorName: null,
    action,
    target: action.split('.', 1)[0]!,
    targetName: null,
    before: null,
    after: {},
    details: {},
    ...more,
  })

/** Returns every action that a route, a command or another part of the server names in its source. */
function writtenActions(): Set<string> {
  const root = join(import.meta.dirname, '../../../appliance')
  const sources = globSync('**/*.ts', { cwd: root, exclude: (path) => path === 'mail' }).map((file) =>
    readFileSync(join(root, file), 'utf8'),
  )
  const named = sources.flatMap((source) =>
    [
      ...source.matchAll(/(?:\b(?:action|audit): |\bcreateOperatorOptions\(deps, )'([a-z_]+\.[a-z_.]+)'/g),
    ].map((match) => match[1]!),
  )
  const choices = sources.flatMap((source) =>
    [...source.matchAll(/const action = .*'([a-z_]+\.[a-z_]+)' : '([a-z_]+\.[a-z_]+)'/g)].flatMap((match) =>
      match.slice(1),
    ),
  )
  const ofAccounts = sources.flatMap((source) =>
    [...source.matchAll(/\baudited\('([a-z_.]+)'\)/g)].map((match) => `account.${match[1]}`),
  )
  const ofCommands = Object.values(AUDITED_COMMANDS).map(({ action }) => action)
  const ofQueue = QUEUE_ACTIONS.map((action) => `queue.${action}`)
  return new Set([...named, ...choices, ...ofAccounts, ...ofCommands, ...ofQueue])
}

describe('the audit actions in the source', () => {
  test('the audit actions in the source match the documented list', () => {
    expect([...writtenActions()].toSorted()).toEqual([...AUDIT_ACTIONS])
  })

  test.each([...writtenActions()])(
    'the sentence for %s is complete, whichever facts are missing',
    (action) => {
      const facts: Partial<AuditSentenceInput>[] = [
        {},
        { after: null },
        { after: { refused: 'not_found' } },
        { target: `${action.split('.', 1)[0]} ${ID}`, before: { name: 'x' }, details: { name: 'y' } },
        { before: [1], after: [2], details: { arguments: [3], filter: 4, events: 'x' } },
      ]
      for (const more of facts) {
        const sentence = said(action, more)
        expect(sentence).toMatch(/^ada@acme\.com [a-z].*[^. ]$/)
        expect(sentence).not.toMatch(/undefined|null|NaN|\[object| {2}/)
        expect(sentence).not.toContain(action)
      }
    },
  )
})

test('shows an action of another version by its identifier', () => {
  expect(said('moon.land', { target: 'moon 1' })).toBe('ada@acme.com: moon.land (moon 1)')
})

test.each<[Partial<AuditSentenceInput>, string]>([
  [{}, 'ada@acme.com rotated DKIM for acme.com'],
  [{ actorKind: 'api_key', actor: ID, actorName: 'CI' }, 'API key “CI” rotated DKIM for acme.com'],
  [{ actorKind: 'api_key', actor: ID }, `API key ${ID} rotated DKIM for acme.com`],
  [{ actorKind: 'command', actor: 'root' }, 'root (command line) rotated DKIM for acme.com'],
  [{ actorKind: 'system', actor: 'restore' }, 'Posthaste rotated DKIM for acme.com'],
  [{ after: null }, 'ada@acme.com started to rotate DKIM for acme.com; the outcome is unknown'],
  [
    { after: { refused: 'not_found' } },
    'ada@acme.com tried to rotate DKIM for acme.com, but it was not found',
  ],
  [
    { after: { refused: 'rotation_under_way' } },
    'ada@acme.com tried to rotate DKIM for acme.com, but it was refused: rotation under way',
  ],
  [
    { after: { refused: 'The disk is full.' } },
    'ada@acme.com tried to rotate DKIM for acme.com, but it was refused: The disk is full',
  ],
  [{ targetName: null }, `ada@acme.com rotated DKIM for ${ID}`],
  [{ targetName: null, before: { name: 'old.acme.com' } }, 'ada@acme.com rotated DKIM for old.acme.com'],
])('an audit sentence states actor, target and outcome: %o', (more, sentence) => {
  const about = { target: `domain ${ID}`, targetName: 'acme.com' }
  expect(said('domain.rotate_dkim', { ...about, ...more })).toBe(sentence)
})

test.each<[AuditAction, Partial<AuditSentenceInput>, string]>([
  ['api_key.create', { details: { name: 'CI' }, target: `api_key ${ID}` }, 'created the API key “CI”'],
  [
    'api_key.update',
    { before: { name: 'CI' }, details: { name: 'Deploy' }, target: `api_key ${ID}` },
    'renamed the API key “CI” to “Deploy”',
  ],
  [
    'domain.update',
    {
      targetName: 'acme.com',
      before: { tls: 'opportunistic', status: 'pending' },
      after: { tls: 'enforced', status: 'verified' },
      details: { tls: 'enforced' },
    },
    'changed TLS of acme.com from opportunistic to enforced',
  ],
  [
    'domain.update',
    { targetName: 'acme.com', before: { open_tracking: false }, after: { open_tracking: true } },
    'turned on open tracking for acme.com',
  ],
  [
    'domain.keep_bodies',
    { targetName: 'acme.com', details: { keep: false } },
    'stopped storing message bodies for acme.com',
  ],
  [
    'domain.keep_bodies',
    { target: 'domain acme.com', details: { arguments: ['acme.com', 'keep'] } },
    'started storing message bodies for acme.com',
  ],
  [
    'webhook.update',
    { targetName: 'https://a.example/', before: { status: 'enabled' }, after: { status: 'disabled' } },
    'disabled the webhook https://a.example/',
  ],
  [
    'webhook.replay',
    { targetName: 'https://a.example/', after: { object: 'webhook', events: 2 } },
    'replayed 2 events to https://a.example/',
  ],
  ['suppression.create', { after: { ids: [ID, ID] } }, 'suppressed 2 addresses'],
  [
    'suppression.delete',
    { after: { ids: [...Array<string>(50).fill(ID), '[and 30 more]'] } },
    'removed 80 addresses from the suppression list',
  ],
  ['suppression.import', { after: { added: 1 } }, 'imported a suppression list with 1 new address'],
  [
    'queue.hold',
    { after: { count: 1204 }, details: { filter: { domain: 'x.example' }, new: true } },
    'held 1,204 deliveries (domain x.example) and new mail like them',
  ],
  [
    'queue.reroute',
    { after: { count: 1 }, details: { filter: {}, pool: 'bulk' } },
    'rerouted 1 delivery to the pool bulk',
  ],
  [
    'queue.release',
    { after: { count: 3 }, details: { undoes: ID } },
    'released 3 deliveries by undoing an earlier change',
  ],
  [
    'member.update',
    { before: { email: 'b@acme.com', role: 'viewer' }, details: { role: 'admin' }, target: `member ${ID}` },
    'changed the role of b@acme.com from viewer to admin',
  ],
  ['session.create', { details: { method: 'oidc:github' } }, 'signed in with github'],
  ['session.end', { target: `session ${ID}` }, 'signed out of another session'],
  ['session.end', { after: { deleted: 3 } }, 'signed out of all other sessions'],
  ['session.end', { after: { deleted: true } }, 'signed out'],
  ['team.rename', { before: { name: 'A' }, details: { name: 'B' } }, 'renamed the team “A” to “B”'],
  [
    'team.plan',
    { before: { plan: 'free' }, target: 'plan pro' },
    'changed the plan of the team from free to pro',
  ],
  ['archive.update', {}, 'changed the public archive'],
  ['form.create', { before: undefined, after: { name: 'News' } }, 'created the sign-up form “News”'],
  ['form.update', { before: { name: 'News' } }, 'changed the sign-up form “News”'],
  ['form.delete', { before: { name: 'News' } }, 'deleted the sign-up form “News”'],
  ['team.alerts', { after: { email: false } }, 'changed which alerts the team is notified of'],
  [
    'team.provider_rules',
    { before: { mode: 'warn' }, after: { mode: 'block' } },
    'changed what happens to mail that breaks provider rules from warn to block',
  ],
  ['team.security', { details: { mfa_required: true } }, 'started requiring two-step sign-in for the team'],
  [
    'source.update',
    { target: 'source 192.0.2.1', before: { state: 'active' }, after: { state: 'suspended' } },
    'suspended the sending IP 192.0.2.1',
  ],
  [
    'provider.update',
    {
      target: 'provider google',
      before: { name: 'Google', connections: 5 },
      after: { name: 'Google', connections: 3 },
    },
    'changed connections of Google from 5 to 3',
  ],
  [
    'lane.pause',
    {
      target: 'lane x',
      before: { source: '192.0.2.1', provider_name: 'Google' },
      details: { minutes: 30 },
    },
    'paused the lane 192.0.2.1 → Google for 30 minutes',
  ],
  [
    'region.fail_over',
    { target: 'region eu-west-1', after: { count: 12 }, details: { to: 'us-east-1' } },
    'moved the mail of the region eu-west-1 to us-east-1: 12 deliveries',
  ],
  ['region.restore', { target: 'region eu-west-1' }, 'restored the region eu-west-1'],
  [
    'pool.update',
    { target: 'pool news', before: { region: null }, after: { region: 'eu-west-1' } },
    'changed region of the pool news from none to eu-west-1',
  ],
  [
    'pool_assignment.delete',
    { before: { pool: 'bulk', team_id: null, domain_id: null, stream: 'broadcast' } },
    'removed the pool “bulk” from all broadcast mail',
  ],
])('the audit sentence for %s with %o is: %s', (action, more, sentence) => {
  expect(said(action, more)).toBe(`ada@acme.com ${sentence}`)
})

test('describes an action without its actor', () => {
  const entry: AuditSentenceInput = {
    actor: 'ada@acme.com',
    actorKind: 'user',
    actorName: null,
    before: null,
    after: {},
    details: {},
    action: 'domain.rotate_dkim',
    target: `domain ${ID}`,
    targetName: 'acme.com',
  }
  expect(describeAction(entry)).toBe('Rotated DKIM for acme.com')
  expect(describeAction({ ...entry, action: 'moon.land' })).toBe('moon.land')
})
