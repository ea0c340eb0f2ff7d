/** The clients: they send as fast as they are answered, and repeat what was not answered until it is. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Dice } from './dice.ts'
import { DIGEST_FIELD, digestOf, MARK_FIELD } from './exchanger.ts'
import type { Ledger, Sent } from './ledger.ts'
import { SmtpClient } from './smtp-client.ts'

const REST_CLIENTS = 12
const SMTP_CLIENTS = 4
/** Text of a message that the storage keeps in a file of its own, in characters. */
const LARGE = 300_000
/** How long an answer over HTTP may take, in milliseconds. */
const PATIENCE_MS = 20_000

export interface Traffic {
  /** Lets the clients send so many more emails. */
  allow(emails: number): void
  /** No new emails; resolves when each one that was begun is answered. */
  finish(): Promise<void>
}

export interface TrafficDeps {
  ledger: Pick<Ledger, 'sent'>
  dice: Dice
  run: () => number
  url: string
  apiKey: string
  smtpPort: number
  /** Sender, of a verified domain. */
  from: string
  /** Recipient domains, each with exchangers of its own. */
  domains: readonly string[]
}

/** Starts the clients; they wait until they are allowed something. */
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
    const rest = Array.from({ length: REST_CLIENTS }, () => this.#work((sent) => this.#sendRest(sent)))
    const smtp = Array.from({ length: SMTP_CLIENTS }, async () => {
      const client = new SmtpClient(deps.smtpPort)
      await this.#work((sent) => this.#sendSmtp(client, sent), 'smtp')
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

  async #work(send: (sent: Sent) => Promise<void>, door: 'rest' | 'smtp' = 'rest'): Promise<void> {
    while (!this.#finishing) {
      if (this.#allowed === 0) {
        await new Promise<void>((resolve) => this.#wake.push(resolve))
        continue
      }
      this.#allowed -= 1
      const sent = this.#write(door)
      this.#deps.ledger.sent.push(sent)
      await send(sent)
    }
  }

  /** A new email: mostly one recipient, at times some that are refused or have to wait. */
  #write(door: 'rest' | 'smtp'): Sent {
    const { dice, domains } = this.#deps
    const mark = `${door === 'rest' ? 'r' : 's'}${++this.#count}`
    const recipients = Array.from({ length: dice.next() < 0.2 ? dice.between(2, 4) : 1 }, (_, n) => {
      const draw = dice.next()
      // Over SMTP a bounce would be answered by a report, which is another email.
      const kind = door === 'rest' && draw < 0.03 ? 'refuse' : draw < 0.05 ? 'later' : 'user'
      return `${kind}-${mark}-${n}@${domains[dice.between(0, domains.length - 1)]!}`
    })
    return { mark, recipients, ids: [], tries: [], refused: null }
  }

  #text(mark: string): string {
    const filling =
      this.#deps.dice.next() < 0.025 ? 'A line of a large message.\n'.repeat(LARGE / 27) : 'Hello.\n'
    return `${filling}The end of ${mark}.\n`
  }

  async #sendRest(sent: Sent): Promise<void> {
    const { mark, recipients } = sent
    const { from, url, apiKey } = this.#deps
    const text = this.#text(mark)
    const body = JSON.stringify({
      from,
      to: recipients,
      subject: `Crash test ${mark}`,
      text,
      headers: { [MARK_FIELD]: mark, [DIGEST_FIELD]: digestOf(text) },
    })
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': mark,
    }
    for (;;) {
      const answer = await post(`${url}/emails`, headers, body)
      if (answer?.status === 200) return void note(sent, (JSON.parse(answer.text) as { id: string }).id)
      // No answer, an earlier try that is still running, too much at once, or trouble inside: asked again, with the same key.
      if (answer && answer.status < 500 && ![409, 429].includes(answer.status)) {
        sent.refused = `${answer.status} ${answer.text}`
        return
      }
      await this.#rest()
    }
  }

  async #sendSmtp(client: SmtpClient, sent: Sent): Promise<void> {
    const { from, run } = this.#deps
    for (let count = 1; ; count++) {
      const mark = `${sent.mark}.${count}`
      const one = { mark, run: run(), accepted: false }
      sent.tries.push(one)
      const head = [`From: ${from}`, `To: ${sent.recipients.join(', ')}`, `Subject: Crash test ${mark}`]
      const text = this.#text(mark).trimEnd().replaceAll('\n', '\r\n')
      const proofs = [`${MARK_FIELD}: ${mark}`, `${DIGEST_FIELD}: ${digestOf(text)}`]
      const data = [...head, ...proofs, '', text].join('\r\n')
      const answer = await client.submit({ from, recipients: sent.recipients, data })
      if (answer.kind === 'accepted') {
        one.accepted = true
        return
      }
      if (answer.kind === 'refused' && answer.reply.startsWith('5')) {
        sent.refused = answer.reply
        return
      }
      // The start in which it was heard; this one is over, and the next has not begun.
      one.run = run()
      if (answer.kind === 'none' && !answer.said) sent.tries.pop()
      await this.#rest()
    }
  }

  #rest(): Promise<void> {
    return pause(this.#deps.dice.between(30, 100))
  }
}

function note({ ids }: Sent, id: string): void {
  if (!ids.includes(id)) ids.push(id)
}

/** A request; undefined when no whole answer came. */
async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number; text: string } | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    return { status: response.status, text: await response.text() }
  } catch {
    // The daemon is not there, or died over the request: a client cannot tell more.
    return undefined
  }
}
