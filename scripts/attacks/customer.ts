/** The normal client: sends API requests and messages at a steady rate and records the results. */
import { Agent, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { freeAddress } from '../../test/world/addresses.ts'
import { SmtpClient } from './smtp-client.ts'
import { RECIPIENT_DOMAIN, type Target } from './target.ts'

/** Results of requests and messages so far. */
export interface TrafficRecord {
  asked: number
  accepted: number
  /**
   * Times from the start of an accepted request to its response, in milliseconds. For a message, this includes TLS and
   * sign-in.
   */
  times: number[]
  /** Reasons why requests and messages were not accepted, with counts. */
  failures: Map<string, number>
}

export interface Customer {
  record: TrafficRecord
  /** Stops starting requests and waits for those in progress. */
  finish(): Promise<void>
}

/**
 * Intervals between requests and between messages, in milliseconds: half of a team's shipped limit of 10 per second.
 */
const REQUEST_EVERY = 300
const MESSAGE_EVERY = 500
/**
 * Maximum number of concurrent requests. Without this limit, a busy machine would cause a burst that exceeds the rate.
 */
const MOST_AT_ONCE = 5
/** One in `LARGE_EVERY` messages has a large attachment, whose size is in bytes. */
const LARGE_EVERY = 10
const LARGE = 1.5 * 1024 * 1024

/**
 * Starts sending. Half of the connections are new, from addresses where no one has signed in.
 * @param patience timeout for a response, in milliseconds
 */
export function startCustomer(target: Target, patience: number): Customer {
  const record: TrafficRecord = { asked: 0, accepted: 0, times: [], failures: new Map() }
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

/** Sends an email, lists emails, or opens the live stream and waits for its first data. */
function call({ host, http, https, customer }: Target, n: number, how: How): Promise<void> {
  const path = n % 10 === 5 ? '/live' : n % 3 === 0 ? '/emails?limit=10' : '/emails'
  const email = {
    from: `orders@${customer.domain}`,
    to: `ada@${RECIPIENT_DOMAIN}`,
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
      // The stream never ends, so its first data counts as the response.
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
