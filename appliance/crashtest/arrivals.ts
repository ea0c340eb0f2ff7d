/**
 * Simulates other mail servers: they send mail to the public MX, and delivery reports to the return paths of messages
 * that they accepted before. They repeat a message until they get a response, as real servers do.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseReturnPath } from '../mail/return-path.ts'
import type { Arrival, Ledger } from './ledger.ts'
import { returnsMail, formatDeliveryReport, formatSmtpMessage } from './generated-mail.ts'
import { sendUntilFinalReply, SmtpClient, type SmtpTarget } from './smtp-client.ts'
import type { RandomGenerator } from './plan.ts'

const SERVERS = 3
/** Interval between checks for something to send, in milliseconds. */
const LOOK_MS = 20

export interface SendingServers {
  /** Allows the servers to send this many more messages, not counting reports. */
  allow(messages: number): void
  /** Starts no new messages; resolves when every message and report has a response. */
  finish(): Promise<void>
}

/** A recipient of a message that an exchanger accepted. */
export interface AcceptedRecipient {
  recipient: string
  returnPath: string
}

export interface SendingServersDeps {
  ledger: Pick<Ledger, 'arrivals'>
  dice: RandomGenerator
  /** Returns the public MX to use for the next connection. */
  mx: () => SmtpTarget
  /** Domain that receives mail. */
  domain: string
  /** Messages accepted by the exchangers. The servers remove them, and return some of them. */
  accepted: AcceptedRecipient[]
}

/** Starts the servers, which wait for `allow` and for accepted messages. */
export function startSendingServers(deps: SendingServersDeps): SendingServers {
  const { ledger, dice, mx, domain, accepted } = deps
  const returned = new Set<string>()
  let [allowed, count, finishing] = [0, 0, false]

  const add = (arrival: Omit<Arrival, 'tries' | 'refused'>): Arrival => {
    const added = { ...arrival, tries: [], refused: null }
    ledger.arrivals.push(added)
    return added
  }
  const nextReport = (): Arrival | undefined => {
    for (let one = accepted.shift(); one; one = accepted.shift()) {
      const { recipient, returnPath } = one
      const emailId = parseReturnPath(returnPath)?.emailId
      if (emailId === undefined || !returnsMail(recipient) || returned.has(recipient)) continue
      returned.add(recipient)
      return add({ mark: `d${++count}`, recipient: returnPath, about: { emailId, recipient } })
    }
    return undefined
  }
  const next = (): Arrival | undefined => {
    const report = nextReport()
    if (report || finishing || allowed <= 0) return report
    allowed--
    const mark = `m${++count}`
    return add({ mark, recipient: `user-${mark}@${domain}`, about: null })
  }
  const work = async (): Promise<void> => {
    const client = new SmtpClient(mx)
    while (!finishing || accepted.length > 0) {
      const arrival = next()
      if (!arrival) {
        await pause(LOOK_MS)
        continue
      }
      const { recipient: to, about } = arrival
      arrival.refused = await sendUntilFinalReply(client, arrival, {
        restMs: () => dice.between(30, 100),
        message: (mark) => {
          const from = about ? '' : `user@${domain}`
          const data = about
            ? formatDeliveryReport(mark, { to, about: about.recipient })
            : formatSmtpMessage(mark, [to], from, dice)
          return { from, recipients: [to], data }
        },
      })
    }
    client.close()
  }
  const working = Array.from({ length: SERVERS }, work)
  return {
    allow: (messages) => void (allowed = Math.max(allowed, messages)),
    async finish() {
      finishing = true
      await Promise.all(working)
    },
  }
}
