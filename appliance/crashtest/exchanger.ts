/**
 * The test's mail exchangers: a small SMTP server (RFC 5321) that records every accepted message. Runs in the tester's
 * process, so that its records survive the daemon.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { AcceptedCopy, Ledger } from './ledger.ts'

/** The header field with the mark of a message. */
export const MARK_FIELD = 'X-Crashtest'

/** The header field with the digest of a message's text. */
export const DIGEST_FIELD = 'X-Crashtest-Digest'

/** Returns the SHA-256 of a text, ignoring differences in line ends and trailing line ends. */
export const computeDigest = (text: string): string =>
  createHash('sha256').update(text.replaceAll('\r\n', '\n').trimEnd()).digest('hex')

export interface Exchangers {
  port: number
  /** Returns the number of open conversations. */
  conversations(): number
  close(): Promise<void>
}

export interface ExchangerDeps {
  ledger: Pick<Ledger, 'copies' | 'rejected' | 'quit'>
  now: () => number
  /** Returns the current run of the daemon that connects from a given address. */
  run: (address: string) => number
  /** Returns the milliseconds to wait before a message gets its 250, so that messages are in flight at a kill. */
  thinkMs: () => number
  /** Called for each accepted recipient of a message. */
  accepted: (recipient: string, returnPath: string) => void
}

/** Starts listening on loopback. Recipients `refuse-…` don't exist, recipients `later-…` are deferred once. */
export async function startExchangers(deps: ExchangerDeps): Promise<Exchangers> {
  const sockets = new Set<Socket>()
  const deferred = new Set<string>()
  let connections = 0
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    // Expected, because the daemon dies during conversations.
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    new Conversation(socket, deps, { deferred, number: ++connections }).begin()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    conversations: () => sockets.size,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

const END_OF_DATA = Buffer.from('\r\n.\r\n')

class Conversation {
  readonly #socket: Socket
  readonly #deps: ExchangerDeps
  readonly #deferred: Set<string>
  readonly #run: number
  readonly #number: number
  #input = Buffer.alloc(0)
  #recipients: string[] = []
  #returnPath = ''
  /** The current message so far; null between messages. */
  #parts: Buffer[] | null = null
  #busy = false

  constructor(socket: Socket, deps: ExchangerDeps, about: { deferred: Set<string>; number: number }) {
    this.#socket = socket
    this.#deps = deps
    this.#deferred = about.deferred
    this.#number = about.number
    this.#run = deps.run(socket.remoteAddress ?? '')
  }

  begin(): void {
    this.#say('220 crashtest ESMTP')
    this.#socket.on('data', (chunk: Buffer) => {
      this.#input = Buffer.concat([this.#input, chunk])
      this.#consume()
    })
  }

  #say(line: string): void {
    if (!this.#socket.destroyed) this.#socket.write(`${line}\r\n`)
  }

  #consume(): void {
    while (!this.#busy) {
      if (this.#parts) {
        if (!this.#takeMessage()) return
        continue
      }
      const end = this.#input.indexOf('\r\n')
      if (end < 0) return
      const line = this.#input.toString('latin1', 0, end)
      this.#input = this.#input.subarray(end + 2)
      this.#obey(line)
    }
  }

  #obey(line: string): void {
    const verb = line.slice(0, 4).toUpperCase()
    if (verb === 'EHLO') this.#say('250-crashtest\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 100000000')
    else if (verb === 'MAIL' || verb === 'RSET') {
      this.#recipients = []
      this.#returnPath = addressIn(line)
      this.#say('250 2.0.0 Ok')
    } else if (verb === 'RCPT') this.#say(this.#recipient(addressIn(line)))
    else if (verb === 'DATA' && this.#recipients.length === 0) this.#say('503 5.5.1 Nobody to get it')
    else if (verb === 'DATA') {
      this.#parts = []
      this.#say('354 Go on')
    } else if (verb === 'QUIT') {
      this.#deps.ledger.quit.add(this.#number)
      this.#say('221 2.0.0 Bye')
      this.#socket.end()
    } else this.#say('250 2.0.0 Ok')
  }

  #recipient(address: string): string {
    if (address.startsWith('refuse-')) {
      this.#deps.ledger.rejected.add(address)
      return '550 5.1.1 Nobody of this name here'
    }
    if (address.startsWith('later-') && !this.#deferred.has(address)) {
      this.#deferred.add(address)
      return '450 4.2.0 Come back later'
    }
    this.#recipients.push(address)
    return '250 2.1.5 Ok'
  }

  /** Returns true when the message is complete, and its 250 is due. */
  #takeMessage(): boolean {
    const parts = this.#parts!
    // The end may straddle two chunks, so the last bytes stay in the input.
    const end = this.#input.indexOf(END_OF_DATA)
    if (end < 0) {
      const kept = Math.max(0, this.#input.length - END_OF_DATA.length)
      parts.push(this.#input.subarray(0, kept))
      this.#input = this.#input.subarray(kept)
      return false
    }
    parts.push(this.#input.subarray(0, end))
    this.#input = this.#input.subarray(end + END_OF_DATA.length)
    this.#parts = null
    const message = Buffer.concat(parts).toString('latin1')
    const [recipients, returnPath] = [this.#recipients, this.#returnPath]
    this.#recipients = []
    this.#busy = true
    setTimeout(() => {
      this.#write(message, recipients)
      for (const recipient of recipients) this.#deps.accepted(recipient, returnPath)
      this.#busy = false
      this.#consume()
    }, this.#deps.thinkMs())
    return true
  }

  /**
   * Records a message. It counts even if the client never reads the 250, because a real server stores a message before
   * it can know that.
   */
  #write(message: string, recipients: string[]): void {
    const { ledger, now } = this.#deps
    const mark = getHeaderField(message, MARK_FIELD)
    const about: Omit<AcceptedCopy, 'recipient'> = {
      mark,
      messageId: getHeaderField(message, 'Message-ID'),
      run: this.#run,
      at: now(),
      connection: this.#number,
      whole: hasMatchingDigest(message),
    }
    for (const recipient of recipients) ledger.copies.push({ ...about, recipient })
    this.#say('250 2.0.0 Taken')
  }
}

/** Returns the address of a MAIL or RCPT command. */
const addressIn = (line: string): string => /<([^>]*)>/.exec(line)?.[1] ?? ''

/** Whether the text of a message has the digest that its header names. */
export const hasMatchingDigest = (message: string): boolean =>
  computeDigest(message.slice(message.indexOf('\r\n\r\n') + 4)) === getHeaderField(message, DIGEST_FIELD)

/** Returns the unfolded value of a header field; empty when missing. */
export function getHeaderField(message: string, name: string): string {
  const header = message.slice(0, message.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ')
  return new RegExp(`^${name}:[ ]*(.*)$`, 'im').exec(header)?.[1]?.trim() ?? ''
}
