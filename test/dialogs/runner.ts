/** Plays a conversation that is written as plain text (see README.md here) against the SMTP door. */
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Door } from '../unit/smtp/harness.ts'
import { PATIENCE } from '../world/patience.ts'

export interface Dialog {
  name: string
  /** Where the client connects. */
  port: keyof Door['ports']
  lines: { number: number; text: string }[]
}

/** Reads a file: `=== name @port` begins a conversation, `#` a comment. */
export function readDialogs(text: string): Dialog[] {
  const dialogs: Dialog[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const title = /^=== (.+?) @(\w+)$/.exec(line)
    if (title) dialogs.push({ name: title[1]!, port: title[2] as Dialog['port'], lines: [] })
    else if (line.trim() !== '' && !line.startsWith('#'))
      dialogs.at(-1)!.lines.push({ number: index + 1, text: line })
  }
  return dialogs
}

/** A client that reads line by line. */
class Client {
  #socket: Socket
  #input = ''
  #ended = false
  #wake: () => void = () => undefined

  constructor(socket: Socket) {
    this.#socket = socket
    this.#listen()
  }

  #listen(): void {
    this.#socket.on('data', (chunk: Buffer) => {
      this.#input += chunk.toString('latin1')
      this.#wake()
    })
    const over = (): void => {
      this.#ended = true
      this.#wake()
    }
    this.#socket.on('end', over).on('close', over).on('error', over)
  }

  async line(): Promise<string> {
    const end = Date.now() + PATIENCE
    for (;;) {
      const at = this.#input.indexOf('\r\n')
      if (at >= 0) {
        const line = this.#input.slice(0, at)
        this.#input = this.#input.slice(at + 2)
        return line
      }
      if (this.#ended) return '(closed)'
      if (Date.now() > end) return '(nothing)'
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, PATIENCE).unref()
      })
    }
  }

  write(text: string): void {
    this.#socket.write(Buffer.from(text, 'utf8'))
  }

  writeRaw(text: string): void {
    this.#socket.write(Buffer.from(text, 'latin1'))
  }

  async startTls(): Promise<void> {
    this.#socket.removeAllListeners()
    const secure = connectTls({
      socket: this.#socket,
      rejectUnauthorized: false,
      servername: 'mail.acme.example',
    })
    await new Promise<void>((resolve, reject) => {
      secure.once('secureConnect', resolve).once('error', reject)
      setTimeout(() => reject(new Error('no handshake')), PATIENCE).unref()
    })
    this.#socket = secure
    this.#listen()
  }

  half(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

/** Words in braces stand for what is different in every run. */
function fill(text: string, { keys }: Door): string {
  const base64 = (value: string) => Buffer.from(value, 'latin1').toString('base64')
  return text
    .replaceAll(/\{plain (\w+)\}/g, (_, key: keyof Door['keys']) =>
      base64(`\0posthaste\0${keys[key] ?? key}`),
    )
    .replaceAll(/\{base64 (\w+)\}/g, (_, key: keyof Door['keys']) => base64(keys[key] ?? key))
    .replaceAll(/\{x(\d+)\}/g, (_, times: string) => 'x'.repeat(Number(times)))
}

const pattern = (text: string) =>
  new RegExp(`^${text.replaceAll(/[.+?^${}()|[\]\\*]/g, '\\$&').replaceAll('…', '.*')}$`, 's')

/** Plays one conversation; returns null, or what went otherwise. */
export async function play(dialog: Dialog, door: Door): Promise<string | null> {
  const port = door.ports[dialog.port]
  const socket =
    dialog.port === 'implicit'
      ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const client = new Client(socket)
  try {
    for (const { number, text } of dialog.lines) {
      const wrong = await perform(text, client, door)
      if (wrong !== null) return `line ${number}: expected ${text.slice(2)}, got ${wrong}`
    }
    return null
  } finally {
    client.destroy()
  }
}

async function perform(text: string, client: Client, door: Door): Promise<string | null> {
  const said = fill(text.slice(2), door)
  switch (text[0]) {
    case '>':
      client.write(`${said}\r\n`)
      return null
    case '!':
      client.writeRaw(JSON.parse(said) as string)
      return null
    case '<': {
      const line = await client.line()
      return pattern(said).test(line) ? null : line
    }
    case '*': {
      // All lines of one reply; what is given must be among them.
      const lines = [await client.line()]
      while (/^\d{3}-/.test(lines.at(-1)!)) lines.push(await client.line())
      return lines.some((line) => pattern(said).test(line)) ? null : lines.join(' / ')
    }
    case '=':
      return act(said, client, door)
    default:
      throw new Error(`no such line in a dialog: ${text}`)
  }
}

async function act(what: string, client: Client, door: Door): Promise<string | null> {
  const [word, value] = what.split(' ')
  if (word === 'tls') await client.startTls()
  else if (word === 'half') client.half()
  else if (word === 'advance') await door.clock.advance(Number(value) * 1000)
  else if (word === 'closed') {
    const line = await client.line()
    return line === '(closed)' ? null : line
  } else if (word === 'accepted') {
    const count = (await door.emails()).length
    return count === Number(value) ? null : `${count} accepted`
  } else throw new Error(`no such act in a dialog: ${what}`)
  return null
}
