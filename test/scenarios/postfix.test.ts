import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { spf } from 'mailauth/lib/spf/index.js'
import { createTransport } from 'nodemailer'
import PostalMime from 'postal-mime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startPostfix, type Postfix } from '../world/postfix.ts'
import { createWorld, type World } from '../world/world.ts'

/**
 * Verifies deliveries with independent software: a real Postfix receives, OpenDKIM verifies the signature, and mailauth
 * the envelope.
 */

const execute = promisify(execFile)

describe.runIf(process.getuid?.() === 0)('a real Postfix on port 25 (needs root)', () => {
  let world: World
  let postfix: Postfix
  let sevenBit: Postfix
  let appliance: TestAppliance

  beforeAll(async () => {
    postfix = await startPostfix({ domain: 'postfix.test', host: 'mx.postfix.test' })
    sevenBit = await startPostfix({
      domain: 'seven.test',
      host: 'mx.seven.test',
      settings: { smtpd_discard_ehlo_keywords: '8bitmime, smtputf8' },
    })
    world = await createWorld({
      domains: {},
      names: {
        'seven.test': { MX: { preference: 10, exchange: 'mx.seven.test' } },
        'mx.seven.test': { A: sevenBit.address },
        'postfix.test': { MX: { preference: 10, exchange: 'mx.postfix.test' } },
        'mx.postfix.test': { A: postfix.address },
      },
    })
    const limits = {
      max_connections: 10,
      max_connections_per_address: 10,
      max_unknown_connections_per_address: 1000,
    }
    const listen = { starttls: ['127.0.0.1:0'], implicit_tls: [], trusted: [], proxy_protocol_from: [] }
    const smtp = { ...listen, ...limits, hide_client: false }
    appliance = await startAppliance({ world, config: { delivery: { port: 25 } as never, smtp } })
  })

  afterAll(async () => {
    await appliance?.close()
    await world?.close()
    await postfix?.close()
    await sevenBit?.close()
  })

  test('Postfix accepts an email over STARTTLS that passes OpenDKIM and SPF', async () => {
    const id = await appliance.send({
      from: 'Größe & Co <hello@sender.test>',
      to: ['ada@postfix.test', 'bob@postfix.test'],
      subject: 'Ünïcode, dots and long lines',
      html: `<p>Straße</p>\n.\n..\n<p>${'long '.repeat(500)}</p>`,
      attachments: [{ filename: 'a.bin', content: Buffer.alloc(100_000, 7).toString('base64') }],
      headers: { 'List-Unsubscribe': '<https://sender.test/u>', 'X-Entity-Ref-ID': '42' },
    })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries.map(({ state, attempts }) => [state, attempts])).toEqual([
      ['delivered', 1],
      ['delivered', 1],
    ])
    expect(timeline.attempts).toHaveLength(1)
    expect(timeline.attempts[0]!.tls).toMatchObject({ version: 'TLSv1.3' })
    expect(timeline.deliveries[0]!.cause!.reply).toMatchObject({ code: 250, enhanced: '2.0.0' })

    const [message] = await postfix.waitFor(2)
    expect(message).toMatch(/^Return-Path: <bounce\+/)
    expect(message).toContain('using TLSv1.3')
    expect(await openDkim(message!)).toMatch(
      /verification \(s=posthaste, d=sender\.test, 2048-bit key\) succeeded/,
    )

    const envelope = /^Return-Path: <(.*)>/.exec(message!)![1]!
    const judged = await spf({
      sender: envelope,
      ip: /from mail\.sender\.test \(\S+ \[([\d.]+)\]\)/.exec(message!)![1]!,
      helo: 'mail.sender.test',
      resolver: lookUp,
    })
    expect(judged.status.result).toBe('pass')
  })

  test('a Postfix without 8BITMIME accepts a message converted to 7 bits, which passes OpenDKIM', async () => {
    const port = Number(appliance.appliance.smtp.starttls[0]!.split(':')[1])
    const transport = createTransport({
      host: '127.0.0.1',
      port,
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'posthaste', pass: appliance.apiKey },
    })
    const lines = [
      'From: Größe <hello@sender.test>',
      'Content-Type: multipart/mixed; boundary=b',
      'Content-Transfer-Encoding: 8bit',
      '',
      '--b',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Description: für Zoë',
      '',
      'Straße und Köln, aus der Ferne gesehen',
      '--b',
      'Content-Type: application/octet-stream',
      'Content-Disposition: attachment; filename="ü.bin"',
      'Content-Transfer-Encoding: binary',
      '',
      'ÿ'.repeat(300),
      '--b--',
    ]
    const envelope = { from: 'hello@sender.test', to: ['ada@seven.test'] }
    const { response } = await transport.sendMail({ envelope, raw: lines.join('\r\n') })
    transport.close()
    const timeline = await appliance.until(/Queued as (.+)$/.exec(response)![1]!, isFinal)
    expect(timeline.deliveries.map(({ state }) => state)).toEqual(['delivered'])
    const [message] = await sevenBit.waitFor(1)
    expect(message).toMatch(/^[\0-\x7f]*$/)
    expect(await openDkim(message!)).toMatch(
      /verification \(s=posthaste, d=sender\.test, 2048-bit key\) succeeded/,
    )
    const { text, attachments } = await PostalMime.parse(message!)
    expect(text?.trim()).toBe('Straße und Köln, aus der Ferne gesehen')
    expect(attachments[0]).toMatchObject({ filename: 'ü.bin' })
    expect(Buffer.from(attachments[0]!.content as ArrayBuffer).toString()).toBe('ÿ'.repeat(300))
  })

  test('a Postfix that rejects a recipient causes a bounce with its reply', async () => {
    const id = await appliance.send({ to: 'ada@mx.postfix.test' })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries[0]).toMatchObject({
      state: 'bounced',
      cause: { reply: { code: 554, enhanced: '5.7.1' } },
    })
    expect(timeline.deliveries[0]!.cause!.reply!.text).toContain('Relay access denied')
  })

  /** Verifies with OpenDKIM's own program. The key comes from a file instead of DNS. */
  async function openDkim(delivered: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'posthaste-opendkim-'))
    try {
      const domain = (await appliance.appliance.senders.findDomain({
        teamId: appliance.teamId,
        name: 'sender.test',
      }))!
      const records = await appliance.appliance.senders.expectedRecords(domain)
      const keys = records.filter(({ record }) => record === 'DKIM')
      await writeFile(join(folder, 'keys'), keys.map(({ fqdn, value }) => `${fqdn} ${value}\n`).join(''))
      await writeFile(
        join(folder, 'opendkim.conf'),
        `Mode v\nSyslog no\nTestPublicKeys ${join(folder, 'keys')}\n`,
      )
      await writeFile(join(folder, 'message.eml'), delivered.replaceAll(/\r?\n/g, '\r\n'), 'latin1')
      const { stdout, stderr } = await execute('opendkim', [
        '-x',
        join(folder, 'opendkim.conf'),
        '-t',
        join(folder, 'message.eml'),
      ])
      return stdout + stderr
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async function lookUp(name: string, type: string): Promise<string[] | string[][]> {
    const { Resolver } = await import('node:dns/promises')
    const resolver = new Resolver()
    resolver.setServers(world.dnsServers)
    return (await resolver.resolve(name, type)) as string[]
  }
})
