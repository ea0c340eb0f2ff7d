/** The normal client: sends API requests and messages at a steady rate, and notes what became of each. */
import { Agent, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { freeAddress } from '../../test/world/addresses.ts'
import { SmtpClient } from './smtp-client.ts'
import { RECIPIENT, type Target } from './target.ts'

/** What became of the requests and messages so far. */
export interface Record {
  asked: number
  accepted: number
  /** Milliseconds from the start of the request to its answer, of accepted ones; a message includes TLS and sign-in. */
  times: number[]
  /** Why others were not accepted, with how often. */
  failures: Map<string, number>
}

export interface Customer {
  record: Record
  /** Begins no more, and waits for what is on its way. */
  finish(): Promise<void>
}

/** Milliseconds between two requests, and between two messages: half of the shipped 10 a second of a team. */
const REQUEST_EVERY = 300
const MESSAGE_EVERY = 500
/** It waits for answers before it asks more, so that a busy machine makes no burst of it that is beyond its rate. */
const MOST_AT_ONCE = 5
/** One message in so many has a large attachment, in octets. */
const LARGE_EVERY = 10
const LARGE = 1.5 * 1024 * 1024

/**
 * Begins to send. Half of the connections are new ones, from addresses where nobody has signed in.
 * @param patience after so many milliseconds without an answer it gives up
 */
export function startCustomer(target: Target, patience: number): Customer {
  const record: Record = { asked: 0, accepted: 0, times: [], failures: new Map() }
  const running = new Set<Promise<void>>()
  const home = freeAddress()
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const session = new SmtpClient(target, { port: target.implicit, tls: 'implicit', from: home })
  const begin = (what: string, ask: () => Promise<void>): void => {
    if (running.size >= MOST_AT_ONCE) return
    const start = performance.now()
    record.asked++
    const one = ask().then(
      () => {
        record.accepted++
        record.times.push(performance.now() - start)
      },
      (error: Error) => {
        const why = `${what}: ${error.message}`
        record.failures.set(why, (record.failures.get(why) ?? 0) + 1)
      },
    )
    running.add(one)
    void one.finally(() => running.delete(one))
  }
  let requests = 0
  let messages = 0
  const asking = setInterval(() => {
    const [n, kind] = [requests, requests++ % 4]
    const how = kind < 2 ? { agent, localAddress: home } : { localAddress: freeAddress() }
    const what = kind < 2 ? 'request' : 'request on a new connection'
    begin(what, () => call(target, n, { ...how, tls: kind === 3, patience }))
  }, REQUEST_EVERY)
  const sending = setInterval(() => {
    const kind = messages++ % 4
    const text = messages % LARGE_EVERY === 0 ? LARGE_TEXT : TEXT
    if (kind < 2 && !session.busy) begin('message', () => session.send(text, patience))
    else begin('message on a new connection', () => sendOnce(target, kind === 3, text, patience))
  }, MESSAGE_EVERY)
  return {
    record,
    async finish() {
      clearInterval(asking)
      clearInterval(sending)
      await Promise.all(running)
      session.close()
      agent.destroy()
    },
  }
}

const TEXT = 'Thank you for your order.\r\n'
const LARGE_TEXT = `${'x'.repeat(76)}\r\n`.repeat(Math.floor(LARGE / 78))

async function sendOnce(target: Target, startTls: boolean, text: string, patience: number): Promise<void> {
  const port = startTls ? target.starttls : target.implicit
  const client = new SmtpClient(target, {
    port,
    tls: startTls ? 'starttls' : 'implicit',
    from: freeAddress(),
  })
  try {
    await client.send(text, patience)
  } finally {
    client.close()
  }
}

interface How {
  agent?: Agent
  localAddress: string
  tls: boolean
  patience: number
}

/** Sends an email, lists some, or listens to the live stream until it greets. */
function call({ host, http, https, customer }: Target, n: number, how: How): Promise<void> {
  const path = n % 10 === 5 ? '/live' : n % 3 === 0 ? '/emails?limit=10' : '/emails'
  const email = {
    from: `orders@${customer.domain}`,
    to: `ada@${RECIPIENT}`,
    subject: 'Your order',
    text: TEXT,
  }
  const body = path === '/emails' ? JSON.stringify(email) : undefined
  return new Promise((resolve, reject) => {
    const send = how.tls ? httpsRequest : httpRequest
    const request = send({
      host,
      port: how.tls ? https : http,
      path,
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${customer.key}`,
        ...(body && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
      localAddress: how.localAddress,
      rejectUnauthorized: false,
      ...(how.agent ? { agent: how.agent } : { agent: false }),
    })
    const late = setTimeout(() => request.destroy(new Error('no answer')), how.patience)
    const done = (error?: Error): void => {
      clearTimeout(late)
      if (error) reject(error)
      else resolve()
    }
    request.once('error', (error: NodeJS.ErrnoException) => done(new Error(error.code ?? error.message)))
    request.once('response', (response) => {
      const wrong = response.statusCode === 200 ? undefined : new Error(`status ${response.statusCode}`)
      // The stream does not end by itself: its first words are the answer.
      if (path === '/live')
        response.once('data', () => {
          done(wrong)
          request.destroy()
        })
      else response.resume().once('end', () => done(wrong))
      response.once('error', () => done(new Error('cut off')))
    })
    request.end(body)
  })
}
