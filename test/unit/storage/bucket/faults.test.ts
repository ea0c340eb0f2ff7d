import { createHash } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { newId } from '../../../../appliance/mail/ids.ts'
import { MissingMessage } from '../../../../appliance/storage/bodies.ts'
import type { MessageBucket } from '../../../../appliance/storage/bucket/bucket.ts'
import { T0 } from '../../../contract/fixtures.ts'
import { openBucket, startScripted, type ScriptedServer, type Step, WRITER } from './scripted.ts'

const closing: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of closing.splice(0)) await one.close()
})

async function scripted(
  steps: Step[],
  options: Partial<Parameters<typeof openBucket>[0]> = {},
): Promise<{ server: ScriptedServer; bucket: MessageBucket }> {
  const server = await startScripted(steps)
  const bucket = openBucket({
    endpoint: server.endpoint,
    bucket: 'mail',
    limits: { pauseMs: 1 },
    ...options,
  })
  closing.push(bucket, server)
  return { server, bucket }
}

const sumOf = (text: string): string => createHash('sha256').update(text).digest('hex')
const failure = (status: number, code: string): Step => ({
  status,
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>No.</Message></Error>`,
})
const object = (text: string, sum = sumOf(text)): Step => ({
  status: 200,
  headers: { 'x-amz-meta-sha256': sum, 'x-amz-meta-writer': WRITER },
  body: text,
})
const id = newId(T0)
const key = `posthaste/${id.slice(-2)}/${id}`
const EXISTS = failure(412, 'PreconditionFailed')

describe('requests to the bucket', () => {
  test('sign the checksum of the message, and refuse to overwrite', async () => {
    const { server, bucket } = await scripted([{ status: 200 }])
    await bucket.put(id, Buffer.from('hello'))
    expect(server.requests).toMatchObject([
      {
        method: 'PUT',
        url: `/mail/${key}`,
        headers: {
          'content-length': '5',
          'if-none-match': '*',
          'x-amz-content-sha256': sumOf('hello'),
          'x-amz-meta-sha256': sumOf('hello'),
          'x-amz-meta-writer': WRITER,
        },
      },
    ])
    const { authorization = '' } = server.requests[0]!.headers
    expect(authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=key\/\d{8}\/us-east-1\/s3\/aws4_request, /)
    expect(authorization).toContain('x-amz-content-sha256')
    expect(JSON.stringify(server.requests[0]!.headers)).not.toContain('secret')
  })

  test('are repeated while the server is overloaded or drops connections', async () => {
    const { server, bucket } = await scripted([failure(503, 'SlowDown'), 'lost', { status: 200 }])
    await bucket.put(id, Buffer.from('hello'))
    expect(server.requests.map(({ body }) => body.toString())).toEqual(['hello', 'hello', 'hello'])
  })

  test('succeed if only the response to an earlier attempt was lost', async () => {
    const { bucket } = await scripted(['lost', EXISTS, object('hello')])
    await bucket.put(id, Buffer.from('hello'))
  })

  test('never replace another message', async () => {
    const { bucket } = await scripted([EXISTS, 'lost', EXISTS, object('other')])
    await expect(bucket.put(id, Buffer.from('hello'))).rejects.toThrow('already')
    await expect(bucket.put(id, Buffer.from('hello'))).rejects.toThrow('already')
  })

  test('fail as transient when the server never responds', async () => {
    const { server, bucket } = await scripted(Array<Step>(9).fill('silent'), {
      limits: { pauseMs: 1, idleMs: 50 },
    })
    await expect(bucket.put(id, Buffer.from('hello'))).rejects.toMatchObject({
      kind: 'transient',
      code: 'ETIMEDOUT',
      message: `The bucket mail at ${server.endpoint} can't be reached (ETIMEDOUT).`,
    })
    expect(server.requests.length).toBe(4)
  })
})

