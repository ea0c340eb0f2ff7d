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

describe('an accepted email', () => {
  test('counts as delivered with one copy', () => {
    const verdict = judgeLedger(ledger({ copies: [copy()] }))
    expect(verdict).toMatchObject({ accepted: 1, expected: 1, delivered: 1, bounced: 0, lost: [], twice: [] })
    expect(isSound(verdict)).toBe(true)
  })

  test('counts as bounced when the exchanger refused it', () => {
    const verdict = judgeLedger(ledger({ rejected: new Set([RECIPIENT]) }))
    expect(verdict).toMatchObject({ delivered: 0, bounced: 1, lost: [] })
    expect(isSound(verdict)).toBe(true)
  })

  test('is lost without a copy or a refusal, which fails the test', () => {
    const verdict = judgeLedger(ledger({}))
    expect(verdict.lost).toEqual([`r1 ${RECIPIENT}`])
    expect(isSound(verdict)).toBe(false)
  })

  test('may be missing if its submission was never answered', () => {
    const verdict = judgeLedger(ledger({ sent: [rest({ ids: [] })] }))
    expect(verdict).toMatchObject({ accepted: 0, lost: [] })
  })

  test('is wrong when both delivered and refused', () => {
    const verdict = judgeLedger(ledger({ copies: [copy()], rejected: new Set([RECIPIENT]) }))
    expect(verdict.wrong).toEqual([`r1 ${RECIPIENT}: delivered and refused`])
  })

  test('is wrong with a changed text, an unknown sender or another recipient', () => {
    const copies = [copy({ whole: false }), copy({ mark: 'x' }), copy({ recipient: 'other@crash1.test' })]
    expect(judgeLedger(ledger({ copies })).wrong.toSorted()).toEqual([
      'r1 other@crash1.test: not one of its recipients',
      `r1 ${RECIPIENT}: arrived with another text`,
      `x ${RECIPIENT}: nobody sent it`,
    ])
  })

  test('that was permanently refused fails the test', () => {
    const verdict = judgeLedger(ledger({ sent: [rest({ ids: [], refused: '422 no' })] }))
    expect(verdict.refused).toEqual(['r1: 422 no'])
    expect(isSound(verdict)).toBe(false)
  })
})

