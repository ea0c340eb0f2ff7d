import type { Statement } from 'better-sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { methodsByNoun } from '../../../appliance/storage/nouns.ts'
import type { StoredEmail } from '../../../appliance/storage/spool/put.ts'
import type { Connection } from '../../../appliance/storage/sqlite/connection.ts'
import { change, leaseArgs, newAttempt, newEmail, T0 } from '../../contract/fixtures.ts'
import { openMemory } from './waiting.ts'

/**
 * Checks how many statements the hot methods run. On SQLite, each takes some microseconds. On a networked database,
 * each is a round trip. Raise a number here only on purpose.
 */

const TEAM = 'team'
let run = 0

/** Returns a connection that counts how often its statements run. */
function counted(db: Connection): Connection {
  const count = (statement: Statement): Statement =>
    new Proxy(statement, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        const method = value as (...args: unknown[]) => unknown
        return (...args: unknown[]) => {
          if (name === 'run' || name === 'get' || name === 'all' || name === 'iterate') run += 1
          const result = method.apply(target, args)
          return result === target ? count(target) : result
        }
      },
    })
  return new Proxy(db, {
    get(target, name) {
      if (name === 'prepare') return (sql: string) => count(target.prepare(sql))
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value
    },
  })
}

let put: ReturnType<typeof methodsByNoun.accepting.prepared.put>
let lease: ReturnType<typeof methodsByNoun.leasing.prepared.lease>
let settle: ReturnType<typeof methodsByNoun.settling.prepared.settle>

beforeEach(() => {
  const db = counted(openMemory())
  put = methodsByNoun.accepting.prepared.put(db)
  lease = methodsByNoun.leasing.prepared.lease(db)
  settle = methodsByNoun.settling.prepared.settle(db)
})

/** Counts the statements that `work` runs. */
function statements<T>(work: () => T): { result: T; count: number } {
  run = 0
  const result = work()
  return { result, count: run }
}

const stored = (recipients: string[]): StoredEmail => {
  const { message, ...email } = newEmail(TEAM, recipients)
  return { ...email, body: message, size: message.length }
}
const accept = (email: StoredEmail, quota = false) =>
  put(
    { emails: [email], receipt: null, quota: quota ? { teamId: TEAM, daily: 100, monthly: 100 } : null },
    T0,
  )

test('accepting an email with one recipient takes seven statements, and eleven with metrics', () => {
  expect(statements(() => accept(stored(['a@x.example']))).count).toBe(7)
  expect(statements(() => accept(stored(['b@x.example']), true)).count).toBe(11)
})

test('each further recipient takes two statements', () => {
  const counts = [1, 2, 10].map((many) => {
    const recipients = Array.from({ length: many }, (_, at) => `a${at}@x.example`)
    return statements(() => accept(stored(recipients))).count
  })
  expect(counts).toEqual([7, 9, 25])
})

test('a lease takes eight statements, whatever its size', () => {
  const leases = [1, 20, 200].map((limit) => {
    for (let at = 0; at < limit; at += 1) accept(stored([`a${at}@x${at}.example`]))
    const { result, count } = statements(() => lease(leaseArgs({ limit }), T0))
    return [result.length, count]
  })
  expect(leases).toEqual([
    [1, 8],
    [20, 8],
    [200, 8],
  ])
})

test('a lease takes ten statements if more is due than the heads of the streams', () => {
  for (let at = 0; at < 2000; at += 1) accept(stored([`a${at}@x${at % 300}.example`]))
  for (const limit of [1, 20, 200]) {
    const { result, count } = statements(() => lease(leaseArgs({ limit }), T0))
    expect([result.length, count]).toEqual([limit, 10])
  }
})

test('settling a delivered email takes five statements', () => {
  const email = newEmail(TEAM, ['a@x.example'])
  const { message, ...rest } = email
  accept({ ...rest, body: message, size: message.length })
  const [delivery] = lease(leaseArgs(), T0)
  const changes = [change(delivery!.id, 'delivered', 'email.delivered')]
  const settled = () => settle({ owner: 'one', attempt: newAttempt(email, [delivery!.id]), changes }, T0)
  expect(statements(settled)).toEqual({ result: { lost: [] }, count: 5 })
})
