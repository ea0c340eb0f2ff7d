import { describe, expect, test } from 'vitest'
import {
  emptyLedger,
  type Copy,
  type Kill,
  type Ledger,
  type Sent,
} from '../../../appliance/crashtest/ledger.ts'
import { isSound, judgeLedger } from '../../../appliance/crashtest/verdict.ts'

const RECIPIENT = 'user-r1-0@crash1.test'

const rest = (change: Partial<Sent> = {}): Sent => ({
  mark: 'r1',
  recipients: [RECIPIENT],
  ids: ['id-1'],
  tries: [],
  refused: null,
  at: 500,
  batch: null,
  notBefore: null,
  ...change,
})

const copy = (change: Partial<Copy> = {}): Copy => ({
  mark: 'r1',
  recipient: RECIPIENT,
  messageId: '<id-1@sender.test>',
  run: 1,
  at: 1000,
  connection: 1,
  whole: true,
  ...change,
})

const killed = (change: Partial<Kill>): Kill => ({
  number: 1,
  runs: [1],
  how: 'random',
  at: 1100,
  until: null,
  conversations: 3,
  inFlight: 4,
  freedMs: null,
  ...change,
})

const ledger = (change: Partial<Ledger>): Ledger => ({
  ...emptyLedger(),
  kills: [killed({ how: 'remote-250', at: 1100, conversations: 3, inFlight: 4 })],
  sent: [rest()],
  quit: new Set([1]),
  ...change,
})

describe('what an accepted email must come to', () => {
  test('one copy is delivered', () => {
    const verdict = judgeLedger(ledger({ copies: [copy()] }))
    expect(verdict).toMatchObject({ accepted: 1, expected: 1, delivered: 1, bounced: 0, lost: [], twice: [] })
    expect(isSound(verdict)).toBe(true)
  })

  test('a refusal by the exchanger is a bounce', () => {
    const verdict = judgeLedger(ledger({ rejected: new Set([RECIPIENT]) }))
    expect(verdict).toMatchObject({ delivered: 0, bounced: 1, lost: [] })
    expect(isSound(verdict)).toBe(true)
  })

  test('neither is a loss, which fails the test', () => {
    const verdict = judgeLedger(ledger({}))
    expect(verdict.lost).toEqual([`r1 ${RECIPIENT}`])
    expect(isSound(verdict)).toBe(false)
  })

  test('one that was never answered may be missing', () => {
    const verdict = judgeLedger(ledger({ sent: [rest({ ids: [] })] }))
    expect(verdict).toMatchObject({ accepted: 0, lost: [] })
  })

  test('both at once is wrong', () => {
    const verdict = judgeLedger(ledger({ copies: [copy()], rejected: new Set([RECIPIENT]) }))
    expect(verdict.wrong).toEqual([`r1 ${RECIPIENT}: delivered and refused`])
  })

  test('a copy with another text, one that nobody sent, and one for somebody else are wrong', () => {
    const copies = [copy({ whole: false }), copy({ mark: 'x' }), copy({ recipient: 'other@crash1.test' })]
    expect(judgeLedger(ledger({ copies })).wrong.toSorted()).toEqual([
      'r1 other@crash1.test: not one of its recipients',
      `r1 ${RECIPIENT}: arrived with another text`,
      `x ${RECIPIENT}: nobody sent it`,
    ])
  })

  test('an email that was refused for good fails the test', () => {
    const verdict = judgeLedger(ledger({ sent: [rest({ ids: [], refused: '422 no' })] }))
    expect(verdict.refused).toEqual(['r1: 422 no'])
    expect(isSound(verdict)).toBe(false)
  })
})

