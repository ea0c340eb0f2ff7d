/**
 * A small internet on loopback, for trying out and developing Posthaste: a DNS server that knows every domain, and mail
 * exchangers that accept mail and display it. The server uses its real delivery path throughout.
 */
import { join } from 'node:path'
import type { Accounts } from '../accounts/accounts.ts'
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import type { Resolver } from '../dns/dns.ts'
import type { Senders } from '../senders/senders.ts'
import type { Storage } from '../storage/storage.ts'
import { createSelfSignedPair } from '../wire/self-signed.ts'
import { EXCHANGER_IPS, createSandboxDns } from './answers.ts'
import type { CapturedMessage } from './exchanger.ts'
import { startExchangers } from './exchanger.ts'
import { openInbox, type Inbox } from './inbox.ts'
import { seedSandbox, type Seed } from './seed.ts'
import { createReturnedMessage, type ReturnedMessage } from './returned.ts'
import { startZoneServer } from './zone.ts'

export type { Inbox, InboxEntry, InboxMessage } from './inbox.ts'
export type { Seed } from './seed.ts'

export interface Sandbox {
  /** Address of the DNS server, `ip:port`. */
  readonly dns: string
  /**
   * Options for resolvers that use the DNS server, both as recursive server and as the authoritative server of every
   * zone.
   */
  readonly resolver: { servers: string[]; authoritativePort: number }
  /** Port of the mail exchangers. */
  readonly deliveryPort: number
  /** The captured mail. Throws before `open`. */
  readonly inbox: Inbox
  /** The team, domain, key and sign-in. Throws before `open`. */
  readonly seed: Seed
  /** Completes the start with the parts whose modules need the sandbox's DNS. */
  open(parts: { accounts: Accounts; senders: Senders; resolver: Resolver }): Promise<void>
  /** Uses `bring` from now on to deliver the mail that recipients send back. Before that, such mail is dropped. */
  connect(bring: (mail: ReturnedMessage) => Promise<void>): void
  close(): Promise<void>
}

export interface SandboxDeps {
  config: Config
  storage: Storage
  clock: Clock
  log: { info(fields: object, message: string): void }
}

/** Delay before a recipient sends something back, in milliseconds. The delivery is final by then. */
const RETURNED_AFTER = 3000

/** Starts the DNS server and the exchangers on free loopback ports. */
export async function startSandbox({ config, storage, clock, log }: SandboxDeps): Promise<Sandbox> {
  const host = { hostname: config.hostname, sourceIps: config.delivery.source_ips }
  const answers = createSandboxDns(storage, host, () => clock.now())
  const textsAt = async (name: string): Promise<readonly string[]> => {
    const entry = await answers(name)
    return typeof entry === 'string' ? [] : [entry.TXT ?? []].flat()
  }
  const zone = await startZoneServer({
    zone: answers,
    negativeTtl: 1,
    nameServer: { host: 'ns.posthaste.localhost', address: '127.0.0.1' },
  })
  const dns = `${zone.address}:${zone.port}`
  let opened: { inbox: Inbox; seed: Seed } | undefined
  const parts = (): { inbox: Inbox; seed: Seed } => {
    if (!opened) throw new Error('the sandbox is not open yet')
    return opened
  }
  const exchangers = await startExchangers([EXCHANGER_IPS.mx1, EXCHANGER_IPS.mx2], 0, {
    clock,
    certificate: await createSelfSignedPair(['mx.posthaste.localhost'], clock.now()),
    maxBytes: config.limits.message_bytes * 2,
    async deliver(message: CapturedMessage) {
      await parts().inbox.add(message)
      for (const recipient of message.rcptTo) {
        const back = await createReturnedMessage(message, recipient, clock.now(), textsAt)
        if (back) waiting.add(clock.after(RETURNED_AFTER, () => void bringBack(back)))
      }
    },
  })
  const waiting = new Set<() => void>()
  let bring: ((mail: ReturnedMessage) => Promise<void>) | undefined
  const bringBack = (back: ReturnedMessage) =>
    bring?.(back).catch((error: unknown) => {
      // As on the real internet, a domain that doesn't receive mail refuses the reply.
      log.info({ err: error, rcpt_to: back.rcptTo }, 'mail from the sandbox was refused')
    })
  return {
    dns,
    resolver: { servers: [dns], authoritativePort: zone.port },
    deliveryPort: exchangers.port,
    get inbox() {
      return parts().inbox
    },
    get seed() {
      return parts().seed
    },
    async open({ accounts, senders, resolver }) {
      const inbox = await openInbox(join(config.data_dir, 'inbox'), { clock, resolver, storage })
      opened = { inbox, seed: await seedSandbox(config.data_dir, { accounts, senders }) }
    },
    connect(act) {
      bring = act
    },
    async close() {
      for (const cancel of waiting) cancel()
      await exchangers.close()
      await zone.close()
    },
  }
}
