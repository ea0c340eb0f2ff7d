import { once } from 'node:events'
import { copyFile, mkdtemp, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { createServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { RequestLog } from '../../../appliance/storage/storage.ts'
import { bindServer, explainBindError } from '../../../appliance/wire/listeners.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import { sendWithNodemailer } from './clients.ts'
import { startDoor, type Door, type DoorOptions } from './harness.ts'

let door: Door | undefined
afterEach(async () => {
  await door?.close()
  door = undefined
})
const open = async (options: DoorOptions = {}) => (door = await startDoor(options))
const world = join(import.meta.dirname, '../../world/tls')

async function secure(port: number, servername?: string): Promise<TLSSocket> {
  const socket = connectTls({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ...(servername ? { servername } : {}),
  })
  await once(socket, 'data')
  return socket
}

const commonName = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN

describe('the request log of SMTP', () => {
  test('the request log records each SMTP message with its envelope and replies, and no API key', async () => {
    const running = await open()
    await sendWithNodemailer(running, {})
    await sendWithNodemailer(running, {
      from: 'ceo@bank.example',
      envelope: { from: 'app@acme.example', to: 'ada@customer.example' },
    })
    await expect.poll(() => running.logs.length).toBe(2)
    const [email] = await running.emails()
    expect(
      running.logs.map(({ method, endpoint, status, emailIds }) => ({ method, endpoint, status, emailIds })),
    ).toEqual([
      {
        method: 'SMTP',
        endpoint: `smtp://${running.ports.starttls} MAIL`,
        status: 250,
        emailIds: [email!.id],
      },
      { method: 'SMTP', endpoint: `smtp://${running.ports.starttls} DATA`, status: 550, emailIds: [] },
    ])
    const request = JSON.parse(running.logs[0]!.requestBody!) as object
    expect(request).toMatchObject({
      listener: 'starttls',
      tls: 'TLSv1.3',
      mail_from: 'app@acme.example',
      rcpt_to: ['ada@customer.example'],
    })
    const { replies } = JSON.parse(running.logs[0]!.responseBody!) as {
      replies: { said: string; reply: string }[]
    }
    expect(replies.at(-1)).toEqual({ said: 'DATA', reply: `250 2.0.0 Queued as ${email!.id}` })
    const all = JSON.stringify(running.logs)
    expect(all).not.toContain(running.keys.full)
    expect(all).not.toContain(Buffer.from(running.keys.full).toString('base64').slice(4, 30))
  })
})

describe('a rejected SMTP command', () => {
  const about = ({ endpoint, status, enhanced, message }: RequestLog) => ({
    endpoint,
    status,
    enhanced,
    message,
  })

  test('a rejected SMTP command is logged with its reply', async () => {
    const running = await open()
    const envelope = { from: 'ceo@bank.example', to: 'ada@customer.example' }
    await sendWithNodemailer(running, { envelope })
    await sendWithNodemailer(running, {
      envelope: { ...envelope, from: 'app@acme.example', to: 'ada@localhost' },
    })
    await expect.poll(() => running.logs.length).toBe(2)
    const prefix = `smtp://${running.ports.starttls}`
    expect(running.logs.map(about)).toEqual([
      {
        endpoint: `${prefix} MAIL FROM:<ceo@bank.example>`,
        status: 550,
        enhanced: '5.7.1',
        message: expect.stringContaining('bank.example') as string,
      },
      {
        endpoint: `${prefix} RCPT TO:<ada@localhost>`,
        status: 553,
        enhanced: '5.1.3',
        message: expect.stringMatching(/./) as string,
      },
    ])
  })
})

describe('SMTP TLS certificates', () => {
  test('without certificate files, a self-signed certificate is created once, readable only by its owner', async () => {
    const running = await open()
    const socket = await secure(running.ports.implicit)
    expect(commonName(socket)).toBe('mail.acme.example')
    expect((await stat(join(running.dataDir, 'tls/self-signed.json'))).mode & 0o777).toBe(0o600)
    socket.destroy()
  })

  test('certificates are reloaded when the files change, without ending open sessions', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'posthaste-certs-'))
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
    const put = async (name: string) => {
      await copyFile(join(world, `${name}.pem`), files.cert)
      await copyFile(join(world, `${name}.key`), files.key)
    }
    await put('trusted')
    const running = await open({ files })
    const before = await secure(running.ports.implicit)
    const first = before.getPeerCertificate().fingerprint256
    await put('self-signed')
    const now = async () => {
      const socket = await secure(running.ports.implicit)
      const { fingerprint256 } = socket.getPeerCertificate()
      socket.destroy()
      return fingerprint256
    }
    await expect.poll(now, { interval: 200 }).not.toBe(first)
    before.write('NOOP\r\n')
    expect(String(await once(before, 'data'))).toBe('250 2.0.0 Ok\r\n')
    before.destroy()
  })

  test('a key that does not match leaves the old certificate in use', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'posthaste-certs-'))
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
    await copyFile(join(world, 'trusted.pem'), files.cert)
    await copyFile(join(world, 'trusted.key'), files.key)
    const running = await open({ files })
    await copyFile(join(world, 'self-signed.key'), files.key)
    await expect(running.certificates.reload()).rejects.toThrow(/is not usable .+ the key must match it/)
    ;(await secure(running.ports.implicit)).destroy()
  })

  test('additional certificates are selected by SNI', async () => {
    const additional = [{ cert: join(world, 'self-signed.pem'), key: join(world, 'self-signed.key') }]
    const running = await open({ additional })
    const named = await secure(running.ports.implicit, 'mx.self-signed.test')
    const other = await secure(running.ports.implicit, 'nobody.example')
    expect(named.getPeerCertificate().fingerprint256).not.toBe(other.getPeerCertificate().fingerprint256)
    expect(commonName(other)).toBe('mail.acme.example')
    named.destroy()
    other.destroy()
  })

  test('TLS 1.1 is refused', async () => {
    const running = await open()
    const socket = connectTls({
      port: running.ports.implicit,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    })
    const [error] = (await once(socket, 'error').catch((reason: unknown) => [reason])) as [Error]
    expect(error).toBeInstanceOf(Error)
  })
})

