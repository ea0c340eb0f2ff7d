/** Simulates clients, which send as fast as they get responses, and repeat requests until they get one. */
import { requestWithRetry, type ApiTarget } from './api-client.ts'
import type { Ledger, SentEmail } from './ledger.ts'
import {
  generateEmail,
  pickRequestSize,
  formatRestBody,
  formatSmtpMessage,
  type SubmissionProtocol,
} from './generated-mail.ts'
import { sendUntilFinalReply, SmtpClient, type SmtpTarget } from './smtp-client.ts'
import type { RandomGenerator } from './plan.ts'

const REST_CLIENTS = 12
const SMTP_CLIENTS = 4
/** Share of successful requests that are repeated anyway, as if the client had crashed after the response. */
const ASKED_AGAIN = 0.05

export interface Traffic {
  /** Allows the clients to send this many more emails. */
  allow(emails: number): void
  /** Starts no new emails; resolves when every email has a response. */
  finish(): Promise<void>
}

export interface TrafficDeps {
  ledger: Pick<Ledger, 'sent'>
  dice: RandomGenerator
  now: () => number
  asked: ApiTarget
  /** Returns the listener to use for the next connection. */
  smtp: () => SmtpTarget
  /** Sender address, at a verified domain. */
  from: string
  /** Recipient domains, each with its own exchangers. */
  domains: readonly string[]
}

/** Starts the clients, which wait for `allow`. */
export function startTraffic(deps: TrafficDeps): Traffic {
  return new Clients(deps)
}

class Clients implements Traffic {
  readonly #deps: TrafficDeps
  readonly #working: Promise<unknown>
  #allowed = 0
  #finishing = false
  #count = 0
  #wake: (() => void)[] = []

  constructor(deps: TrafficDeps) {
    this.#deps = deps
    const rest = Array.from({ length: REST_CLIENTS }, () =>
      this.#work('rest', (first, others) => this.#sendRest(first, others)),
    )
    const smtp = Array.from({ length: SMTP_CLIENTS }, async () => {
      const client = new SmtpClient(deps.smtp)
      await this.#work('smtp', (sent) => this.#sendSmtp(client, sent))
      client.close()
    })
    this.#working = Promise.all([...rest, ...smtp])
  }

  allow(emails: number): void {
    this.#allowed = Math.max(this.#allowed, emails)
    for (const wake of this.#wake.splice(0)) wake()
  }

  async finish(): Promise<void> {
    this.#finishing = true
    this.allow(0)
    await this.#working
  }

  async #work(
    via: SubmissionProtocol,
    send: (first: SentEmail, others: SentEmail[]) => Promise<void>,
  ): Promise<void> {
    while (!this.#finishing) {
      if (this.#allowed <= 0) {
        await new Promise<void>((resolve) => this.#wake.push(resolve))
        continue
      }
      const [first, ...others] = this.#write(via)
      this.#allowed -= 1 + others.length
      this.#deps.ledger.sent.push(first!, ...others)
      await send(first!, others)
    }
  }

  /** Generates the emails of one request. */
  #write(via: SubmissionProtocol): SentEmail[] {
    const size = pickRequestSize(via, this.#deps.dice)
    const marks = Array.from({ length: size }, () => `${via === 'rest' ? 'r' : 's'}${++this.#count}`)
    const batch = size > 1 ? marks[0]! : null
    const at = this.#deps.now()
    return marks.map((mark) => generateEmail({ via, mark, at, batch }, this.#deps))
  }

  async #sendRest(first: SentEmail, others: SentEmail[]): Promise<void> {
    const { asked, from, dice } = this.#deps
    const all = [first, ...others]
    const bodies = all.map((sent) => formatRestBody(sent, from, dice))
    const [path, body] = first.batch === null ? ['/emails', bodies[0]] : ['/emails/batch', bodies]
    const again = dice.next() < ASKED_AGAIN
    for (let count = again ? 2 : 1; count > 0; count--) {
      const request = { body, key: first.mark, rest: () => this.#restMs() }
      note(all, await requestWithRetry(asked, path, request))
    }
  }

  async #sendSmtp(client: SmtpClient, sent: SentEmail): Promise<void> {
    const { from, dice } = this.#deps
    const { recipients } = sent
    sent.refused = await sendUntilFinalReply(client, sent, {
      restMs: () => this.#restMs(),
      message: (mark) => ({ from, recipients, data: formatSmtpMessage(mark, recipients, from, dice) }),
    })
  }

  #restMs(): number {
    return this.#deps.dice.between(30, 100)
  }
}

type Accepted = { id: string } | { data: { id: string }[] }

/** Records the id of each email of a request, without duplicates. */
function note(all: readonly SentEmail[], { status, text }: { status: number; text: string }): void {
  const ids = status === 200 ? idsOf(JSON.parse(text) as Accepted) : []
  for (const [at, sent] of all.entries()) {
    const id = ids[at]
    if (id === undefined || ids.length > all.length) sent.refused = `${status} ${text}`
    else if (!sent.ids.includes(id)) sent.ids.push(id)
  }
}

const idsOf = (accepted: Accepted): string[] =>
  'data' in accepted ? accepted.data.map(({ id }) => id) : [accepted.id]
