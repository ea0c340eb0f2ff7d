import { describe, expect, test } from 'vitest'
import {
  createLedger,
  type AcceptedCopy,
  type Kill,
  type Ledger,
  type SentEmail,
} from '../../../appliance/crashtest/ledger.ts'
import { didPass, evaluateLedger } from '../../../appliance/crashtest/verdict.ts'

const RECIPIENT = 'user-r1-0@crash1.test'

const rest = (change: Partial<SentEmail> = {}): SentEmail => ({
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

const copy = (change: Partial<AcceptedCopy> = {}): AcceptedCopy => ({
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
  leased: null,
  freedMs: null,
  ...change,
})

const ledger = (change: Partial<Ledger>): Ledger => ({
  ...createLedger(),
  kills: [killed({ how: 'remote-250', at: 1100, conversations: 3, inFlight: 4 })],
  sent: [rest()],
  quit: new Set([1]),
  ...change,
})

describe('verdict on an accepted email', () => {
  test('an accepted email with one copy counts as delivered', () => {
    const verdict = evaluateLedger(ledger({ copies: [copy()] }))
    expect(verdict).toMatchObject({ accepted: 1, expected: 1, delivered: 1, bounced: 0, lost: [], twice: [] })
    expect(didPass(verdict)).toBe(true)
  })

  test('an accepted email that the exchanger rejected counts as bounced', () => {
    const verdict = evaluateLedger(ledger({ rejected: new Set([RECIPIENT]) }))
    expect(verdict).toMatchObject({ delivered: 0, bounced: 1, lost: [] })
    expect(didPass(verdict)).toBe(true)
  })

  test('an accepted email without a copy or a rejection is lost, which fails the test', () => {
    const verdict = evaluateLedger(ledger({}))
    expect(verdict.lost).toEqual([`r1 ${RECIPIENT}`])
    expect(didPass(verdict)).toBe(false)
  })

  test('an email may be missing if its submission was never answered', () => {
    const verdict = evaluateLedger(ledger({ sent: [rest({ ids: [] })] }))
    expect(verdict).toMatchObject({ accepted: 0, lost: [] })
  })

  test('an email that was both delivered and rejected is wrong', () => {
    const verdict = evaluateLedger(ledger({ copies: [copy()], rejected: new Set([RECIPIENT]) }))
    expect(verdict.wrong).toEqual([`r1 ${RECIPIENT}: delivered and refused`])
  })

  test('an email with a changed text, an unknown sender or another recipient is wrong', () => {
    const copies = [copy({ whole: false }), copy({ mark: 'x' }), copy({ recipient: 'other@crash1.test' })]
    expect(evaluateLedger(ledger({ copies })).wrong.toSorted()).toEqual([
      'r1 other@crash1.test: not one of its recipients',
      `r1 ${RECIPIENT}: arrived with another text`,
      `x ${RECIPIENT}: nobody sent it`,
    ])
  })

  test('a permanently rejected submission fails the test', () => {
    const verdict = evaluateLedger(ledger({ sent: [rest({ ids: [], refused: '422 no' })] }))
    expect(verdict.refused).toEqual(['r1: 422 no'])
    expect(didPass(verdict)).toBe(false)
  })
})

describe('a second copy', () => {
  test('a second copy in a later run is explained by a kill soon after the 250', () => {
    const verdict = evaluateLedger(ledger({ copies: [copy({ run: 2, at: 9000 }), copy()] }))
    expect(verdict.duplicates).toEqual([{ mark: 'r1', recipient: RECIPIENT, copies: 2, kills: [1] }])
    expect(verdict).toMatchObject({ delivered: 1, mostOfOneKill: { kill: 1, copies: 1, inFlight: 4 } })
    expect(didPass(verdict)).toBe(true)
  })

  test.each([
    ['in the same run', copy({ run: 1, at: 1050 })],
    ['where the run of the first was not killed', copy({ run: 4, at: 9000 })],
  ])('a second copy %s is not explained', (_, second) => {
    const first = second.run === 4 ? copy({ run: 3 }) : copy()
    const verdict = evaluateLedger(ledger({ copies: [first, second] }))
    expect(verdict.duplicates[0]!.kills).toBeNull()
    expect(didPass(verdict)).toBe(false)
  })

  test('a second copy is not explained by a kill long after the 250', () => {
    const late = [killed({ how: 'random', at: 61_000, conversations: 0, inFlight: null })]
    const verdict = evaluateLedger(ledger({ kills: late, copies: [copy(), copy({ run: 2, at: 70_000 })] }))
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
      const verdict = evaluateLedger(ledger({ kills, sent, copies, quit: new Set([2]) }))
      return verdict.duplicates[0]!.kills !== null
    }

    test('a late kill explains second copies of the last two messages of an interrupted connection', () => {
      expect([explained(), explained('r2')]).toEqual([true, true])
    })

    test('a late kill does not explain second copies of earlier messages', () => {
      expect(explained('r2', 'r3')).toBe(false)
    })
  })

  test('a second copy is not explained if the endpoint received email.delivered before the kill', () => {
    const told = [{ id: 'e1', emailId: 'id-1', type: 'email.delivered', at: 1050, to: [RECIPIENT] }]
    const copies = [copy(), copy({ run: 2, at: 9000 })]
    expect(evaluateLedger(ledger({ copies, told })).duplicates[0]!.kills).toBeNull()
    const later = told.map((one) => ({ ...one, at: 9100 }))
    expect(evaluateLedger(ledger({ copies, told: later })).duplicates[0]!.kills).toEqual([1])
  })

  describe('with a list of the deliveries in flight', () => {
    const explained = (change: Partial<Kill>, told: Ledger['told'] = []) => {
      const copies = [copy(), copy({ run: 2, at: 90_000 })]
      const verdict = evaluateLedger(ledger({ kills: [killed(change)], copies, told }))
      return [verdict.duplicates[0]!.kills !== null, didPass(verdict)]
    }
    const leased = [`id-1 ${RECIPIENT}`]

    test('a kill explains second copies of these deliveries, however long after the 250', () => {
      expect(explained({ leased, inFlight: 1 })).toEqual([true, true])
      expect(explained({ at: 61_000, leased, inFlight: 1 })).toEqual([true, true])
    })

    test('a kill does not explain second copies of others, however soon after the 250', () => {
      const others = [`id-2 ${RECIPIENT}`, 'id-1 other@crash1.test']
      expect(explained({ at: 1001, leased: others, inFlight: 2 })).toEqual([false, false])
      expect(explained({ at: 1001, leased: [], inFlight: 0 })).toEqual([false, false])
    })
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
      evaluateLedger(
        ledger({
          kills: [killed({ how: 'random', at: 1100, conversations: 3, inFlight })],
          sent,
          copies,
        }),
      )

    test('one kill explains as many second copies as there were deliveries in flight, if known', () => {
      for (const inFlight of [3, 4, null]) {
        expect(judged(inFlight)).toMatchObject({
          beyond: [],
          mostOfOneKill: { kill: 1, copies: 3, inFlight },
        })
        expect(didPass(judged(inFlight))).toBe(true)
      }
    })

    test('more second copies than deliveries in flight fail the test', () => {
      expect(judged(2).beyond).toEqual([{ kill: 1, copies: 3, inFlight: 2 }])
      expect(didPass(judged(2))).toBe(false)
    })
  })

  describe('from a node that was paused and continued', () => {
    const kills = [killed({ until: 21_000 })]
    const explained = (first: Partial<AcceptedCopy>, second: Partial<AcceptedCopy>) => {
      const copies = [copy(first), copy(second)]
      return evaluateLedger(ledger({ kills, copies })).duplicates[0]!.kills !== null
    }

    test('a second copy is explained if a node was paused and that node or another one sends it again', () => {
      expect(explained({}, { run: 2, at: 20_000 })).toBe(true)
      expect(explained({}, { run: 1, at: 30_000 })).toBe(true)
    })

    test('a second copy from a paused node is not explained if sent after another node took over', () => {
      expect(explained({ run: 2, at: 20_000 }, { run: 1, at: 21_050 })).toBe(false)
      expect(explained({ run: 1, at: 21_050 }, { run: 2, at: 27_000 })).toBe(false)
    })

    test('a second copy from a paused node is not explained if sent before the pause', () => {
      expect(explained({ run: 1, at: 1000 }, { run: 1, at: 1050 })).toBe(false)
    })
  })

  test('each further copy of an email needs its own kill as explanation', () => {
    const copies = [copy(), copy({ run: 2, at: 2000 }), copy({ run: 3, at: 3000 })]
    expect(evaluateLedger(ledger({ copies })).duplicates[0]!.kills).toBeNull()
  })
})

describe('leases of a lost node', () => {
  const judged = (...freedMs: (number | null)[]) =>
    evaluateLedger(
      ledger({ copies: [copy()], kills: freedMs.map((ms, at) => killed({ number: at + 1, freedMs: ms })) }),
    )

  test('reports the longest time until the leases of a lost node were freed', () => {
    expect(judged(null).longestFreeMs).toBeNull()
    expect(judged(16_000, 20_000, null)).toMatchObject({ longestFreeMs: 20_000, freedLate: [] })
  })

  test('leases freed after more than 20 seconds fail the test', () => {
    const verdict = judged(16_000, 20_001)
    expect(verdict).toMatchObject({ longestFreeMs: 20_001, freedLate: [2] })
    expect(didPass(verdict)).toBe(false)
  })
})

describe('an idempotency key', () => {
  test('an idempotency key with two IDs is a duplicate', () => {
    expect(
      evaluateLedger(ledger({ sent: [rest({ ids: ['id-1', 'id-2'] })], copies: [copy()] })).twice,
    ).toEqual(['r1'])
  })

  test('an idempotency key with two emails at the exchangers is a duplicate', () => {
    const copies = [copy(), copy({ messageId: '<id-9@sender.test>', run: 2, at: 1200 })]
    expect(evaluateLedger(ledger({ copies })).twice).toEqual(['r1'])
  })

  test('an idempotency key with an email other than the one returned is a duplicate', () => {
    expect(evaluateLedger(ledger({ copies: [copy({ messageId: '<id-9@sender.test>' })] })).twice).toEqual([
      'r1',
    ])
  })
})

describe('scheduled and held mail', () => {
  const hold = { domain: 'crash1.test', from: 400, until: 2000 }

  test('a scheduled email may arrive at its time or later', () => {
    const verdict = evaluateLedger(ledger({ sent: [rest({ notBefore: 1000 })], copies: [copy()] }))
    expect(verdict).toMatchObject({ scheduled: 1, delivered: 1, wrong: [] })
  })

  test('a scheduled email that arrives early is wrong', () => {
    const verdict = evaluateLedger(ledger({ sent: [rest({ notBefore: 1250 })], copies: [copy()] }))
    expect(verdict.wrong).toEqual([`r1 ${RECIPIENT}: delivered 250 ms before its time`])
    expect(didPass(verdict)).toBe(false)
  })

  test('a held email that arrives before the release of an acknowledged hold is wrong', () => {
    const late = evaluateLedger(ledger({ holds: [hold], copies: [copy({ at: 2000 })] }))
    expect(late).toMatchObject({ held: 1, delivered: 1, wrong: [] })
    const early = evaluateLedger(ledger({ holds: [hold], copies: [copy({ at: 1999 })] }))
    expect(early).toMatchObject({ held: 1, wrong: [`r1 ${RECIPIENT}: delivered while its domain was held`] })
  })

  test('a held email that arrives under a hold that was never released is wrong', () => {
    const verdict = evaluateLedger(ledger({ holds: [{ ...hold, until: null }], copies: [copy()] }))
    expect(verdict.wrong).toEqual([`r1 ${RECIPIENT}: delivered while its domain was held`])
  })

  test.each([
    ['another domain', { ...hold, domain: 'crash2.test' }],
    ['mail that was submitted before it', { ...hold, from: 501 }],
    ['mail that was submitted after it', { ...hold, from: 100, until: 500 }],
  ])('the verdict ignores a hold for %s', (_, one) => {
    const verdict = evaluateLedger(ledger({ holds: [one], copies: [copy()] }))
    expect(verdict).toMatchObject({ held: 0, wrong: [] })
  })

  test('a held email that never arrives is lost', () => {
    expect(evaluateLedger(ledger({ holds: [hold] })).lost).toEqual([`r1 ${RECIPIENT}`])
  })
})

test('the emails of a batch are counted, and each needs its own ID', () => {
  const second = { mark: 'r2', recipients: ['user-r2-0@crash1.test'], ids: ['id-2'], batch: 'r1' }
  const sent = [rest({ batch: 'r1' }), rest(second)]
  const copies = [
    copy(),
    copy({ mark: 'r2', recipient: 'user-r2-0@crash1.test', messageId: '<id-1@a.test>' }),
  ]
  expect(evaluateLedger(ledger({ sent, copies }))).toMatchObject({ batched: 2, twice: ['r2'] })
})

describe('an SMTP submission', () => {
  const tries = [
    { mark: 's1.1', run: 1, accepted: false },
    { mark: 's1.2', run: 2, accepted: true },
  ]
  const sent = [rest({ mark: 's1', ids: [], tries })]
  const second = copy({ mark: 's1.2', messageId: '<b@sender.test>', run: 2, at: 2000 })

  test('an SMTP submission without a reply may be missing', () => {
    const verdict = evaluateLedger(ledger({ sent, copies: [second] }))
    expect(verdict).toMatchObject({ accepted: 1, delivered: 1, resent: 0, lost: [] })
  })

  test('an SMTP submission that arrives without a reply counts as resent by the client, explained by a kill', () => {
    const copies = [copy({ mark: 's1.1', messageId: '<a@sender.test>' }), second]
    const verdict = evaluateLedger(ledger({ sent, copies }))
    expect(verdict).toMatchObject({ accepted: 1, delivered: 1, resent: 1, duplicates: [], wrong: [] })
  })

  test('an SMTP submission that arrives without a reply is wrong without a kill', () => {
    const copies = [copy({ mark: 's1.1', messageId: '<a@sender.test>' }), second]
    const verdict = evaluateLedger(ledger({ kills: [], sent, copies }))
    expect(verdict.wrong).toEqual(['s1.1: accepted without an answer, and no kill took it'])
  })
})
