import { expect, test } from 'vitest'
import { createLogger } from '../../../appliance/watch/log.ts'

function logged(line: object): Record<string, unknown> {
  const lines: string[] = []
  createLogger('info', { write: (text) => void lines.push(text) }).info(line, 'something happened')
  expect(lines).toHaveLength(1)
  return JSON.parse(lines[0]!) as Record<string, unknown>
}

test('a log line has a level name, an ISO time and its fields', () => {
  const { time, ...rest } = logged({ email_id: 'e1', counts: [1, 2] })
  expect(rest).toEqual({ level: 'info', email_id: 'e1', counts: [1, 2], msg: 'something happened' })
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test('secrets are removed from log lines, and the logged object is not changed', () => {
  const line = {
    token: 'tok-1',
    user: { id: 'u1', password: 'pass-1' },
    req: { headers: { authorization: 'Bearer auth-1', cookie: 'cook-1', accept: '*/*' } },
  }
  const text = JSON.stringify(line)
  expect(logged(line)).toMatchObject({
    token: '[removed]',
    user: { id: 'u1', password: '[removed]' },
    req: { headers: { authorization: '[removed]', cookie: '[removed]', accept: '*/*' } },
  })
  expect(JSON.stringify(line)).toBe(text)
})

test('logged errors keep message and stack, without secret fields', () => {
  const { err } = logged({
    err: Object.assign(new TypeError('no such host'), { code: 'ENOTFOUND', token: 'tok-2' }),
  })
  expect(err).toMatchObject({
    type: 'TypeError',
    message: 'no such host',
    code: 'ENOTFOUND',
    token: '[removed]',
  })
  expect((err as { stack: string }).stack).toContain('log.test.ts')
})

test('logs circular objects', () => {
  const self: Record<string, unknown> = { id: 'a' }
  self.self = self
  expect(logged({ self }).self).toMatchObject({ id: 'a' })
})
