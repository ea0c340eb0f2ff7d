import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadProviders, InvalidTable } from '../../../appliance/config/config.ts'
import { Providers, determineProvider } from '../../../appliance/shaping/shaping.ts'

const table = loadProviders({ connections: 10 })
const mx = (...names: string[]) => names.map((exchange) => ({ preference: 10, exchange }))

describe('the provider of MX hosts', () => {
  test.each([
    ['google', mx('aspmx.l.google.com', 'alt1.aspmx.l.google.com')],
    ['google', mx('ASPMX3.GOOGLEMAIL.COM.')],
    ['yahoo', mx('mta5.am0.yahoodns.net')],
    ['outlook', mx('hotmail-com.olc.protection.outlook.com')],
    ['m365', mx('acme-example.mail.protection.outlook.com')],
    ['m365-dane', mx('acme-example.j-v1.mx.microsoft')],
    ['icloud', mx('mx01.mail.icloud.com')],
    ['comcast', mx('mx1a1.comcast.net')],
    ['proofpoint', mx('mxa-001.gslb.pphosted.com')],
    ['mail-ru', mx('mxs.mail.ru')],
    ['gmx', mx('mx00.gmx.net')],
    ['gmx', mx('mx00.mail.com')],
    ['hosting.example', mx('mx2.eu.hosting.example', 'mx1.eu.hosting.example')],
    ['example.co.uk', mx('mail.example.co.uk')],
    ['notgoogle.com', mx('mx.notgoogle.com')],
    ['acme.example', [...mx('mx.acme.example'), { preference: 20, exchange: 'aspmx.l.google.com' }]],
    ['google', [{ preference: 5, exchange: 'aspmx.l.google.com' }, ...mx('mx.acme.example')]],
    ['[192.0.2.1]', mx('[192.0.2.1]')],
    ['localhost', mx('localhost')],
  ])('the provider is %s for %j', (expected, hosts) => {
    expect(determineProvider(hosts, table)).toBe(expected)
    expect(determineProvider([...hosts].reverse(), table)).toBe(expected)
  })
})

describe('provider settings', () => {
  test('a provider’s own settings take precedence over those set for all, then the defaults', () => {
    const live = new Map([
      ['default', { idle_seconds: 3 }],
      ['google', { connections: 2 }],
    ])
    const providers = new Providers(table, live)
    expect(providers.get('google')).toMatchObject({
      limits: { connections: 2, messagesPerConnection: 50, idleSeconds: 3 },
      changed: ['connections'],
      origin: 'table',
    })
    expect(providers.get('comcast').limits.idleSeconds).toBe(30)
    expect(providers.get('hosting.example').limits).toMatchObject({ connections: 10, idleSeconds: 3 })
    expect(providers.list()[0]).toMatchObject({ id: 'default', name: 'every other provider' })
  })
})

describe('a providers file', () => {
  const write = (text: string): string => {
    const file = join(mkdtempSync(join(tmpdir(), 'posthaste-providers-')), 'providers.toml')
    writeFileSync(file, text)
    return file
  }
  const base = `[default]
messages_per_connection = 100
messages_per_minute = 6000
recipients_per_message = 50
idle_seconds = 10
warm_up = [50, 100]
`

  test('a providers file of the operator replaces the built-in one', () => {
    const own = loadProviders(
      { connections: 7 },
      write(`${base}[acme]\nname = "Acme"\nmx = ["acme.example"]\n`),
    )
    expect(own.providers.map(({ id }) => id)).toEqual(['acme'])
    expect(new Providers(own).get('acme').limits.connections).toBe(7)
  })

  test.each([
    ['', 'the table [default] is missing. It sets the limits that others inherit.'],
    ['[default]\nconnections = 0', 'default.connections is 0; expected a whole number from 1 to 500.'],
    ['[default]', 'default.messages_per_minute is missing.'],
    [`${base}[acme]\nmx = ["acme.example"]`, "acme.name is missing: the provider's display name."],
    [`${base}[acme]\nname = "Acme"`, 'acme.mx: expected a list of MX hostnames or their parent domains.'],
    [`${base}[acme]\nname = "Acme"\nmx = ["a.example"]\nspeed = 1`, 'unknown key acme.speed.'],
    [
      `${base}[[default.pauses]]\nminutes = 1\nsays = "x"`,
      'default.pauses[0] matches every reply: expected text, enhanced or both.',
    ],
    [
      `${base}[[default.pauses]]\ntext = '(a+)+'\nminutes = 1\nsays = "x"`,
      'default.pauses[0].text repeats a group with +',
    ],
    [
      `${base}[[default.pauses]]\ntext = '('\nminutes = 1\nsays = "x"`,
      'default.pauses[0].text is not a regular expression',
    ],
    [
      `${base}[a]\nname = "A"\nmx = ["x.example"]\n[b]\nname = "B"\nmx = ["x.example"]`,
      'b.mx has x.example, which a also has.',
    ],
  ])('an invalid providers file is rejected with the reason: case %#', (text, complaint) => {
    const load = () => loadProviders({ connections: 10 }, write(text))
    expect(load).toThrow(InvalidTable)
    expect(load).toThrow(complaint)
  })

  test('the built-in providers file lists at least twenty providers', () => {
    expect(table.providers.length).toBeGreaterThanOrEqual(20)
  })
})
