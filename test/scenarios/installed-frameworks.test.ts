import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import PostalMime from 'postal-mime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'

/**
 * Laravel, Symfony and Rails as packaged by Debian, and the HTTP and JSON libraries of the hosted service's Java
 * client, send ordinary mail to an unmodified server. Debian only has their SMTP transports. The API transports' bodies
 * are in frameworks.test.ts.
 */

const execute = promisify(execFile)
const programs = join(import.meta.dirname, '../fixtures/frameworks/programs')
const JARS = ['okhttp', 'okio', 'jackson-core', 'jackson-databind', 'jackson-annotations']
const classpath = JARS.map((jar) => `/usr/share/java/${jar}.jar`).join(':')

const wanted = process.env.POSTHASTE_TEST_FRAMEWORKS === '1'

describe.skipIf(!wanted)('installed frameworks (skipped unless ./scripts/test frameworks)', () => {
  let appliance: TestAppliance
  beforeAll(async () => {
    appliance = await startAppliance({ config: { smtp: { starttls: ['127.0.0.1:0'] } as never } })
  })
  afterAll(() => appliance.close())

  /** Returns the email with this subject: its API object, and the message that was sent. */
  async function emailOf(subject: string) {
    const { body } = await appliance.call<{ data: { id: string; subject: string }[] }>('GET', '/emails')
    const { id } = body.data.find((email) => email.subject === subject)!
    await appliance.until(id, ({ deliveries }) => deliveries.every(({ state }) => state === 'delivered'))
    const email = (
      await appliance.call<{ to: string[]; cc: string[]; bcc: string[] }>('GET', `/emails/${id}`)
    ).body
    const source = await fetch(`${appliance.url}/emails/${id}/source`, {
      headers: { authorization: `Bearer ${appliance.apiKey}` },
    })
    return { email, mail: await PostalMime.parse(await source.arrayBuffer()) }
  }

  const acme = { name: 'Acme, Inc.', address: 'hello@example.test' }

  async function expectFull(name: string): Promise<void> {
    const { email, mail } = await emailOf(`${name}, Grüße & "Küsse"`)
    expect(mail.from).toEqual(acme)
    expect(mail.replyTo).toEqual([{ name: "O'Brien, Pat", address: 'help@example.test' }])
    expect(mail.html).toContain('<p>Hi <b>Ada</b></p>')
    expect(mail.attachments.map(({ filename, mimeType }) => [filename, mimeType])).toEqual([
      ['invoice.pdf', 'application/pdf'],
    ])
    expect(Buffer.from(mail.attachments[0]!.content as ArrayBuffer).toString()).toBe('%PDF')
    expect(mail.headers.map(({ key }) => key)).not.toContain('bcc')
    expect([email.cc, email.bcc]).toEqual([['carl@customer.test'], ['berta@customer.test']])
  }

  test.each([
    ['Laravel', 'php', 'laravel.php'],
    ['Symfony', 'php', 'symfony.php'],
    ['Rails', 'ruby', 'rails.rb'],
  ])('%s sends plain mail, and mail with every field', async (name, program, file) => {
    const port = appliance.appliance.smtp.starttls[0]!.split(':')[1]!
    await execute(program, [join(programs, file), port, appliance.apiKey])
    const { mail } = await emailOf(`${name} plain`)
    expect([mail.from, mail.text?.trim()]).toEqual([acme, 'Hi Ada'])
    await expectFull(name)
  })

  test('the Java client sends, schedules and cancels emails, and updates a domain', async () => {
    const { stdout } = await execute('java', [
      '-cp',
      classpath,
      join(programs, 'Client.java'),
      appliance.url,
      appliance.apiKey,
    ])
    const responses = stdout.trim().split('\n')
    expect(responses.map((line) => line.slice(0, 3))).toEqual(Array(responses.length).fill('200'))
    const bodies = responses.map((line) => JSON.parse(line.slice(4)) as Record<string, unknown>)
    expect(bodies).toHaveLength(9)
    expect(bodies[6]).toMatchObject({ last_event: 'canceled' })
    const domain = (await appliance.call('GET', `/domains/${String(bodies[8]!.id)}`)).body
    expect(domain).toMatchObject({ tls: 'enforced' })
    await expectFull('Java')
  })
})