describe('a second copy', () => {
  test('in a later run is explained by a kill soon after the 250', () => {
    const verdict = judgeLedger(ledger({ copies: [copy({ run: 2, at: 9000 }), copy()] }))
    expect(verdict.duplicates).toEqual([{ mark: 'r1', recipient: RECIPIENT, copies: 2, kills: [1] }])
    expect(verdict).toMatchObject({ delivered: 1, mostOfOneKill: { kill: 1, copies: 1, inFlight: 4 } })
    expect(isSound(verdict)).toBe(true)
  })

  test.each([
    ['in the same run', copy({ run: 1, at: 1050 })],
    ['where the run of the first was not killed', copy({ run: 4, at: 9000 })],
  ])('%s is not explained', (_, second) => {
    const first = second.run === 4 ? copy({ run: 3 }) : copy()
    const verdict = judgeLedger(ledger({ copies: [first, second] }))
    expect(verdict.duplicates[0]!.kills).toBeNull()
    expect(isSound(verdict)).toBe(false)
  })

  test('is not explained by a kill long after the 250', () => {
    const late = [killed({ how: 'random', at: 61_000, conversations: 0, inFlight: null })]
    const verdict = judgeLedger(ledger({ kills: late, copies: [copy(), copy({ run: 2, at: 70_000 })] }))
    expect(verdict.duplicates[0]!.kills).toBeNull()
  })

  describe('with a kill long after the 250', () => {
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

    test('is explained for the last two messages of an interrupted connection', () => {
      expect([explained(), explained('r2')]).toEqual([true, true])
    })

    test('is not explained for earlier messages', () => {
      expect(explained('r2', 'r3')).toBe(false)
    })
  })

  test('is not explained if the endpoint received email.delivered before the kill', () => {
    const told = [{ id: 'e1', emailId: 'id-1', type: 'email.delivered', at: 1050, to: [RECIPIENT] }]
    const copies = [copy(), copy({ run: 2, at: 9000 })]
    expect(judgeLedger(ledger({ copies, told })).duplicates[0]!.kills).toBeNull()
    const later = told.map((one) => ({ ...one, at: 9100 }))
    expect(judgeLedger(ledger({ copies, told: later })).duplicates[0]!.kills).toEqual([1])
  })

  describe('for one kill', () => {
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

    test('is explained up to the number of deliveries in flight, if known', () => {
      for (const inFlight of [3, 4, null]) {
        expect(judged(inFlight)).toMatchObject({
          beyond: [],
          mostOfOneKill: { kill: 1, copies: 3, inFlight },
        })
        expect(isSound(judged(inFlight))).toBe(true)
      }
    })

    test('fails the test beyond that number', () => {
      expect(judged(2).beyond).toEqual([{ kill: 1, copies: 3, inFlight: 2 }])
      expect(isSound(judged(2))).toBe(false)
    })
  })

  describe('from a node that was paused and continued', () => {
    const kills = [killed({ until: 21_000 })]
    const explained = (first: Partial<Copy>, second: Partial<Copy>) => {
      const copies = [copy(first), copy(second)]
      return judgeLedger(ledger({ kills, copies })).duplicates[0]!.kills !== null
    }

    test('is explained if that node or another one sends it again', () => {
      expect(explained({}, { run: 2, at: 20_000 })).toBe(true)
      expect(explained({}, { run: 1, at: 30_000 })).toBe(true)
    })

    test('is not explained if sent after another node took over', () => {
      expect(explained({ run: 2, at: 20_000 }, { run: 1, at: 21_050 })).toBe(false)
      expect(explained({ run: 1, at: 21_050 }, { run: 2, at: 27_000 })).toBe(false)
    })

    test('is not explained if sent before the pause', () => {
      expect(explained({ run: 1, at: 1000 }, { run: 1, at: 1050 })).toBe(false)
    })
  })

  test('needs its own kill for each of three copies', () => {
    const copies = [copy(), copy({ run: 2, at: 2000 }), copy({ run: 3, at: 3000 })]
    expect(judgeLedger(ledger({ copies })).duplicates[0]!.kills).toBeNull()
  })
})

describe('leases of a lost node', () => {
  const judged = (...freedMs: (number | null)[]) =>
    judgeLedger(
      ledger({ copies: [copy()], kills: freedMs.map((ms, at) => killed({ number: at + 1, freedMs: ms })) }),
    )

  test('report the longest time until they were freed', () => {
    expect(judged(null).longestFreeMs).toBeNull()
    expect(judged(16_000, 20_000, null)).toMatchObject({ longestFreeMs: 20_000, freedLate: [] })
  })

  test('fail the test if freed after more than 20 seconds', () => {
    const verdict = judged(16_000, 20_001)
    expect(verdict).toMatchObject({ longestFreeMs: 20_001, freedLate: [2] })
    expect(isSound(verdict)).toBe(false)
  })
})

describe('an idempotency key', () => {
  test('with two IDs is a duplicate', () => {
    expect(judgeLedger(ledger({ sent: [rest({ ids: ['id-1', 'id-2'] })], copies: [copy()] })).twice).toEqual([
      'r1',
    ])
  })

  test('with two emails at the exchangers is a duplicate', () => {
    const copies = [copy(), copy({ messageId: '<id-9@sender.test>', run: 2, at: 1200 })]
    expect(judgeLedger(ledger({ copies })).twice).toEqual(['r1'])
  })

  test('with an email other than the one returned is a duplicate', () => {
    expect(judgeLedger(ledger({ copies: [copy({ messageId: '<id-9@sender.test>' })] })).twice).toEqual(['r1'])
  })
})

