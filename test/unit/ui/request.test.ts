import { expect, test } from 'vitest'
import type { LogSummary } from '../../../appliance/api/logs.ts'
import { parseParameters, describeRequest } from '../../../ui/src/state/request.ts'

const log = (more: Partial<LogSummary>): LogSummary => ({
  id: '',
  created_at: '',
  endpoint: '/emails',
  method: 'GET',
  response_status: 200,
  user_agent: null,
  api_key_id: '',
  duration_ms: 1,
  ip: '',
  query: null,
  enhanced_code: null,
  message: null,
  envelope: null,
  ...more,
})

test.each<[Partial<LogSummary>, words: string, query: string, port: string | null]>([
  [{}, '/emails', '', null],
  [{ query: 'limit=0&to=a%40b.example' }, '/emails', '?limit=0&to=a@b.example', null],
  [{ query: 'q=%E0%A4%A' }, '/emails', '?q=%E0%A4%A', null],
  [{ method: 'SMTP', endpoint: 'smtp://587 MAIL FROM:<a@b.example>' }, 'MAIL FROM:<a@b.example>', '', '587'],
  [{ method: 'SMTP', endpoint: 'smtp://25 AUTH' }, 'AUTH, no message', '', '25'],
  [
    {
      method: 'SMTP',
      endpoint: 'smtp://25 RCPT TO:<x@y.example>',
      envelope: { mail_from: 'a@b.example', rcpt_to: [], recipients: 0 },
    },
    ...(['RCPT TO:<x@y.example>', '', '25'] as const),
  ],
  [
    {
      method: 'SMTP',
      endpoint: 'smtp://587 DATA',
      envelope: { mail_from: 'a@b.example', rcpt_to: ['c@d.example'], recipients: 1 },
    },
    ...(['a@b.example → c@d.example', '', '587'] as const),
  ],
])('shows %j as “%s%s”', (more, words, query, port) => {
  expect(describeRequest(log(more))).toEqual({ method: more.method ?? 'GET', words, query, port })
})

test('parses a query string into names and values in order', () => {
  expect(parseParameters('b=1&a=x%20y&b=')).toEqual([
    ['b', '1'],
    ['a', 'x y'],
    ['b', ''],
  ])
  expect(parseParameters(null)).toEqual([])
})
