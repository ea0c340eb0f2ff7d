import { describe, expect, test } from 'vitest'
import { zip } from '../inbound/samples/reports.ts'
import { importStage, result, said, tally } from './import-stage.ts'

const { run, file, json, bring } = importStage()
const shown = async (email: string) => (await run('contact', 'show', email)).stdout
const segments = async () => {
  const { data } = await json<{ data: { name: string; contacts: number }[] }>('segment', 'list')
  return Object.fromEntries(data.map(({ name, contacts }) => [name, contacts]))
}

describe('import from Mailchimp', () => {
  const head = 'Email Address,First Name,Last Name,City,MEMBER_RATING,OPTIN_TIME,LEID,EUID,NOTES,TAGS'
  const subscribed =
    `${head}\n` +
    'ada@acme.example,Ada,Lovelace,London,5,2020-01-01 00:00:00,1,a,,"""VIP"",""Trade, fair"""\n' +
    'bob@acme.example,Bob,,,2,2020-01-01 00:00:00,2,b,,"""VIP"""\n' +
    'no address,,,,2,2020-01-01 00:00:00,3,c,,\n'
  const unsubscribed =
    `${head},UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_REASON\n` +
    'out@acme.example,Otto,,Oslo,2,2020-01-01 00:00:00,4,d,,,2021-05-06 07:08:09,News,"no, thanks"\n'
  const cleaned =
    `${head},CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID\n` +
    'gone@acme.example,Gus,,,2,2020-01-01 00:00:00,5,e,,,2022-02-03 04:05:06,News,9\n'
  const whole = {
    properties: tally(1, 1),
    segments: tally(2, 2),
    contacts: tally(4, 3, 0, 1),
    suppressions: tally(1, 1),
  }

  test('imports contacts, tags, opt-outs and bounces from Mailchimp’s CSV files once', async () => {
    const files = [
      file('subscribed_email_audience_export_1a.csv', subscribed),
      file('unsubscribed_email_audience_export_1a.csv', unsubscribed),
      file('cleaned_email_audience_export_1a.csv', cleaned),
    ]
    expect(result(await bring('mailchimp', ...files, '--dry-run'))).toMatchObject(whole)
    expect((await json<{ data: [] }>('contact', 'list')).data).toEqual([])
    const printed = result(await bring('mailchimp', ...files))
    expect(printed).toMatchObject(whole)
    expect(said(printed.contacts!.reasons)).toEqual([`${files[0]}, line 4: not an email address`])
    expect(await segments()).toEqual({ VIP: 2, 'Trade, fair': 1 })
    expect(await shown('ada@acme.example')).toMatch(
      /city +London\n[^]*Segments +(VIP, Trade, fair|Trade, fair, VIP)\n/,
    )
    expect(await json('contact', 'show', 'out@acme.example')).toMatchObject({
      unsubscribed: true,
      unsubscribed_by: 'import',
      first_name: 'Otto',
    })
    expect((await json<{ data: object[] }>('suppression', 'list')).data).toMatchObject([
      { email: 'gone@acme.example', origin: 'bounce', created_at: '2022-02-03 04:05:06+00' },
    ])
    expect(result(await bring('mailchimp', ...files))).toMatchObject({
      segments: tally(2, 0, 2),
      contacts: tally(4, 0, 3, 1),
      suppressions: tally(1, 0, 1),
    })
  })

  test('reads a ZIP archive from Mailchimp, and rejects a damaged one', async () => {
    const archive = zip([
      { name: 'unsubscribed_email_audience_export_1a.csv', bytes: Buffer.from(unsubscribed) },
      { name: 'subscribed_email_audience_export_1a.csv', bytes: Buffer.from(subscribed) },
      {
        name: 'nonsubscribed_email_audience_export_1a.csv',
        bytes: Buffer.from(`${head}\nx@acme.example,,,,,,,,,\n`),
      },
      { name: 'readme.txt', bytes: Buffer.from('not read') },
    ])
    const path = file('audience.zip', archive)
    const printed = result(await bring('mailchimp', path))
    expect(printed).toMatchObject({ contacts: tally(5, 3, 0, 2), segments: tally(2, 2) })
    expect(said(printed.contacts!.reasons)).toContain(
      `${path}/nonsubscribed_email_audience_export_1a.csv, line 2: this person never subscribed`,
    )
    const damaged = Buffer.from(archive)
    damaged[60] = damaged[60]! ^ 0xff
    damaged[90] = damaged[90]! ^ 0xff
    const { code, stderr } = await bring('mailchimp', file('damaged.zip', damaged))
    expect(code).toBe(1)
    expect(stderr).toMatch(/damaged\.zip\/unsubscribed_\S+\.csv is damaged/)
    expect((await bring('mailchimp', file('cut.zip', archive.subarray(0, 200)))).stderr).toMatch(
      /cut\.zip is a damaged ZIP archive/,
    )
  })

  test('imports the templates and campaigns of an account export as template drafts', async () => {
    const archive = zip([
      { name: 'lists/subscribed_members_export_1a.csv', bytes: Buffer.from(subscribed) },
      { name: 'reports/aggregate_activity/opens.csv', bytes: Buffer.from('Not,an,audience\n1,2,3\n') },
      { name: 'campaigns.csv', bytes: Buffer.from('Title,Subject\nSpring,Hello\n') },
      { name: 'templates/12_spring.html', bytes: Buffer.from('<p>Hello *|FNAME|* of *|CITY|*</p>') },
      { name: 'campaigns_content/7_news.html', bytes: Buffer.from('<a href="*|UNSUB|*">Leave</a>') },
      { name: 'campaigns_content/7_news.txt', bytes: Buffer.from('For *|EMAIL|*: *|unsub|*') },
    ])
    const path = file('account.zip', archive)
    const printed = result(await bring('mailchimp', path))
    expect(printed).toMatchObject({ contacts: tally(3, 2, 0, 1), templates: tally(2, 2) })
    expect(said(printed.templates!.notes)).toEqual(['12_spring: rewrite before sending: *|CITY|*'])
    const { data } = await json<{ data: { id: string; name: string; status: string }[] }>('template', 'list')
    expect(data.map(({ name, status }) => `${name} ${status}`).toSorted()).toEqual([
      '12_spring draft',
      'Campaign 7_news draft',
    ])
    const idOf = (name: string) => data.find((one) => one.name === name)!.id
    expect(await json('template', 'show', idOf('12_spring'))).toMatchObject({
      html: '<p>Hello {{{contact.first_name}}} of *|CITY|*</p>',
    })
    expect(await json('template', 'show', idOf('Campaign 7_news'))).toMatchObject({
      html: '<a href="{{{UNSUBSCRIBE_URL}}}">Leave</a>',
      text: 'For {{{contact.email}}}: {{{UNSUBSCRIBE_URL}}}',
    })
    expect(result(await bring('mailchimp', path))).toMatchObject({ templates: tally(2, 0, 2) })
  })

  test('rejects a Mailchimp file without the expected columns, and keeps local opt-outs', async () => {
    const { code, stderr } = await bring('mailchimp', file('other.csv', 'email,name\nada@acme.example,Ada\n'))
    expect(code).toBe(1)
    expect(stderr).toMatch(/other\.csv, line 1: expected the columns of a Mailchimp export/)
    await bring('mailchimp', file('unsubscribed_1.csv', unsubscribed))
    const back = unsubscribed.replace(/2021-05-06 07:08:09/, '')
    expect((await bring('mailchimp', file('subscribed_1.csv', back), '--overwrite')).code).toBe(0)
    expect(await json('contact', 'show', 'out@acme.example')).toMatchObject({ unsubscribed: true })
  })
})

