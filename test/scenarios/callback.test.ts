import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { freeAddress } from '../world/addresses.ts'
import { startPostfix, type Postfix } from '../world/postfix.ts'
import { createWorld, type World } from '../world/world.ts'

const execute = promisify(execFile)

/** A receiver that verifies senders by callback independently checks the return path. */
const able = process.getuid?.() === 0 && spawnSync('swaks', ['--version']).status === 0

describe.runIf(able)('port 25 as the MX of the return path (needs root and swaks)', () => {
  let world: World
  let postfix: Postfix
  let appliance: TestAppliance
  const host = freeAddress()
  // A Postfix of its own verifies without DNS: the return path resolves to our address.
  // Nothing listens where mail to gone@ is relayed.
  const nowhere = '{ gone@postfix.test = smtp:[127.0.0.1]:9 }'
  const toUs = {
    transport_maps: `inline:{ { send.sender.test = smtp:[${host}] }, ${nowhere} }`,
    maximal_queue_lifetime: '0',
  }

  beforeAll(async () => {
    postfix = await startPostfix({
      domain: 'postfix.test',
      host: 'mx.postfix.test',
      settings: {
        ...toUs,
        smtpd_sender_restrictions: 'reject_unverified_sender',
        unverified_sender_reject_code: 550,
        address_verify_poll_count: 20,
        address_verify_poll_delay: '1s',
        address_verify_map: '',
      },
      services: 'smtp unix - - n - - smtp\n',
    })
    world = await createWorld({
      domains: {},
      names: {
        'postfix.test': { MX: { preference: 10, exchange: 'mx.postfix.test' } },
        'mx.postfix.test': { A: postfix.address },
      },
    })
    appliance = await startAppliance({
      world,
      config: {
        delivery: { port: 25 } as never,
        smtp: { starttls: [`${host}:25`], postmaster: 'ops@postfix.test' } as never,
      },
    })
  })

  afterAll(async () => {
    await appliance?.close()
    await world?.close()
    await postfix?.close()
  })

  test('Postfix verifies the sender of an email by callback and accepts the email', async () => {
    const id = await appliance.send({
      from: 'hello@sender.test',
      to: 'ada@postfix.test',
      subject: 'Hello',
      text: 'Hi',
    })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries).toMatchObject([{ state: 'delivered' }])
    expect(await postfix.log()).toMatch(
      /to=<bounce\+[\da-f]{32}-[\da-f]{21}@send\.sender\.test>.*status=deliverable/,
    )
  })

  test('rejects an unknown return path', async () => {
    const from = 'bounce+0198f2a45a717000800000000000000a@send.sender.test'
    const { stdout } = await swaks(postfix.address, from, 'ada@postfix.test')
    expect(stdout).toMatch(/550 5\.1\.7 .*No email was sent with this return path/)
  })

  test('stores a report sent by swaks with its email, and leaves the email unchanged', async () => {
    const id = await appliance.send({
      from: 'hello@sender.test',
      to: 'ada@postfix.test',
      subject: 'Hello',
      text: 'Hi',
    })
    await appliance.until(id, isFinal)
    const [, path] = /^MAIL FROM:<(.+?)>/.exec(
      (await appliance.timeline(id)).attempts[0]!.steps.find((step) => step.sent?.startsWith('MAIL'))!.sent!,
    )!
    const { stdout } = await swaks(
      host,
      '<>',
      path!,
      '--tls',
      '--data',
      'Subject: Undelivered\n\nNo such user.',
    )
    expect(stdout).toMatch(/<~ +250 2\.0\.0 Received as/)
    const list = await appliance.call<{ data: { id: string }[] }>('GET', `/emails/${id}/returned`)
    expect(list).toMatchObject({
      status: 200,
      body: {
        object: 'list',
        has_more: false,
        data: [
          { object: 'returned_message', mail_from: '', rcpt_to: path, tls: 'TLSv1.3', has_content: true },
        ],
      },
    })
    const answer = await fetch(`${appliance.url}/emails/${id}/returned/${list.body.data[0]!.id}`, {
      headers: { authorization: `Bearer ${appliance.apiKey}` },
    })
    expect(answer.headers.get('content-type')).toBe('message/rfc822')
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; /)
    expect(await answer.text()).toBe('Subject: Undelivered\r\n\r\nNo such user.\r\n')
    expect((await appliance.timeline(id)).deliveries).toMatchObject([{ state: 'delivered' }])
  })

  test('an email that Postfix accepts but cannot deliver bounces when its report arrives', async () => {
    const id = await appliance.send({
      from: 'hello@sender.test',
      to: 'gone@postfix.test',
      subject: 'Hello',
      text: 'Hi',
    })
    const timeline = await appliance.until(id, ({ deliveries }) => deliveries[0]!.state === 'bounced')
    expect(timeline.events.map(({ type }) => type)).toEqual([
      'email.sent',
      'email.delivered',
      'email.bounced',
    ])
    expect(timeline.deliveries[0]!.cause).toMatchObject({ phase: 'report', category: 'network' })
    expect(timeline.returned).toMatchObject([
      {
        report: {
          kind: 'bounce',
          format: 'rfc3464',
          reporting_mta: 'mx.postfix.test',
          entries: [{ recipient: 'gone@postfix.test', action: 'failed', effect: 'bounced' }],
        },
      },
    ])
  })

  test('forwards mail to postmaster and lists it for the team that runs the server', async () => {
    const before = (await postfix.messages()).length
    await swaks(
      ...([host, 'ada@postfix.test', 'postmaster@send.sender.test'] as const),
      '--data',
      'Subject: Fire\n\nOn fire.',
    )
    const message = (await postfix.waitFor(before + 1)).at(-1)!
    expect(message).toMatch(/^Auto-Submitted: auto-generated\r?$/m)
    expect(message).toMatch(/^X-Posthaste-Postmaster: mail\.sender\.test\r?$/m)
    expect(message).toMatch(/^Content-Type: message\/rfc822/m)
    expect(message).toContain('Subject: Fire')

    const listed = async () => {
      type List = { data: { id: string; forwarded_as: string }[] }
      return (await appliance.call<List>('GET', '/postmaster')).body.data
    }
    const expected = { object: 'postmaster_message', mail_from: 'ada@postfix.test', forwarding: 'done' }
    await expect.poll(listed).toMatchObject([expected])
    const [first] = await listed()
    const { id, forwarded_as: emailId } = first!
    expect(await source(`/postmaster/${id}/source`)).toEqual([200, 'Subject: Fire\r\n\r\nOn fire.\r\n'])

    // The message that returns quotes a message from the appliance to a person, and belongs to no other email.
    const [, path] = /^Return-Path: <(.*)>/.exec(message)!
    await swaks(host, '<>', path!, '--data', 'Subject: Undelivered\n\nIt read: https://…/reset')
    const returned = await appliance.call<{ data: { id: string }[] }>('GET', `/emails/${emailId}/returned`)
    expect(returned.body.data).toHaveLength(1)
    const [status] = await source(`/emails/${emailId}/returned/${returned.body.data[0]!.id}`)
    expect(status).toBe(403)
  })

  async function source(path: string): Promise<[status: number, text: string]> {
    const answer = await fetch(`${appliance.url}${path}`, {
      headers: { authorization: `Bearer ${appliance.apiKey}` },
    })
    return [answer.status, await answer.text()]
  }

  /** Runs swaks. A refusal doesn't make it fail; check its output. */
  async function swaks(
    server: string,
    from: string,
    to: string,
    ...more: string[]
  ): Promise<{ stdout: string }> {
    const args = ['--server', server, '--port', '25', '--helo', 'mx.postfix.test', '--from', from, '--to', to]
    return execute('swaks', [...args, ...more]).catch((error: { stdout: string }) => error)
  }
})
