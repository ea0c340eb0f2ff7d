import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { ask, owner, startApi, type Answer, type Api } from './harness.ts'

interface Entry {
  id: string
  sentence: string
  actor_name: string | null
  target_name: string | null
  team_id: string | null
  actor: string
  actor_kind: string
  ip: string | null
  action: string
  target: string
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
  outcome: string
  details: Record<string, unknown>
}

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

async function entries(query = ''): Promise<Entry[]> {
  const { status, json } = await api.call('GET', `/audit?limit=100${query}`)
  expect(status).toBe(200)
  return (json as { data: Entry[] }).data
}

/** Returns the audit entries that a request wrote. */
async function written(method: string, path: string, body?: unknown): Promise<[Answer, Entry[]]> {
  const known = new Set((await entries()).map(({ id }) => id))
  const answer = await api.call(method, path, body)
  return [answer, (await entries()).filter(({ id }) => !known.has(id))]
}

const idIn = ({ json }: Answer): string => (json as { id: string }).id

describe('the audit log', () => {
  test('the audit log has one entry for each change to a domain', async () => {
    const [made, [create, ...more]] = await written('POST', '/domains', { name: 'audit.example' })
    const id = idIn(made)
    expect(more).toEqual([])
    expect(create).toMatchObject({
      team_id: api.teamId,
      actor_kind: 'api_key',
      ip: '127.0.0.1',
      action: 'domain.create',
      target: `domain ${id}`,
      before: null,
      outcome: 'done',
      details: { name: 'audit.example' },
    })
    const [, changed] = await written('PATCH', `/domains/${id}`, { tls: 'enforced' })
    expect(changed).toMatchObject([
      {
        action: 'domain.update',
        target: `domain ${id}`,
        before: { tls: 'opportunistic' },
        after: { tls: 'enforced' },
      },
    ])
    const rest = [
      ['POST', `/domains/${id}/verify`, undefined, 'domain.verify'],
      ['POST', `/domains/${id}/dkim/rotate`, undefined, 'domain.rotate_dkim'],
      ['PUT', `/domains/${id}/bodies`, { keep: false }, 'domain.keep_bodies'],
      ['PUT', `/domains/${id}/receiving-rules`, { rules: [] }, 'domain.receiving_rules'],
      ['DELETE', `/domains/${id}`, undefined, 'domain.delete'],
    ] as const
    for (const [method, path, body, action] of rest) {
      const [{ status }, one] = await written(method, path, body)
      expect([status, one.map((entry) => [entry.action, entry.target])]).toEqual([
        200,
        [[action, `domain ${id}`]],
      ])
    }
    expect((await entries('&action=domain.delete'))[0]).toMatchObject({
      before: { name: 'audit.example' },
      after: { deleted: true },
    })
  })

  test('the audit log has one entry for each change to keys, webhooks, sending IPs and providers', async () => {
    const key = await written('POST', '/api-keys', { name: 'one' })
    const hook = await written('POST', '/webhooks', {
      endpoint: 'https://hooks.example/in?auth=swordfish',
      events: ['email.sent'],
    })
    const [keyId, hookId] = [idIn(key[0]), idIn(hook[0])]
    const all = [
      key,
      await written('PATCH', `/api-keys/${keyId}`, { name: 'two' }),
      await written('DELETE', `/api-keys/${keyId}`),
      hook,
      await written('PATCH', `/webhooks/${hookId}`, { status: 'disabled' }),
      await written('POST', `/webhooks/${hookId}/signing-secret/rotate`),
      await written('DELETE', `/webhooks/${hookId}`),
      await written('POST', '/sources', { ip: '127.0.0.1' }),
      await written('PATCH', '/providers/google', { connections: 3 }),
    ]
    expect(all.map(([, more]) => more.map(({ action, target }) => [action, target]))).toEqual([
      [['api_key.create', `api_key ${keyId}`]],
      [['api_key.update', `api_key ${keyId}`]],
      [['api_key.delete', `api_key ${keyId}`]],
      [['webhook.create', `webhook ${hookId}`]],
      [['webhook.update', `webhook ${hookId}`]],
      [['webhook.rotate_secret', `webhook ${hookId}`]],
      [['webhook.delete', `webhook ${hookId}`]],
      [['source.create', 'source 127.0.0.1']],
      [['provider.update', 'provider google']],
    ])
    expect(all[1]![1]).toMatchObject([{ before: { name: 'one' }, after: { name: 'two' } }])
    expect(all[8]![1]).toMatchObject([{ team_id: null, after: { id: 'google' } }])
  })

  test('the audit log has an entry for a refused change, but none for an invalid or unauthenticated request', async () => {
    const [missing, one] = await written('DELETE', `/domains/${newId(api.clock.now())}`)
    expect([missing.status, one]).toMatchObject([
      404,
      [{ action: 'domain.delete', outcome: 'refused', after: { refused: 'not_found' } }],
    ])
    expect((await written('POST', '/domains', { name: 5 }))[1]).toEqual([])
    const before = await entries()
    await ask(`${api.url}/domains`, 'POST', { name: 'x.example' })
    expect(await entries()).toEqual(before)
  })

  test('the audit log has no entry for reading, sending and previews', async () => {
    const hello = { from: 'hi@acme.example', to: ['bob@example.com'], subject: 'Hello', text: 'Hi' }
    expect((await written('POST', '/emails', hello))[1]).toEqual([])
    expect((await written('GET', '/domains'))[1]).toEqual([])
    const csv = 'email\ncarol@example.com\n'
    expect((await written('POST', '/suppressions/import', { csv, preview: true }))[1]).toEqual([])
  })

  test('the audit log contains no recipient addresses, because erasures do not change it', async () => {
    const [added, created] = await written('POST', '/suppressions', { email: 'carol@example.com' })
    expect(created).toMatchObject([{ target: `suppression ${idIn(added)}`, details: {} }])
    const [, imported] = await written('POST', '/suppressions/import', { csv: 'email\ndan@example.com\n' })
    expect(imported).toMatchObject([{ action: 'suppression.import', after: { lines: 1, added: 1 } }])
    await api.call('DELETE', '/suppressions/carol@example.com')
    expect(JSON.stringify(await entries())).not.toMatch(/carol@|dan@/)
  })
})