describe('stopping the SMTP server', () => {
  test('a stop closes idle sessions with 421 and finishes a message in progress', async () => {
    let release: () => void = () => undefined
    const hold = new Promise<void>((resolve) => (release = resolve))
    const running = await startDoor({ hold })
    const idle = connect({ port: running.ports.starttls, host: '127.0.0.1' })
    await once(idle, 'data')
    const busy = connect({ port: running.ports.trusted, host: '127.0.0.1' })
    let said = ''
    busy.on('data', (chunk: Buffer) => (said += chunk.toString()))
    busy.write('EHLO a\r\nMAIL FROM:<app@acme.example>\r\nRCPT TO:<ada@customer.example>\r\nDATA\r\n')
    await expect.poll(() => said).toContain('354')
    busy.write('From: app@acme.example\r\n\r\nHi\r\n')
    const goodbye = once(idle, 'data')
    const closing = running.close()
    expect(String(await goodbye)).toMatch(/^421 4\.3\.2 The server is shutting down/)
    busy.write('.\r\n')
    setTimeout(release, 100)
    await closing
    expect(said).toMatch(/250 2\.0\.0 Queued as .+\r\n421 4\.3\.2 /)
  })

  test('a stop does not wait for delayed replies to failed sign-ins', async () => {
    const running = await startDoor()
    const { clock, ports } = running
    const tls = await secure(ports.implicit)
    let said = ''
    tls.on('data', (chunk: Buffer) => (said += chunk.toString()))
    tls.write('EHLO a\r\n')
    await expect.poll(() => said).toContain('250 ')
    const after = clock.after.bind(clock)
    // Makes the delay after the first wrong key endless. Other timers run normally.
    const delayed = new Promise<void>((resolve) => {
      clock.after = (ms, callback) => {
        if (ms !== 250) return after(ms, callback)
        resolve()
        return () => undefined
      }
    })
    said = ''
    const wrong = Buffer.from('\0posthaste\0re_wrong_key').toString('base64')
    // Pipelined commands are no longer processed.
    tls.write(`AUTH PLAIN ${wrong}\r\nNOOP\r\n`)
    await delayed
    const ended = once(tls, 'end')
    await running.close()
    await ended
    expect(said).toBe('421 4.3.2 The server is shutting down. Nothing was accepted. Try again shortly.\r\n')
  })

  test('a stop does not wait for TLS handshakes, PROXY headers or clients that do not close', async () => {
    const running = await startDoor({ config: { proxyProtocolFrom: parseNetworks(['127.0.0.2/32']) } })
    const { clock, ports } = running
    const after = clock.after.bind(clock)
    // No timer of ten seconds or more fires: neither that of the stop nor those of handshakes and load balancers.
    clock.after = (ms, callback) => (ms < 10_000 ? after(ms, callback) : () => undefined)
    const silent = { allowHalfOpen: true, host: '127.0.0.1' }
    const handshake = connect({ ...silent, port: ports.implicit })
    const starttls = connect({ ...silent, port: ports.starttls })
    const balancer = connect({ ...silent, port: ports.starttls, localAddress: '127.0.0.2' })
    const stubborn = connect({ ...silent, port: ports.starttls })
    const all = [handshake, starttls, balancer, stubborn]
    for (const socket of all) socket.on('error', () => undefined) // Being cut off may look like a reset.
    await Promise.all([handshake, balancer].map((socket) => once(socket, 'connect')))
    await Promise.all([starttls, stubborn].map((socket) => once(socket, 'data')))
    let said = ''
    starttls.on('data', (chunk: Buffer) => (said += chunk.toString()))
    starttls.write('EHLO a\r\nSTARTTLS\r\n')
    await expect.poll(() => said).toContain('220 2.0.0 Ready')
    await running.close()
    for (const socket of all) socket.destroy()
  })
})

describe('a port that cannot be bound', () => {
  test('a port that cannot be bound is reported with the setting and what to do', async () => {
    const first = createServer()
    const { port } = await bindServer(first, '127.0.0.1:0', 'smtp.starttls')
    await expect(bindServer(createServer(), `127.0.0.1:${port}`, 'smtp.starttls')).rejects.toThrow(
      `Cannot listen on 127.0.0.1:${port} (smtp.starttls): another program uses port ${port};`,
    )
    first.close()
    const denied = Object.assign(new Error('denied'), { code: 'EACCES' })
    expect(explainBindError(denied, '0.0.0.0:25', 'smtp.starttls')).toMatch(
      /^Cannot listen on 0\.0\.0\.0:25 \(smtp\.starttls\): ports below 1024 require privileges\./,
    )
  })
})

describe('concurrent SMTP connections', () => {
  test('the server handles 500 idle and 200 busy TLS connections', async () => {
    const running = await open()
    const idle = await Promise.all(Array.from({ length: 500 }, () => secure(running.ports.implicit)))
    const port = running.ports.implicit
    const busy = await Promise.all(
      Array.from({ length: 200 }, () => sendWithNodemailer(running, {}, { port, secure: true })),
    )
    expect(busy.filter(({ ok }) => !ok)).toEqual([])
    expect(idle.filter(({ destroyed }) => destroyed)).toEqual([])
    for (const socket of idle) socket.destroy()
  })
})
