/** The writing thread's connection. Statements run one after the other, and the thread blocks until each result. */
import {
  HandleEmptyInListsPlugin,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  replaceWithNoncontingentExpression,
} from 'kysely'
import type { Engine, Connection, Statement } from '../connection.ts'
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads'
import type { CommitRules } from '../engine/group-commit.ts'
import { isConflict, isOfStatement, toPostgresFailure, PostgresError } from './failures.ts'
import { KnownReads } from './read-cache.ts'
import { PendingInserts, type Reference } from './pending.ts'
import { type BoundStatement, bindValues, type InsertTemplate, translateStatement } from './texts.ts'
import type { PostgresTarget } from './client.ts'
import type {
  StatementResult,
  StatementRequest,
  OutgoingStatement,
  PostgresThreadData,
} from './postgres-wire.ts'
import type { DatabaseLock } from './server.ts'

/** Maximum time to wait for an answer, in milliseconds. No statement takes longer. */
const MOST_MS = 180_000

/** Maximum number of prepared texts. Lists of parameters produce many different texts. */
const MOST_PREPARED = 1000

/** The result of a statement that changes no row. */
const NOTHING: Done = { rows: [], changes: 0, command: '' }

const REFERENCES = `select c.relname as child, p.relname as parent from pg_constraint k
  join pg_class c on c.oid = k.conrelid join pg_class p on p.oid = k.confrelid where k.contype = 'f'`

type Row = Record<string, unknown>
type Sent = Pick<BoundStatement, 'text' | 'values'>
interface Done {
  rows: Row[]
  changes: number
  command: string
}

/**
 * A connection that delays statements whose result isn't needed, so that they are sent together with the next one whose
 * result is, or before the commit. Plain inserts into the same table are also combined, and are sent before a statement
 * that names the table.
 */
export class PostgresConnection implements Connection {
  readonly engine = 'postgres'
  inTransaction = false
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #answered = new Int32Array(new SharedArrayBuffer(4))
  readonly #names = new Map<string, string>()
  readonly #pending = new PendingInserts()
  /** The delayed BEGIN of the transaction. */
  #begin: OutgoingStatement | undefined
  /** The other delayed statements in their order. They come before the pending inserts. */
  #delayed: Sent[] = []
  readonly #known = new KnownReads()
  #lastId = 0
  /** Number of statements sent so far. */
  sent = 0
  /** Number of times that the thread has waited for the server so far. */
  waits = 0
  /** Transactions are serializable, so data that a transaction has read can't have changed when it commits. */
  readonly rules: CommitRules = {
    begin: 'begin isolation level serializable',
    pack: toPostgresFailure,
    isConflict,
    isOfCall: isOfStatement,
  }