describe('signing in', () => {
  const headers = { origin: '', 'sec-fetch-site': 'same-origin' }
  const signIn = (email: string, password: string) =>
    ask(`${api.url}/session`, 'POST', { email, password }, headers)

  test('signing in is audited on success and failure, without the password', async () => {
    await signIn(owner.email, 'my old password')
    await signIn('my secret password', 'nothing')
    const { status } = await signIn(owner.email, owner.password)
    expect(status).toBe(200)
    const [right, nobody] = await entries('&action=session')
    expect(right).toMatchObject({
      actor: owner.email,
      actor_kind: 'user',
      outcome: 'done',
      details: { method: 'password' },
    })
    expect(nobody).toMatchObject({
      team_id: null,
      actor: '(not an address)',
      after: { refused: 'wrong_credentials' },
    })
    const wrong = (await entries('&action=session.create'))[2]
    expect(wrong).toMatchObject({ team_id: api.teamId, actor: owner.email, outcome: 'refused' })
  })
})

describe('the list of audit entries', () => {
  test('audit entries can be filtered by actor, action, target and time', async () => {
    const all = await entries()
    const only = (actions: Entry[]) => new Set(actions.map(({ action }) => action.split('.')[0]))
    expect(only(await entries('&action=webhook'))).toEqual(new Set(['webhook']))
    expect(only(await entries('&target=domain'))).toEqual(new Set(['domain']))
    expect(await entries('&target=google')).toHaveLength(1)
    expect(await entries('&actor=OWNER@')).toHaveLength(2)
    const until = new Date(api.clock.now() - 86_400_000).toISOString()
    expect(await entries(`&until=${until}`)).toEqual([])
    expect(await entries(`&since=${until}`)).toEqual(all)
    const { status, text } = await api.call('GET', '/audit?actr=x')
    expect([status, text.includes('`actr`')]).toEqual([422, true])
  })

  test('audit entries can be exported as CSV and JSON', async () => {
    const all = await entries()
    const csv = await api.call('GET', '/audit/export?action=webhook')
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="audit.csv"')
    expect(csv.text.split('\r\n').filter((line) => line.includes(',webhook.'))).toHaveLength(4)
    expect((await api.call('GET', '/audit/export?format=json')).json).toEqual(all)
    expect((await api.call('GET', '/audit/export?format=json&actor=nobody')).json).toEqual([])
    expect((await api.call('GET', '/audit/export?format=xml')).status).toBe(422)
  })

  test('audit entries of other teams are hidden, and an unfinished action is shown as unknown', async () => {
    const id = newId(api.clock.now())
    const foreign = newId(api.clock.now())
    const who = { actor: 'x', actorKind: 'user', actorName: null, ip: null } as const
    const what = { action: 'domain.update', target: 'domain 1', targetName: null } as const
    const open = { ...who, ...what, at: api.clock.now(), before: null, after: null, details: {} }
    for (const one of [
      { ...open, id, teamId: api.teamId },
      { ...open, id: foreign, teamId: newId(api.clock.now()) },
    ])
      await api.storage.appendAudit({ entry: one }, api.clock.now())
    expect((await api.call('GET', `/audit/${id}`)).json).toMatchObject({ id, outcome: 'unknown' })
    expect((await api.call('GET', `/audit/${foreign}`)).status).toBe(404)
    expect((await entries()).some((one) => one.id === foreign)).toBe(false)
    expect((await api.call('GET', '/audit/export?format=json')).text).not.toContain(foreign)
  })

  test('audit entries contain no keys, secrets or passwords', async () => {
    const dump = JSON.stringify((await api.storage.listAudit({ limit: 1000 }, api.clock.now())).items)
    const secrets = [api.full, api.sending, owner.password, 'swordfish', 'my old password']
    for (const secret of [...secrets, 'my secret password']) expect(dump).not.toContain(secret)
    expect(dump).not.toMatch(/\bre_\w{8}|whsec_|PRIVATE KEY/)
  })
})