describe('reading from the bucket', () => {
  test('compares the message with its checksum, and reads it again if they differ', async () => {
    const { bucket } = await scripted([object('hellp', sumOf('hello')), object('hello')])
    expect(Buffer.from(await bucket.read(id)).toString()).toBe('hello')
    const damaged = object('hellp', sumOf('hello'))
    const again = await scripted([damaged, damaged])
    await expect(again.bucket.read(id)).rejects.toMatchObject({
      kind: 'damaged',
      message: expect.stringContaining(`The object ${key} in the bucket mail`) as string,
    })
  })

  test('tells a missing message from a missing bucket', async () => {
    const { bucket } = await scripted([failure(404, 'NoSuchKey'), failure(404, 'NoSuchBucket')])
    await expect(bucket.read(id)).rejects.toThrow(MissingMessage)
    await expect(bucket.read(id)).rejects.toMatchObject({ kind: 'transient', setting: 's3.bucket' })
  })
})

test.each([
  [403, 'InvalidAccessKeyId', 'transient', 's3.access_key_id'],
  [403, 'SignatureDoesNotMatch', 'transient', 's3.secret_access_key'],
  [403, 'AccessDenied', 'transient', 's3.access_key_id'],
  [404, 'NoSuchBucket', 'transient', 's3.bucket'],
  [301, 'PermanentRedirect', 'transient', 's3.region'],
  [400, 'AuthorizationHeaderMalformed', 'transient', 's3.region'],
  [403, 'RequestTimeTooSkewed', 'transient', null],
  [507, 'InsufficientStorage', 'full', null],
  [403, 'QuotaExceeded', 'full', null],
])('status %i %s is a failure of kind %s, to be fixed in %s', async (status, code, kind, setting) => {
  const { bucket } = await scripted([failure(status, code)])
  await expect(bucket.put(id, Buffer.from('hello'))).rejects.toMatchObject({
    kind,
    setting,
    message: expect.stringContaining(code) as string,
  })
})

test('the sweep deletes nothing while the database refers to no object, as during a restore', async () => {
  const orphan = newId(T0)
  const key = `posthaste/${orphan.slice(-2)}/${orphan}`
  const { server, bucket } = await scripted([
    {
      status: 200,
      headers: { date: 'Thu, 08 Jan 2026 01:00:00 GMT' },
      body: `<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents></ListBucketResult>`,
    },
  ])
  const existing = async (): Promise<string[]> => []
  expect(await bucket.sweep(existing, () => false)).toBe(0)
  expect(server.requests).toHaveLength(1)
})

test('the sweep reads all pages, and deletes only old objects that this server wrote', async () => {
  const [orphan, kept, foreign] = [newId(T0), newId(T0), newId(T0)]
  const keyOf = (one: string) => `posthaste/${one.slice(-2)}/${one}`
  const entry = (name: string, at = '2026-01-01T00:00:00.000Z') =>
    `<Contents><Key>${name}</Key><LastModified>${at}</LastModified></Contents>`
  const page = (entries: string[], more: string): Step => ({
    status: 200,
    headers: { date: 'Thu, 08 Jan 2026 01:00:00 GMT' },
    body: `<ListBucketResult>${more}${entries.join('')}</ListBucketResult>`,
  })
  const { server, bucket } = await scripted([
    page(
      [
        entry(keyOf(kept)),
        entry('posthaste/notes &amp; more'),
        entry(keyOf(newId(T0)), '2026-01-01T02:30:00.000Z'),
      ],
      '<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>',
    ),
    page([entry(keyOf(orphan)), entry(keyOf(foreign))], '<IsTruncated>false</IsTruncated>'),
    object('x'),
    { status: 204 },
    { status: 200, headers: { 'x-amz-meta-writer': 'cd'.repeat(8) } },
  ])
  const asked: string[] = []
  const existing = async (ids: string[]) => {
    asked.push(...ids)
    return ids.filter((one) => one === kept)
  }
  expect(await bucket.sweep(existing, () => false)).toBe(1)
  expect(asked).toEqual([kept, orphan, foreign])
  expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'GET /mail?list-type=2&max-keys=500&prefix=posthaste%2F',
    'GET /mail?list-type=2&max-keys=500&prefix=posthaste%2F&continuation-token=a%26b',
    `HEAD /mail/${keyOf(orphan)}`,
    `DELETE /mail/${keyOf(orphan)}`,
    `HEAD /mail/${keyOf(foreign)}`,
  ])
})