  /** @param lock which other processes may use the database */
  constructor(target: PostgresTarget, lock?: DatabaseLock) {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const workerData: PostgresThreadData = { target, lock, port: port2, answered: this.#answered }
    this.#worker = new Worker(new URL('./postgres-wire.ts', import.meta.url), {
      workerData,
      transferList: [port2],
      name: 'storage wire',
    })
    this.#worker.unref()
  }

  prepare<P extends unknown[] | object = unknown[], R = unknown>(
    text: string,
  ): P extends unknown[] ? Statement<P, R> : Statement<[P], R> {
    const statement = new PostgresStatement(this, translateStatement(text), false)
    return statement as unknown as P extends unknown[] ? Statement<P, R> : Statement<[P], R>
  }

  /** Runs a statement after the delayed inserts that it may depend on. */
  run(bound: BoundStatement): Done {
    if (bound.repeatable && this.inTransaction) return this.#repeat(bound)
    this.#known.heed(bound.text)
    return this.#runNow(bound)
  }

  #repeat(bound: BoundStatement): Done {
    const rows = this.#known.find(bound.text, bound.values)
    if (rows) return { rows, changes: rows.length, command: 'SELECT' }
    const done = this.#runNow(bound)
    this.#known.add(bound.text, bound.values, done.rows)
    return done
  }

  #runNow(bound: BoundStatement): Done {
    const { control, text } = bound
    if (control === 'begin') return this.#beginLater(bound)
    if (control === 'rollback') this.#forget()
    if (text === 'rollback' && this.#begin) return this.#end()
    const done = this.#ask(bound, control === 'commit' ? undefined : text)
    if (text === 'commit' || text === 'rollback') this.#end()
    // PostgreSQL answers a commit with ROLLBACK if a statement of the transaction failed.
    if (text === 'commit' && done.command === 'ROLLBACK')
      throw new PostgresError({ message: 'the transaction was rolled back', code: '25P02' })
    return done
  }

  #beginLater(bound: BoundStatement): Done {
    this.#begin = this.#toSent(bound)
    this.inTransaction = true
    return NOTHING
  }

  #end(): Done {
    this.#begin = undefined
    this.inTransaction = false
    return NOTHING
  }

  #forget(): void {
    this.#pending.forget()
    this.#delayed = []
  }

  /** Runs a statement in PostgreSQL's own syntax. */
  query(text: string, values: readonly unknown[]): Done {
    this.#known.heed(text)
    return this.#ask({ text, values: [...values] }, undefined)
  }

  /** Reads the foreign keys, which determine the order of delayed inserts. Call it when the schema is up to date. */
  readReferences(): void {
    const { rows } = this.query(REFERENCES, [])
    this.#pending.follow(rows as unknown as Reference[])
  }

  /** Runs several statements without parameters. */
  script(text: string): void {
    this.#send([{ name: undefined, text, values: [] }])
  }

  /** Delays a statement. Reading the number of changed rows sends it. */
  later(bound: BoundStatement): { changes: number } {
    if (!this.inTransaction || bound.control !== undefined || bound.text.startsWith('savepoint')) {
      const { changes } = this.run(bound)
      return { changes }
    }
    this.#known.heed(bound.text)
    return bound.insert ? this.#insertLater(bound, bound.insert) : this.#changeLater(bound)
  }

  #insertLater(bound: BoundStatement, insert: InsertTemplate): { changes: number } {
    const ticket = this.#pending.add(insert, bound.values)
    const alone = (): number => {
      if (!this.#pending.takeBack(ticket)) return 1
      return this.run(bound).changes
    }
    return {
      get changes() {
        return alone()
      },
    }
  }

  #changeLater(bound: BoundStatement): { changes: number } {
    const one: Sent = { text: bound.text, values: bound.values }
    this.#delayed.push(...this.#pending.take(bound.text), one)
    const changed = (): number => {
      // Each caller that reads the number does so at once, so the statement is still the last delayed one.
      if (this.#delayed.at(-1) !== one) throw new Error('The statement was already sent.')
      this.#delayed.pop()
      return this.#ask(one, one.text).changes
    }
    return {
      get changes() {
        return changed()
      },
    }
  }

  /** Closes the connection. */
  close(): void {
    Atomics.store(this.#answered, 0, 0)
    this.#port.postMessage('close')
    Atomics.wait(this.#answered, 0, 0, MOST_MS)
    this.#port.close()
  }

  /** Sends a statement after those that it may depend on. `before`: the text to look for; undefined sends all inserts. */
  #ask(one: Sent, before: string | undefined): Done {
    return this.#send([...this.#takeDelayed(before), one].map((each) => this.#toSent(each)))
  }

  #takeDelayed(before: string | undefined): Sent[] {
    const delayed = [...this.#delayed, ...this.#pending.take(before)]
    this.#delayed = []
    return delayed
  }

  #toSent({ text, values }: Sent): OutgoingStatement {
    return { name: this.#nameOf(text), text, values }
  }

  #send(sent: OutgoingStatement[]): Done {
    const begin = this.#begin
    const within = this.inTransaction && !begin
    this.#begin = undefined
    this.sent += sent.length + (begin ? 1 : 0)
    this.waits += 1
    Atomics.store(this.#answered, 0, 0)
    const request: StatementRequest = { id: ++this.#lastId, begin, sent, within }
    this.#port.postMessage(request)
    const answer = this.#answerTo(request.id)
    if ('error' in answer) {
      if (!answer.open) this.#abandon()
      throw new PostgresError(answer.error)
    }
    return { ...answer, changes: answer.changes.at(-1)! }
  }

  /** Drops what is delayed by a transaction that has ended, so that it doesn't become part of the next one. */
  #abandon(): void {
    this.inTransaction = false
    this.#forget()
  }

  /** Waits for the answer to a request. Skips late answers to requests that timed out. */
  #answerTo(id: number): StatementResult {
    for (;;) {
      const received = receiveMessageOnPort(this.#port)?.message as
        { id: number; answer: StatementResult } | undefined
      if (received?.id === id) return received.answer
      if (received) continue
      if (Atomics.wait(this.#answered, 0, 0, MOST_MS) === 'timed-out')
        throw new PostgresError({ message: 'the server did not answer in time', code: 'ETIMEDOUT' })
      Atomics.store(this.#answered, 0, 0)
    }
  }

  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined || this.#names.size === MOST_PREPARED) return known
    const name = `s${this.#names.size}`
    this.#names.set(text, name)
    return name
  }
}

/** A statement and its connection. */
class PostgresStatement implements Statement<unknown[], unknown> {
  readonly #db: PostgresConnection
  readonly #text: ReturnType<typeof translateStatement>
  readonly #plucked: boolean

  constructor(db: PostgresConnection, text: ReturnType<typeof translateStatement>, plucked: boolean) {
    this.#db = db
    this.#text = text
    this.#plucked = plucked
  }

  run(...values: unknown[]): { changes: number } {
    return this.#db.later(bindValues(this.#text, values))
  }

  get(...values: unknown[]): unknown {
    return this.all(...values)[0]
  }

  all(...values: unknown[]): unknown[] {
    const { rows } = this.#db.run(bindValues(this.#text, values))
    return this.#plucked ? rows.map((row: Row) => Object.values(row)[0]) : rows
  }

  pluck(): PostgresStatement {
    return new PostgresStatement(this.#db, this.#text, true)
  }
}

export const engineParts: Omit<Engine, 'execute'> = {
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (kysely) => new PostgresIntrospector(kysely),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}

/** Replaces empty lists, which are a syntax error in PostgreSQL. */
export const emptyListPlugin = new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })
