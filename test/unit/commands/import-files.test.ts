import { describe, expect, test } from 'vitest'
import { importStage, result, said, tally } from './import-stage.ts'

const { run, pathOf, file, json, bring } = importStage()

describe('import from SES', () => {
  const suppressed = {
    SuppressedDestinationSummaries: [
      {
        EmailAddress: 'gone@acme.example',
        Reason: 'BOUNCE',
        LastUpdateTime: '2024-04-10T21:03:05.123000+00:00',
      },
      { EmailAddress: 'angry@acme.example', Reason: 'COMPLAINT', LastUpdateTime: 1586552585.077 },
      { EmailAddress: 'no address', Reason: 'BOUNCE' },
    ],
  }
  const welcome = {
    TemplateName: 'Welcome-1',
    TemplateContent: {
      Subject: 'Hi {{name}}',
      Html: '<p>Hi {{name}}, {{order.total}}</p>',
      Text: 'Hi {{name}}',
    },
  }
  const old = {
    Template: { TemplateName: 'Old', SubjectPart: 'Old', TextPart: '{{#if vip}}<Dear>{{/if}} {{name}}' },
  }

  test('imports suppressed destinations and templates from SES once', async () => {
    const list = file('list.json', JSON.stringify(suppressed, null, 2))
    const names = { TemplatesMetadata: [{ TemplateName: 'Welcome-1' }, { TemplateName: 'Absent' }] }
    const templates = file(
      'templates.json',
      [welcome, old, names].map((one) => JSON.stringify(one)).join('\n'),
    )
    const preview = result(await bring('ses', list, templates, '--dry-run'))
    const first = await bring('ses', list, templates)
    expect(first.code).toBe(1)
    expect(first.stderr).toBe('2 objects were skipped for the reasons above.\n')
    const printed = result(first)
    expect(preview).toMatchObject({ suppressions: tally(3, 2, 0, 1), templates: tally(3, 2, 0, 1) })
    expect(printed).toMatchObject({ suppressions: tally(3, 2, 0, 1), templates: tally(3, 2, 0, 1) })
    expect(said(printed.templates!.reasons)[0]).toMatch(
      /^Absent: the files have only its name; .*get-email-template/,
    )
    expect(said(printed.templates!.notes)).toEqual([
      'Welcome-1: the variable order.total is called order_total here',
      'Old: it has no HTML; it is made from the text',
      expect.stringMatching(/^Old: it stays a draft: .*\{\{#if vip\}\}, \{\{\/if\}\}$/),
    ])

    const { data } = await json<{ data: object[] }>('suppression', 'list')
    expect(data).toMatchObject([
      { email: 'gone@acme.example', origin: 'bounce', created_at: '2024-04-10 21:03:05.123+00' },
      { email: 'angry@acme.example', origin: 'complaint', created_at: '2020-04-10 21:03:05.077+00' },
    ])
    expect(await json('template', 'show', 'Welcome-1')).toMatchObject({
      status: 'published',
      subject: 'Hi {{{name}}}',
      html: '<p>Hi {{{name}}}, {{{order_total}}}</p>',
      text: 'Hi {{{name}}}',
      variables: [{ key: 'name' }, { key: 'order_total' }],
    })
    expect(await json('template', 'show', 'Old')).toMatchObject({
      status: 'draft',
      html: '<p style="white-space: pre-line">{{#if vip}}&lt;Dear&gt;{{/if}} {{{name}}}</p>',
    })
    expect(result(await bring('ses', list, templates))).toMatchObject({
      suppressions: tally(3, 0, 2, 1),
      templates: tally(3, 0, 2, 1),
    })
  })

  test('rejects an invalid SES file with the line of the error, and imports nothing', async () => {
    const good = file('good.json', JSON.stringify(suppressed))
    const refusal = async (content: string | Uint8Array): Promise<string> => {
      const bad = file('bad.json', content)
      const { code, stdout, stderr } = await bring('ses', good, bad)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      return stderr.replace(bad, 'FILE')
    }
    expect(await refusal('{"a":1}')).toMatch(/^FILE, line 1: expected the output of aws sesv2/)
    expect(await refusal('{"TemplatesMetadata":[]}\n\n[]')).toBe('FILE, line 3: expected a JSON object.\n')
    expect(await refusal('{"Template":\n{"a": }}')).toMatch(/^FILE, line \d: invalid JSON/)
    expect(await refusal('{"Template": {')).toMatch(/^FILE, line 1: invalid JSON, or the file is incomplete/)
    expect(await refusal(`{"a":${'['.repeat(100)}`)).toMatch(/^FILE, line 1: more than 64 levels of nesting/)
    expect(
      await refusal(`{"Template":{"TemplateName":"\\"}{\\\\","TextPart":"${'x'.repeat(2_000_000)}"}}\n7`),
    ).toBe('FILE, line 2: expected a JSON object.\n')
    expect(await refusal('')).toBe('FILE is empty.\n')
    expect(await refusal(Uint8Array.of(0xff, 0xfe, 0xfd))).toBe('FILE is not text in UTF-8.\n')
    expect((await json<{ data: [] }>('suppression', 'list')).data).toEqual([])
  })

  test('rejects conflicting options', async () => {
    const good = file('good.json', JSON.stringify(suppressed))
    const says = async (...args: string[]) => {
      const { code, stderr } = await run('import', ...args)
      return `${code} ${stderr}`
    }
    expect(await says('--from', 'sess', '--files', good)).toMatch(
      /^2 --from must be the URL .*ses, mailchimp/,
    )
    expect(await says('--from', 'ses')).toMatch(/^2 Add --files/)
    expect(await says('--from', 'ses', '--files', good, '--key-file', good)).toMatch(
      /^2 --key-file is for the API/,
    )
    expect(await says('--from', 'https://api.example.com', '--files', good)).toMatch(
      /^2 --files is for exported/,
    )
    expect(await says('--from', 'ses', '--files', good, '--only', 'contacts')).toMatch(
      /^2 Exports of ses have no contacts, only: suppressions, templates/,
    )
    expect(await says('--from', 'ses', '--files', pathOf('none'))).toMatch(
      /^1 Cannot read .*none does not exist/,
    )
  })
})

describe('import from Postal', () => {
  test('imports suppressions and domains from a Postal database once', async () => {
    const suppressions = file(
      'suppressions.tsv',
      'id\ttype\taddress\treason\ttimestamp\tkeep_until\n' +
        '1\trecipient\tgone@acme.example\ttoo many hard fails\t1700000000.500000\t4102444800.000000\n' +
        '2\trecipient\told@acme.example\ttoo many soft fails\t1500000000.000000\t1500000001.000000\n' +
        '3\trecipient\tasked@acme.example\tNULL\tNULL\tNULL\n' +
        '4\tsender\tother@acme.example\tNULL\tNULL\tNULL\n',
    )
    const domains = file('domains.tsv', 'name\nacme.example\nnot a domain\n')
    const printed = result(await bring('postal', suppressions, domains))
    expect(printed).toMatchObject({ suppressions: tally(4, 2, 0, 2), domains: tally(2, 1, 0, 1) })
    expect(said(printed.suppressions!.reasons)).toEqual([
      `${suppressions}, line 3: it has expired in Postal`,
      `${suppressions}, line 5: its type is not recipient`,
    ])
    const { data } = await json<{ data: object[] }>('suppression', 'list')
    expect(data).toHaveLength(2)
    expect(data).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          email: 'gone@acme.example',
          origin: 'bounce',
          created_at: '2023-11-14 22:13:20.5+00',
          reason: 'Imported from postal',
        }),
        expect.objectContaining({ email: 'asked@acme.example', origin: 'manual' }),
      ]),
    )
    expect(await json('domain', 'show', 'acme.example')).toMatchObject({ status: 'not_started' })
    expect(result(await bring('postal', suppressions, domains))).toMatchObject({
      suppressions: tally(4, 0, 2, 2),
      domains: tally(2, 0, 1, 1),
    })
  })

  test('rejects other tables of a Postal database', async () => {
    const { code, stderr } = await bring(
      'postal',
      file('users.tsv', 'id\temail_address\n1\tx@acme.example\n'),
    )
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /users\.tsv, line 1: expected a column address \(suppressions\) or name \(domains\)/,
    )
  })
})
