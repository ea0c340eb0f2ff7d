import { describe, expect, test } from 'vitest'
import { buildRcptCommand } from '../../../appliance/delivery/extensions.ts'
import type { Notify } from '../../../appliance/mail/dsn.ts'

const to = 'ada@x.test'
const orcpt = 'rfc822;Ada+1@x.test'
const said = (notify: Notify | null, offers = ['DSN']): string =>
  buildRcptCommand(to, new Map(offers.map((keyword) => [keyword, ''])), {
    ret: null,
    envid: null,
    of: new Map([[to, { notify, orcpt }]]),
  })

describe('RCPT to a server that offers DSN (RFC 3461 §5.2.1)', () => {
  test.each<[Notify, string]>([
    ['NEVER', 'NEVER'],
    [['FAILURE'], 'FAILURE'],
    [['DELAY'], 'DELAY'],
    [['FAILURE', 'DELAY'], 'FAILURE,DELAY'],
  ])('passes on NOTIFY=%s to a server that offers DSN', (notify, passed) => {
    expect(said(notify)).toBe(`RCPT TO:<${to}> NOTIFY=${passed} ORCPT=rfc822;Ada+2B1@x.test`)
  })

  test.each<[Notify, string]>([
    [['SUCCESS'], 'NEVER'],
    [['SUCCESS', 'FAILURE'], 'FAILURE'],
    [['DELAY', 'SUCCESS', 'FAILURE'], 'DELAY,FAILURE'],
  ])('removes SUCCESS from NOTIFY=%s for a server that offers DSN', (notify, passed) => {
    expect(said(notify)).toBe(`RCPT TO:<${to}> NOTIFY=${passed} ORCPT=rfc822;Ada+2B1@x.test`)
  })

  test('sends no NOTIFY if the sender specified none', () => {
    expect(said(null)).toBe(`RCPT TO:<${to}> ORCPT=rfc822;Ada+2B1@x.test`)
  })
})

test('RCPT to a server without DSN has no DSN parameters (RFC 3461 §5.2.2 a)', () => {
  expect(said(['SUCCESS', 'FAILURE'], ['PIPELINING'])).toBe(`RCPT TO:<${to}>`)
})
