/** An SMTP client that signs in as the customer and sends one message after another. */
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { RECIPIENT_DOMAIN, type Target } from './target.ts'

interface Route {
  port: number
  tls: 'implicit' | 'starttls'
  /** The client's local IP address. */
  from: string
}

export class SmtpClient {
  /** Whether a message is being sent. */
  busy = false
  readonly #target: Target
  readonly #route: Route
  #socket: Socket | null = null
  #heard = ''
  #wake: () => void = () => undefined

  constructor(target: Target, route: Route) {
    this.#target = target
    this.#route = route
  }

  /** Sends a message. Rejects with the reply if it is refused, or after `patience` milliseconds. */
  async send(text: string, patience: number): Promise<void> {
    this.busy = true
    const late = setTimeout(() => this.close(), patience)
    try {
      if (!this.#socket) await this.#open()
      const from = `orders@${this.#target.customer.domain}`
      await this.#say(`MAIL FROM:<${from}>`, '250')
      await this.#say(`RCPT TO:<ada@${RECIPIENT_DOMAIN}>`, '250')
      await this.#say('DATA', '354')
      await this.#say(
        `From: ${from}\r\nTo: ada@${RECIPIENT_DOMAIN}\r\nSubject: Your order\r\n\r\n${text}.`,
        '250',
      )
    } catch (error) {
      this.close()
      throw error
    } finally {
      clearTimeout(late)
      this.busy = false
    }
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = null
    this.#wake()
  }

  async #open(): Promise<void> {
    const { port, tls, from } = this.#route
    const { host, customer } = this.#target
    this.#heard = ''
    const plain = connect({ host, port, localAddress: from, noDelay: true })
    this.#socket = plain
    if (tls === 'implicit') await this.#secure(plain)
    else {
      this.#listen(plain)
      await this.#reply('220')
      await this.#say('EHLO client.example', '250')
      await this.#say('STARTTLS', '220')
      plain.removeAllListeners()
      await this.#secure(plain)
    }
    if (tls === 'implicit') await this.#reply('220')
    await this.#say('EHLO client.example', '250')
    const plainAuth = Buffer.from(`\0posthaste\0${customer.key}`).toString('base64')
    await this.#say(`AUTH PLAIN ${plainAuth}`, '235')
  }

  async #secure(plain: Socket): Promise<void> {
    const secure = connectTls({ socket: plain, rejectUnauthorized: false })
    this.#socket = secure
    this.#listen(secure)
    plain.on('error', () => undefined)
    await new Promise<void>((resolve) => {
      secure.once('secureConnect', () => resolve()).once('close', () => resolve())
    })
    if (secure.destroyed) broken()
  }

  #listen(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => {
      this.#heard += chunk.toString('latin1')
      this.#wake()
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = null
      this.#wake()
    })
  }

  #say(line: string, expected: string): Promise<void> {
    this.#socket?.write(`${line}\r\n`)
    return this.#reply(expected)
  }

  async #reply(expected: string): Promise<void> {
    for (;;) {
      const found = /^(?:\d{3}-[^\n]*\n)*(\d{3}[^\n]*)\n/.exec(this.#heard)
      if (found) {
        this.#heard = this.#heard.slice(found[0].length)
        if (!found[1]!.startsWith(expected)) throw new Error(found[1]!.trim())
        return
      }
      if (!this.#socket) return broken()
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

function broken(): never {
  throw new Error('the connection broke')
}