describe('the sentence of an audit entry', () => {
  test('the sentence of an audit entry says who did what, with names kept after the key or target is deleted', async () => {
    const { token, id } = (await api.call('POST', '/api-keys', { name: 'Deploy bot' })).json as {
      token: string
      id: string
    }
    const act = (method: string, path: string, body?: unknown) =>
      ask(`${api.url}${path}`, method, body, { authorization: `Bearer ${token}` })
    const domain = idIn(await act('POST', '/domains', { name: 'sentence.example' }))
    const hook = idIn(
      await act('POST', '/webhooks', { endpoint: 'https://hooks.example/sentence', events: ['email.sent'] }),
    )
    await act('POST', `/domains/${domain}/dkim/rotate`)
    await act('PUT', `/domains/${domain}/bodies`, { keep: false })
    await act('POST', `/webhooks/${hook}/signing-secret/rotate`)
    await act('POST', `/webhooks/${hook}/replay`, { since: '2026-01-01T00:00:00Z' })
    await act('DELETE', `/webhooks/${hook}`)
    await act('DELETE', `/domains/${domain}`)
    await act('DELETE', `/api-keys/${id}`)

    expect((await entries('&actor=deploy')).map(({ sentence }) => sentence)).toEqual([
      'API key “Deploy bot” deleted the API key “Deploy bot”',
      'API key “Deploy bot” deleted the domain sentence.example',
      'API key “Deploy bot” deleted the webhook https://hooks.example/sentence',
      'API key “Deploy bot” replayed 0 events to https://hooks.example/sentence',
      'API key “Deploy bot” rotated the signing secret of the webhook https://hooks.example/sentence',
      'API key “Deploy bot” stopped storing message bodies for sentence.example',
      'API key “Deploy bot” rotated DKIM for sentence.example',
      'API key “Deploy bot” added the webhook https://hooks.example/sentence',
      'API key “Deploy bot” added the domain sentence.example',
    ])
    const about = await entries('&target=SENTENCE.example')
    expect(about.map(({ action }) => action)).toEqual([
      'domain.delete',
      'domain.keep_bodies',
      'domain.rotate_dkim',
      'domain.create',
    ])
    expect(about[0]).toMatchObject({ actor: id, actor_name: 'Deploy bot', target_name: 'sentence.example' })
  })

  test('the sentence of an audit entry ignores names in the request body', async () => {
    const names = { actor_name: 'The owner', target_name: 'paypal.example', actorName: 'x', targetName: 'y' }
    const [, [entry]] = await written('POST', '/domains', { name: 'honest.example', ...names })
    expect(entry).toMatchObject({ target_name: 'honest.example' })
    expect(entry!.sentence).toMatch(/^API key “.+” added the domain honest\.example$/)
    expect(entry!.sentence).not.toMatch(/owner|paypal/)
  })
})