describe('second copies', () => {
  test('a kill soon after the 250 explains one in a later run, and is named', () => {
    const verdict = judgeLedger(ledger({ copies: [copy({ run: 2, at: 9000 }), copy()] }))
    expect(verdict.duplicates).toEqual([{ mark: 'r1', recipient: RECIPIENT, copies: 2, kills: [1] }])
    expect(verdict).toMatchObject({ delivered: 1, mostOfOneKill: { kill: 1, copies: 1, inFlight: 4 } })
    expect(isSound(verdict)).toBe(true)
  })

  test.each([
    ['in the same run', copy({ run: 1, at: 1050 })],
    ['where the run of the first was not killed', copy({ run: 4, at: 9000 })],
  ])('one %s is not explained', (_, second) => {
    const first = second.run === 4 ? copy({ run: 3 }) : copy()
    const verdict = judgeLedger(ledger({ copies: [first, second] }))
    expect(verdict.duplicates[0]!.kills).toBeNull()
    expect(isSound(verdict)).toBe(false)
  })

  test('a kill long after the 250 explains nothing: the delivery was settled', () => {
    const late = [killed({ how: 'random', at: 61_000, conversations: 0, inFlight: null })]
    const verdict = judgeLedger(ledger({ kills: late, copies: [copy(), copy({ run: 2, at: 70_000 })] }))
    expect(verdict.duplicates[0]!.kills).toBeNull()
  })

  describe('where a kill came long after the 250', () => {
    const kills = [killed({ how: 'random', at: 61_000, conversations: 1, inFlight: null })]
    const others = (...marks: string[]) =>
      marks.map((mark, n) => ({ mark, recipient: `user-${mark}-0@crash1.test`, at: 2000 + n }))
    /**
     * Reports whether a copy on a connection without an end is explained, if these messages were sent on it afterwards.
     */
    const explained = (...after: string[]) => {
      const later = others(...after)
      const sent = [rest(), ...later.map(({ mark, recipient }) => rest({ mark, recipients: [recipient] }))]
      const copies = [copy(), ...later.map((one) => copy(one)), copy({ run: 2, connection: 2, at: 70_000 })]
      const verdict = judgeLedger(ledger({ kills, sent, copies, quit: new Set([2]) }))
      return verdict.duplicates[0]!.kills !== null
    }

    test('the last two messages of a connection that it broke may not be stored', () => {
      expect([explained(), explained('r2')]).toEqual([true, true])
    })

    test('the one before those was', () => {
      expect(explained('r2', 'r3')).toBe(false)
    })
  })

  test('one that the endpoint was told of as delivered before the kill was settled: nothing explains it', () => {
    const told = [{ id: 'e1', emailId: 'id-1', type: 'email.delivered', at: 1050, to: [RECIPIENT] }]
    const copies = [copy(), copy({ run: 2, at: 9000 })]
    expect(judgeLedger(ledger({ copies, told })).duplicates[0]!.kills).toBeNull()
    const later = told.map((one) => ({ ...one, at: 9100 }))
    expect(judgeLedger(ledger({ copies, told: later })).duplicates[0]!.kills).toEqual([1])
  })

  describe('of one kill', () => {
    const marks = ['r1', 'r2', 'r3']
    const recipients = marks.map((mark) => `user-${mark}-0@crash1.test`)
    const sent = marks.map((mark, n) => rest({ mark, recipients: [recipients[n]!], ids: [`id-${n}`] }))
    const copies = [1, 2].flatMap((run) =>
      marks.map((mark, n) =>
        copy({ mark, run, at: run * 1050, recipient: recipients[n]!, messageId: `<id-${n}@sender.test>` }),
      ),
    )
    const judged = (inFlight: number | null) =>
      judgeLedger(
        ledger({
          kills: [killed({ how: 'random', at: 1100, conversations: 3, inFlight })],
          sent,
          copies,
        }),
      )

    test('there are as many as deliveries were in flight, where the next start told', () => {
      for (const inFlight of [3, 4, null]) {
        expect(judged(inFlight)).toMatchObject({
          beyond: [],
          mostOfOneKill: { kill: 1, copies: 3, inFlight },
        })
        expect(isSound(judged(inFlight))).toBe(true)
      }
    })

    test('more than that fail the test', () => {
      expect(judged(2).beyond).toEqual([{ kill: 1, copies: 3, inFlight: 2 }])
      expect(isSound(judged(2))).toBe(false)
    })
  })

  describe('of a node that was stopped and continued', () => {
    const kills = [killed({ until: 21_000 })]
    const explained = (first: Partial<Copy>, second: Partial<Copy>) => {
      const copies = [copy(first), copy(second)]
      return judgeLedger(ledger({ kills, copies })).duplicates[0]!.kills !== null
    }

    test('those that it or another node sends again are explained', () => {
      expect(explained({}, { run: 2, at: 20_000 })).toBe(true)
      expect(explained({}, { run: 1, at: 30_000 })).toBe(true)
    })

    test('those are not that it sends although another node took over', () => {
      expect(explained({ run: 2, at: 20_000 }, { run: 1, at: 21_050 })).toBe(false)
      expect(explained({ run: 1, at: 21_050 }, { run: 2, at: 27_000 })).toBe(false)
    })

    test('those are not that it sent before it was stopped', () => {
      expect(explained({ run: 1, at: 1000 }, { run: 1, at: 1050 })).toBe(false)
    })
  })

  test('of three copies each needs its kill', () => {
    const copies = [copy(), copy({ run: 2, at: 2000 }), copy({ run: 3, at: 3000 })]
    expect(judgeLedger(ledger({ copies })).duplicates[0]!.kills).toBeNull()
  })
})

describe('leases of a node that disappeared', () => {
  const judged = (...freedMs: (number | null)[]) =>
    judgeLedger(
      ledger({ copies: [copy()], kills: freedMs.map((ms, at) => killed({ number: at + 1, freedMs: ms })) }),
    )

  test('the longest time until they were freed is known', () => {
    expect(judged(null).longestFreeMs).toBeNull()
    expect(judged(16_000, 20_000, null)).toMatchObject({ longestFreeMs: 20_000, freedLate: [] })
  })

  test('more than 20 seconds fail the test', () => {
    const verdict = judged(16_000, 20_001)
    expect(verdict).toMatchObject({ longestFreeMs: 20_001, freedLate: [2] })
    expect(isSound(verdict)).toBe(false)
  })
})