describe('scheduled and held mail', () => {
  const hold = { domain: 'crash1.test', from: 400, until: 2000 }

  test('is right when a scheduled email arrives at its time or later', () => {
    const verdict = judgeLedger(ledger({ sent: [rest({ notBefore: 1000 })], copies: [copy()] }))
    expect(verdict).toMatchObject({ scheduled: 1, delivered: 1, wrong: [] })
  })

  test('is wrong when a scheduled email arrives early', () => {
    const verdict = judgeLedger(ledger({ sent: [rest({ notBefore: 1250 })], copies: [copy()] }))
    expect(verdict.wrong).toEqual([`r1 ${RECIPIENT}: delivered 250 ms before its time`])
    expect(isSound(verdict)).toBe(false)
  })

  test('is wrong when it arrives before the release of an acknowledged hold', () => {
    const late = judgeLedger(ledger({ holds: [hold], copies: [copy({ at: 2000 })] }))
    expect(late).toMatchObject({ held: 1, delivered: 1, wrong: [] })
    const early = judgeLedger(ledger({ holds: [hold], copies: [copy({ at: 1999 })] }))
    expect(early).toMatchObject({ held: 1, wrong: [`r1 ${RECIPIENT}: delivered while its domain was held`] })
  })

  test('is wrong when it arrives under a hold that was never released', () => {
    const verdict = judgeLedger(ledger({ holds: [{ ...hold, until: null }], copies: [copy()] }))
    expect(verdict.wrong).toEqual([`r1 ${RECIPIENT}: delivered while its domain was held`])
  })

  test.each([
    ['another domain', { ...hold, domain: 'crash2.test' }],
    ['mail that was submitted before it', { ...hold, from: 501 }],
    ['mail that was submitted after it', { ...hold, from: 100, until: 500 }],
  ])('is not affected by a hold for %s', (_, one) => {
    const verdict = judgeLedger(ledger({ holds: [one], copies: [copy()] }))
    expect(verdict).toMatchObject({ held: 0, wrong: [] })
  })

  test('is lost when it never arrives', () => {
    expect(judgeLedger(ledger({ holds: [hold] })).lost).toEqual([`r1 ${RECIPIENT}`])
  })
})

test('the emails of a batch are counted, and each needs its own ID', () => {
  const second = { mark: 'r2', recipients: ['user-r2-0@crash1.test'], ids: ['id-2'], batch: 'r1' }
  const sent = [rest({ batch: 'r1' }), rest(second)]
  const copies = [
    copy(),
    copy({ mark: 'r2', recipient: 'user-r2-0@crash1.test', messageId: '<id-1@a.test>' }),
  ]
  expect(judgeLedger(ledger({ sent, copies }))).toMatchObject({ batched: 2, twice: ['r2'] })
})

describe('an SMTP submission', () => {
  const tries = [
    { mark: 's1.1', run: 1, accepted: false },
    { mark: 's1.2', run: 2, accepted: true },
  ]
  const sent = [rest({ mark: 's1', ids: [], tries })]
  const second = copy({ mark: 's1.2', messageId: '<b@sender.test>', run: 2, at: 2000 })

  test('without a reply may be missing', () => {
    const verdict = judgeLedger(ledger({ sent, copies: [second] }))
    expect(verdict).toMatchObject({ accepted: 1, delivered: 1, resent: 0, lost: [] })
  })

  test('without a reply that arrives counts as resent by the client, explained by a kill', () => {
    const copies = [copy({ mark: 's1.1', messageId: '<a@sender.test>' }), second]
    const verdict = judgeLedger(ledger({ sent, copies }))
    expect(verdict).toMatchObject({ accepted: 1, delivered: 1, resent: 1, duplicates: [], wrong: [] })
  })

  test('without a reply that arrives is wrong without a kill', () => {
    const copies = [copy({ mark: 's1.1', messageId: '<a@sender.test>' }), second]
    const verdict = judgeLedger(ledger({ kills: [], sent, copies }))
    expect(verdict.wrong).toEqual(['s1.1: accepted without an answer, and no kill took it'])
  })
})
