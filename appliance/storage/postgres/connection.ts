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
import { isConflict, toPostgresFailure, PostgresError } from './failures.ts'
import { KnownReads } from './read-cache.ts'
import { PendingInserts, type Reference } from './pending.ts'
import { type BoundStatement, bindValues, translateStatement } from './texts.ts'
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

const REFERENCES = `select c.relname as child, p.relname as parent from pg_constraint k
  join pg_class c on c.oid = k.conrelid join pg_class p on p.oid = k.confrelid where k.contype = 'f'`

type Row = Record<string, unknown>
type Done = Extract<StatementResult, { rows: unknown }>

/**
 * A connection that delays plain inserts and combines inserts into the same table. They are sent before a statement that
 * names the table, and before the commit.
 */
export class PostgresConnection implements Connection {
  readonly engine = 'postgres'
  inTransaction = false
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #answered = new Int32Array(new SharedArrayBuffer(4))
  readonly #names = new Map<string, string>()
  readonly #pending = new PendingInserts()
  readonly #known = new KnownReads()
  #lastId = 0
  /** Number of statements sent so far. */
  sent = 0
  /** Transactions are serializable, so data that a transaction has read can't have changed when it commits. */
  readonly rules: CommitRules = {
    begin: 'begin isolation level serializable',
    pack: toPostgresFailure,
    isConflict,
    flush: () => this.#flush(undefined),
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
    if (bound.control === 'rollback') this.#pending.forget()
    else this.#flush(bound.control === 'commit' ? undefined : bound.text)
    const done = this.#ask([bound])
    if (bound.control === 'begin') this.inTransaction = true
    if (bound.text === 'commit' || bound.text === 'rollback') this.inTransaction = false
    // PostgreSQL answers a commit with ROLLBACK if a statement of the transaction failed.
    if (bound.text === 'commit' && done.command === 'ROLLBACK')
      throw new PostgresError({ message: 'the transaction was rolled back', code: '25P02' })
    return done
  }

  /** Runs a statement in PostgreSQL's own syntax. */
  query(text: string, values: readonly unknown[]): Done {
    this.#known.heed(text)
    this.#flush(undefined)
    return this.#ask([{ text, values: [...values] }])
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

  /** Delays an insert. Reading the number of changed rows sends it. */
  later(bound: BoundStatement): { changes: number } {
    if (!this.inTransaction || !bound.insert) {
      const { changes } = this.run(bound)
      return { changes }
    }
    this.#known.heed(bound.text)
    const ticket = this.#pending.add(bound.insert, bound.values)
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

  /** Closes the connection. */
  close(): void {
    Atomics.store(this.#answered, 0, 0)
    this.#port.postMessage('close')
    Atomics.wait(this.#answered, 0, 0, MOST_MS)
    this.#port.close()
  }

  /** Sends the inserts that a statement may depend on; undefined sends all. */
  #flush(before: string | undefined): void {
    const ready = this.#pending.take(before)
    if (ready.length > 0) this.#ask(ready)
  }

  #ask(bound: Pick<BoundStatement, 'text' | 'values'>[]): Done {
    return this.#send(
      bound.map(({ text, values }): OutgoingStatement => ({ name: this.#nameOf(text), text, values })),
    )
  }

  #send(sent: OutgoingStatement[]): Done {
    this.sent += sent.length
    Atomics.store(this.#answered, 0, 0)
    const request: StatementRequest = { id: ++this.#lastId, sent, within: this.inTransaction }
    this.#port.postMessage(request)
    const answer = this.#answerTo(request.id)
    if (!('error' in answer)) return answer
    if (!answer.connected) this.#abandon()
    throw new PostgresError(answer.error)
  }

  /**
   * Ends a transaction whose connection was lost. Drops its delayed inserts, so that they don't become part of the next
   * one.
   */
  #abandon(): void {
    this.inTransaction = false
    this.#pending.forget()
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