describe('idempotency keys', () => {
  test('two ids for one key are one too many', () => {
    expect(judgeLedger(ledger({ sent: [rest({ ids: ['id-1', 'id-2'] })], copies: [copy()] })).twice).toEqual([
      'r1',
    ])
  })

  test('so are two emails at the exchangers, whatever was answered', () => {
    const copies = [copy(), copy({ messageId: '<id-9@sender.test>', run: 2, at: 1200 })]
    expect(judgeLedger(ledger({ copies })).twice).toEqual(['r1'])
  })

  test('and an email that is not the one whose id was answered', () => {
    expect(judgeLedger(ledger({ copies: [copy({ messageId: '<id-9@sender.test>' })] })).twice).toEqual(['r1'])
  })
})

describe('mail that is not to go at once', () => {
  const hold = { domain: 'crash1.test', from: 400, until: 2000 }

  test('a scheduled one that comes at its time or later is as it must be', () => {
    const verdict = judgeLedger(ledger({ sent: [rest({ notBefore: 1000 })], copies: [copy()] }))
    expect(verdict).toMatchObject({ scheduled: 1, delivered: 1, wrong: [] })
  })

  test('before its time is wrong', () => {
    const verdict = judgeLedger(ledger({ sent: [rest({ notBefore: 1250 })], copies: [copy()] }))
    expect(verdict.wrong).toEqual([`r1 ${RECIPIENT}: delivered 250 ms before its time`])
    expect(isSound(verdict)).toBe(false)
  })

  test('one that was sent after a hold was acknowledged must wait for the release', () => {
    const late = judgeLedger(ledger({ holds: [hold], copies: [copy({ at: 2000 })] }))
    expect(late).toMatchObject({ held: 1, delivered: 1, wrong: [] })
    const early = judgeLedger(ledger({ holds: [hold], copies: [copy({ at: 1999 })] }))
    expect(early).toMatchObject({ held: 1, wrong: [`r1 ${RECIPIENT}: delivered while its domain was held`] })
  })

  test('a hold that was never released holds to the end', () => {
    const verdict = judgeLedger(ledger({ holds: [{ ...hold, until: null }], copies: [copy()] }))
    expect(verdict.wrong).toEqual([`r1 ${RECIPIENT}: delivered while its domain was held`])
  })

  test.each([
    ['another domain', { ...hold, domain: 'crash2.test' }],
    ['mail that was begun before it', { ...hold, from: 501 }],
    ['mail that was begun after it', { ...hold, from: 100, until: 500 }],
  ])('a hold says nothing of %s', (_, one) => {
    const verdict = judgeLedger(ledger({ holds: [one], copies: [copy()] }))
    expect(verdict).toMatchObject({ held: 0, wrong: [] })
  })

  test('one that was held and never came is lost', () => {
    expect(judgeLedger(ledger({ holds: [hold] })).lost).toEqual([`r1 ${RECIPIENT}`])
  })
})

test('the emails of a batch are counted, and each has to have its own id', () => {
  const second = { mark: 'r2', recipients: ['user-r2-0@crash1.test'], ids: ['id-2'], batch: 'r1' }
  const sent = [rest({ batch: 'r1' }), rest(second)]
  const copies = [
    copy(),
    copy({ mark: 'r2', recipient: 'user-r2-0@crash1.test', messageId: '<id-1@a.test>' }),
  ]
  expect(judgeLedger(ledger({ sent, copies }))).toMatchObject({ batched: 2, twice: ['r2'] })
})

describe('SMTP, which has no such keys', () => {
  const tries = [
    { mark: 's1.1', run: 1, accepted: false },
    { mark: 's1.2', run: 2, accepted: true },
  ]
  const sent = [rest({ mark: 's1', ids: [], tries })]
  const second = copy({ mark: 's1.2', messageId: '<b@sender.test>', run: 2, at: 2000 })

  test('a try without an answer need not arrive', () => {
    const verdict = judgeLedger(ledger({ sent, copies: [second] }))
    expect(verdict).toMatchObject({ accepted: 1, delivered: 1, resent: 0, lost: [] })
  })

  test('where it does, the email was sent twice by its client, whose answer a kill took', () => {
    const copies = [copy({ mark: 's1.1', messageId: '<a@sender.test>' }), second]
    const verdict = judgeLedger(ledger({ sent, copies }))
    expect(verdict).toMatchObject({ accepted: 1, delivered: 1, resent: 1, duplicates: [], wrong: [] })
  })

  test('without a kill there is no excuse', () => {
    const copies = [copy({ mark: 's1.1', messageId: '<a@sender.test>' }), second]
    const verdict = judgeLedger(ledger({ kills: [], sent, copies }))
    expect(verdict.wrong).toEqual(['s1.1: accepted without an answer, and no kill took it'])
  })
})