describe('import from listmonk', () => {
  const lists = {
    data: { results: [{ id: 1, name: 'Newsletter', type: 'public', optin: 'single', subscriber_count: 3 }] },
  }
  const on = (id: number, name: string, status: string) => ({ id, name, subscription_status: status })
  const subscribers = {
    data: {
      results: [
        {
          email: 'ada@acme.example',
          name: 'Ada King Lovelace',
          status: 'enabled',
          attribs: { city: 'London', projects: 3, good: true, stack: { languages: ['go'] } },
          lists: [on(1, 'Newsletter', 'unconfirmed'), on(2, 'Offers', 'confirmed')],
        },
        {
          email: 'bob@acme.example',
          name: 'Bob',
          status: 'enabled',
          attribs: {},
          lists: [on(1, 'Newsletter', 'unsubscribed'), on(2, 'Offers', 'unconfirmed')],
        },
        { email: 'out@acme.example', name: '', status: 'blocklisted', attribs: {}, lists: [] },
      ],
    },
  }
  const templates = {
    data: [
      {
        id: 1,
        name: 'Frame',
        type: 'campaign',
        body: '<main>{{ template "content" . }}</main><a href="{{ UnsubscribeURL }}?manage=true">Leave</a>{{ TrackView }}',
      },
      {
        id: 2,
        name: 'Receipt',
        type: 'tx',
        subject: 'Order {{ .Tx.Data.order }}',
        body: '<p>{{ .Subscriber.FirstName }}: {{.Tx.Data.total}}</p>',
      },
    ],
  }
  const campaigns = {
    data: {
      results: [
        {
          name: 'Spring',
          subject: 'Hi {{ .Subscriber.FirstName }}',
          from_email: 'Ada <ada@acme.example>',
          body: '<p>{{ .Subscriber.Attribs.city }} costs $& <a href="https://acme.example@TrackLink">x</a></p>',
          content_type: 'richtext',
          status: 'finished',
          template_id: 1,
          lists: [
            { id: 1, name: 'Newsletter' },
            { id: 2, name: 'Offers' },
          ],
        },
        {
          name: 'Clever',
          subject: 'x',
          from_email: 'ada@acme.example',
          body: '{{ if .Subscriber.Attribs.city }}yes{{ end }}',
          content_type: 'plain',
          status: 'draft',
          lists: [{ id: 2, name: 'Offers' }],
        },
        {
          name: 'Lost',
          subject: 'x',
          from_email: 'ada@acme.example',
          body: 'x',
          content_type: 'html',
          lists: [],
        },
      ],
    },
  }

  test('imports lists, subscribers, templates and campaigns from listmonk once', async () => {
    const all = Object.entries({ lists, subscribers, templates, campaigns }).map(([name, value]) =>
      file(`${name}.json`, JSON.stringify(value)),
    )
    const printed = result(await bring('listmonk', ...all))
    expect(printed).toMatchObject({
      properties: tally(4, 4),
      segments: tally(2, 2),
      contacts: tally(3, 3),
      templates: tally(1, 1),
      broadcasts: tally(3, 2, 0, 1),
    })
    expect(await segments()).toEqual({ Newsletter: 1, Offers: 1 })
    expect(await json('contact', 'show', 'ada@acme.example')).toMatchObject({
      first_name: 'Ada',
      last_name: 'King Lovelace',
      properties: {
        city: { value: 'London' },
        projects: { type: 'number', value: 3 },
        good: { value: 'true' },
        stack: { value: '{"languages":["go"]}' },
      },
    })
    expect(await json('contact', 'show', 'out@acme.example')).toMatchObject({ unsubscribed: true })
    expect(said(printed.contacts!.notes)).toEqual([expect.stringMatching(/^1 subscriptions: unconfirmed/)])

    const { data } = await json<{ data: { id: string; name: string; status: string }[] }>('template', 'list')
    expect(await json('template', 'show', data[0]!.id)).toMatchObject({
      status: 'published',
      subject: 'Order {{{order}}}',
      html: '<p>{{{contact.first_name}}}: {{{total}}}</p>',
      variables: [{ key: 'order' }, { key: 'total' }],
    })
    const drafts = await json<{ data: { id: string; name: string; status: string }[] }>('broadcast', 'list')
    expect(drafts.data.map(({ name, status }) => `${name} ${status}`).toSorted()).toEqual([
      'Clever draft',
      'Spring draft',
    ])
    const spring = drafts.data.find(({ name }) => name === 'Spring')!
    expect(await json('broadcast', 'show', spring.id)).toMatchObject({
      subject: 'Hi {{{contact.first_name}}}',
      html: '<main><p>{{{contact.city}}} costs $& <a href="https://acme.example">x</a></p></main><a href="{{{UNSUBSCRIBE_URL}}}">Leave</a>',
    })
    expect(said(printed.broadcasts!.reasons)).toEqual([expect.stringMatching(/^Lost: .*segment_id/)])
    expect(said(printed.broadcasts!.notes)).toEqual(
      expect.arrayContaining([
        'Spring: it goes to one segment, Newsletter; in listmonk it also had Offers',
        'Clever: rewrite before sending: {{ if .Subscriber.Attribs.city }}, {{ end }}',
        '1 broadcast: sent in the hosted service; here a draft, which is not sent',
      ]),
    )
    expect(result(await bring('listmonk', ...all))).toMatchObject({
      contacts: tally(3, 0, 3),
      templates: tally(1, 0, 1),
      broadcasts: tally(3, 0, 2, 1),
    })
  })

  test('imports listmonk’s CSV export of subscribers with their attributes', async () => {
    const csv = file(
      'subscribers.csv',
      'uuid,email,name,attributes,status,created_at,updated_at\n' +
        'u1,ada@acme.example,Ada Lovelace,"{""city"":""London""}",enabled,2020-01-01,2020-01-01\n' +
        'u2,out@acme.example,Otto,{},blocklisted,2020-01-01,2020-01-01\n' +
        'u3,off@acme.example,,not json,disabled,2020-01-01,2020-01-01\n' +
        'u4,no address,,{},enabled,2020-01-01,2020-01-01\n',
    )
    const printed = result(await bring('listmonk', csv))
    expect(printed).toMatchObject({ properties: tally(1, 1), contacts: tally(4, 3, 0, 1) })
    expect(said(printed.contacts!.reasons)).toEqual([`${csv}, line 5: not an email address`])
    expect(said(printed.contacts!.notes)).toEqual([`${csv}, line 4: its attributes are not a JSON object`])
    expect(await json('contact', 'show', 'ada@acme.example')).toMatchObject({
      first_name: 'Ada',
      last_name: 'Lovelace',
      properties: { city: { value: 'London' } },
    })
    for (const email of ['out@acme.example', 'off@acme.example'])
      expect(await json('contact', 'show', email)).toMatchObject({ unsubscribed: true })
  })

  test('rejects files that are not from listmonk', async () => {
    const refusal = async (name: string, content: string) =>
      (await bring('listmonk', file(name, content))).stderr
    expect(await refusal('a.json', '{"data":[{"x":1}]}')).toMatch(
      /a\.json, line 1: expected the answer of listmonk/,
    )
    expect(await refusal('b.json', '{"results":[]}')).toMatch(/b\.json, line 1: expected a field data/)
    expect(await refusal('c.csv', 'email\nx@acme.example\n')).toMatch(
      /c\.csv, line 1: expected the columns of a listmonk/,
    )
    expect(await refusal('d.csv', 'a,b\n1,2\n')).toMatch(/d\.csv, line 1: /)
  })
})
