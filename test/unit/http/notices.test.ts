import { afterEach, expect, test } from 'vitest'
import type { Notice } from '../../../appliance/intake/intake.ts'
import { createLogger } from '../../../appliance/watch/log.ts'
import { owner, startApi, type Api } from './harness.ts'
import { createNoticeSender } from '../../../appliance/intake/notice.ts'

/** Tests what happens to mail of the appliance itself. */

let api: Api | undefined
afterEach(async () => {
  await api?.close()
  api = undefined
})

const notice: Notice = {
  kind: 'invitation',
  to: 'ada@reader.example',
  subject: 'Hello',
  paragraphs: ['Hello.'],
  action: null,
  after: [],
}

const senderFor = async (opened: Api, from?: string) => {
  const { storage, clock } = opened
  const sent: { from: string; tags: unknown; tracking: unknown }[] = []
  const accept = async ({ submissions }: { submissions: unknown }) => {
    sent.push(...(submissions as typeof sent))
    return { errors: [], replayed: false, ids: ['1'], used: { daily: null, monthly: 0 } }
  }
  const log = createLogger('fatal')
  const send = createNoticeSender({
    storage,
    clock,
    log,
    from,
    intake: { accept },
    hostname: 'mail.acme.example',
  })
  return { send, sent }
}

test('a notice is sent from the first team’s verified domain, as tagged transactional mail', async () => {
  api = await startApi()
  const { send, sent } = await senderFor(api)
  expect(await send(notice)).toEqual({ sent: true, emailId: '1' })
  expect(sent).toMatchObject([
    {
      from: { address: 'posthaste@acme.example', name: 'Posthaste' },
      stream: 'transactional',
      topicId: null,
      notice: true,
      tags: [{ name: 'notice', value: 'invitation' }],
    },
  ])
})

test('a notice is sent from the configured address', async () => {
  api = await startApi()
  const { send, sent } = await senderFor(api, 'mail@acme.example')
  await send(notice)
  expect(sent).toMatchObject([{ from: { address: 'mail@acme.example' } }])
})

test('returns a reason instead of sending a notice if the address is invalid, or no domain is verified', async () => {
  api = await startApi()
  const { send } = await senderFor(api)
  expect(await send({ ...notice, to: 'nobody' })).toEqual({
    sent: false,
    reason: 'the address is not valid',
  })
  const { id } = api.domain
  await api.storage.saveDomainCheck({ teamId: api.teamId, id, status: 'failed', checks: [] }, api.clock.now())
  expect(await send(notice)).toEqual({
    sent: false,
    reason: 'the first team has no verified domain to send from',
  })
})

test("a notice doesn't count against the quota", async () => {
  api = await startApi({ plans: new Map([['unlimited', { name: 'unlimited', daily: 0, monthly: 0 }]]) })
  const answer = await fetch(`${api.url}/session/reset`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: owner.email }),
  })
  expect(answer.status).toBe(200)
  await expect.poll(() => api!.count()).toBe(1)
})
