import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { holdData, launch, openPage, type Watched } from './browser.ts'
import { addMember, givePassword, type Person } from './people.ts'
import { sound } from './sound.ts'

/** Tests what each role can do in the dashboard, and that the appliance refuses everything else to the same session. */

let posthaste: TestAppliance
let browser: Browser

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const shell = (page: Page) => page.getByRole('navigation', { name: 'Main' })

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

async function signedIn(role: 'viewer' | 'developer' | 'admin'): Promise<Watched> {
  const person: Person = { email: `${role}@people.example`, password: `${role}s walk along the quiet quay` }
  await addMember(posthaste, role, person)
  const opened = await openPage(browser)
  await opened.page.goto(at('/emails'))
  await givePassword(opened.page, person)
  await shell(opened.page).waitFor()
  return opened
}

/** Makes a request from within the page, as its scripts do. */
const ask = (page: Page, method: string, path: string, body: unknown = {}) =>
  page.evaluate<{ status: number; message: string }>(`fetch(${JSON.stringify(path)}, {
    method: ${JSON.stringify(method)},
    headers: { 'x-requested-with': 'dashboard', 'content-type': 'application/json' },
    body: ${JSON.stringify(JSON.stringify(body))},
  }).then(async (answer) => ({ status: answer.status, message: (await answer.json()).message }))`)

/** Returns the buttons and links of the page, and of a dialog over it, that are visible and enabled. */
const offered = async (page: Page): Promise<string[]> => {
  const controls = page.locator('main, dialog[open]').locator('a.button:visible, button:visible:enabled')
  return (await controls.allInnerTexts()).map((text) => text.trim()).filter((text) => text !== '')
}

interface Things {
  email: string
  domain: string
  key: string
  webhook: string
  suppression: string
}

/** Creates one object of each kind, so that every page has something to change. */
async function makeThings(): Promise<Things> {
  const made = async (path: string, body: object) =>
    (await posthaste.call<{ id: string }>('POST', path, body)).body.id
  const first = async (path: string) =>
    (await posthaste.call<{ data: { id: string }[] }>('GET', path)).body.data[0]!.id
  return {
    email: await posthaste.send({ to: 'ada@reader.example', scheduled_at: 'in 1 hour' }),
    domain: await first('/domains'),
    key: await first('/api-keys'),
    webhook: await made('/webhooks', { endpoint: 'https://app.example/hooks', events: ['email.sent'] }),
    suppression: await made('/suppressions', { email: 'nobody@reader.example' }),
  }
}

describe('roles', () => {
  let things: Things
  beforeAll(async () => {
    things = await makeThings()
  })

  /** Every page, with words that appear once it has loaded, and the actions that a viewer has there besides viewing. */
  const pages = (): [path: string, words: string | RegExp][] => [
    [`/emails/${things.email}`, 'First attempt in'],
    [`/emails/${things.email}?do=cancel`, 'First attempt in'],
    [`/emails/${things.email}?do=share`, 'First attempt in'],
    ['/queue', 'ada@reader.example'],
    ['/queue?do=drop', 'ada@reader.example'],
    ['/domains', posthaste.domain],
    ['/domains?new=1', posthaste.domain],
    [`/domains/${things.domain}`, 'Zone file'],
    [`/domains/${things.domain}?tab=dkim&do=rotate`, 'These keys sign your mail.'],
    [
      `/domains/${things.domain}?tab=settings&do=delete`,
      'Only developers and above can change these settings.',
    ],
    ['/webhooks?new=1', 'https://app.example/hooks'],
    [`/webhooks/${things.webhook}?do=remove`, 'Only developers and above can edit this webhook'],
    ['/api-keys?new=1', 'Full access'],
    [`/api-keys?key=${things.key}`, 'Only developers and above can rename or delete this key.'],
    [`/api-keys?key=${things.key}&do=delete`, 'Only developers and above can rename or delete this key.'],
    ['/suppressions?import=1', 'nobody@reader.example'],
    [`/suppressions?id=${things.suppression}`, 'Only developers and above can remove it from the list.'],
    ['/settings/team', 'Only owners can change the team name.'],
    ['/settings/members', 'viewer@people.example'],
    ['/settings/members?do=invite', 'viewer@people.example'],
  ]

  test('no page or link offers a viewer any change', async () => {
    const { page, context, errors } = await signedIn('viewer')
    const changing =
      /cancel|reschedule|send again|share|retry|hold|release|drop|check now|rotate|save|delete|rename|add |create|remove|import|suppress|invite|change|edit|replay|test event|disable|enable|make |pause|resume/i
    for (const [path, words] of pages()) {
      await page.goto(at(path))
      await page.locator('main, dialog[open]').getByText(words).first().waitFor()
      expect({ path, offered: (await offered(page)).filter((one) => changing.test(one)) }).toEqual({
        path,
        offered: [],
      })
    }
    await page.goto(at(`/webhooks/${things.webhook}`))
    await page.getByText('No events sent yet. Events appear here as they happen.').waitFor()
    expect(await page.getByRole('checkbox').count()).toBe(0)
    expect(await ask(page, 'POST', `/webhooks/${things.webhook}/replay`, { event_ids: ['msg_1'] })).toEqual({
      status: 403,
      message: expect.stringContaining('developer') as string,
    })

    await page.goto(at(`/domains/${things.domain}?tab=settings`))
    await expect.poll(() => page.getByRole('radio', { name: /^Always/ }).isDisabled()).toBe(true)
    await sound(page, 'viewer-domain-settings')

    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('create api')
    await expect.poll(() => page.getByRole('option', { name: 'Create API key' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    expect(await ask(page, 'POST', '/api-keys', { name: 'mine' })).toEqual({
      status: 403,
      message: expect.stringContaining('developer') as string,
    })
    expect(await ask(page, 'POST', `/emails/${things.email}/cancel`)).toMatchObject({ status: 403 })
    expect(await ask(page, 'DELETE', `/domains/${things.domain}`)).toMatchObject({ status: 403 })
    await page.goto(at('/settings/audit'))
    await page.getByText('Page not found').waitFor()
    expect(errors).toEqual([])
    await context.close()
  })

  test('a developer can change settings, but not members or team rules', async () => {
    const { page, context, errors } = await signedIn('developer')
    await page.goto(at('/api-keys'))
    await page.getByRole('link', { name: 'Create API key' }).waitFor()
    await page.goto(at(`/webhooks/${things.webhook}`))
    await page.getByRole('button', { name: 'Send test event' }).waitFor()
    await page.goto(at('/settings/members'))
    await page.getByText('developer@people.example').first().waitFor()
    await sound(page, 'settings-members-developer')
    await expect.poll(() => page.getByRole('button', { name: 'Invite member' }).isDisabled()).toBe(true)
    await expect.poll(() => page.getByRole('link', { name: /^Remove/ }).count()).toBe(0)
    await expect.poll(() => page.getByRole('combobox', { name: /^Role of/ }).count()).toBe(0)
    await page.goto(at('/settings/team'))
    await page.getByText('Only admins and owners can change this.').waitFor()
    await expect.poll(() => page.getByLabel('Require two-step sign-in').isDisabled()).toBe(true)
    await expect.poll(() => page.getByRole('link', { name: 'Audit' }).count()).toBe(0)
    const refused = { status: 403, message: expect.stringContaining('admin') as string }
    const invited = { email: 'friend@people.example', role: 'owner' }
    expect(await ask(page, 'POST', '/invitations', invited)).toEqual(refused)
    expect(await ask(page, 'PATCH', '/team/security', { mfa_required: true })).toEqual(refused)
    expect(await ask(page, 'POST', '/queue/drop', { all: true, expected_count: 1 })).toEqual(refused)
    expect(errors).toEqual([])
    await context.close()
  })

  test('an admin changes roles but cannot make anyone an owner, and a change applies at once', async () => {
    const { page, context, errors } = await signedIn('admin')
    const lower = await openPage(browser)
    await lower.page.goto(at('/emails'))
    await givePassword(lower.page, {
      email: 'developer@people.example',
      password: 'developers walk along the quiet quay',
    })
    await shell(lower.page).waitFor()

    await page.goto(at('/settings/members'))
    const role = page.getByRole('combobox', { name: 'Role of developer@people.example' })
    await role.waitFor()
    await expect.poll(() => role.locator('option').allInnerTexts()).toEqual(['Admin', 'Developer', 'Viewer'])
    await expect
      .poll(() => page.getByRole('combobox', { name: `Role of ${posthaste.ownerEmail}` }).count())
      .toBe(0)
    await role.selectOption('Viewer')
    await page.getByText('Role of developer@people.example changed to Viewer.').waitFor()
    await sound(page, 'settings-members-admin')
    expect(await ask(lower.page, 'POST', '/api-keys', { name: 'mine' })).toMatchObject({ status: 403 })
    await lower.page.goto(at('/api-keys'))
    await lower.page.getByText('Only developers and above can create API keys.').waitFor()

    const leave = await holdData(lower.page)
    await page.getByRole('link', { name: 'Remove developer@people.example' }).click()
    await page.getByRole('button', { name: 'Remove member' }).click()
    await expect.poll(() => role.count()).toBe(0)
    await lower.page.getByRole('link', { name: 'Domains', exact: true }).click()
    leave()
    await lower.page.getByRole('heading', { name: 'Sign in to Posthaste' }).waitFor()
    expect(errors).toEqual([])
    await context.close()
    await lower.context.close()
  })

  test('the member list is searched by address or role, with the search in the URL', async () => {
    const names = ['amber', 'basil', 'coral', 'delia', 'edwin', 'fiona', 'gideon', 'hazel']
    for (const name of names) {
      const person = { email: `${name}@people.example`, password: `${name} walks along the quiet quay` }
      await addMember(posthaste, 'developer', person)
    }
    const { page, context, errors } = await openPage(browser)
    await page.goto(at('/settings/members'))
    await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
    const rows = page.locator('main tbody tr')
    await page.getByLabel('Find a member').fill('HAZEL developer')
    await page.keyboard.press('Enter')
    await expect.poll(() => rows.allInnerTexts().then((all) => all.length)).toBe(1)
    await rows.getByText('hazel@people.example').waitFor()
    expect(page.url()).toBe(at('/settings/members?q=HAZEL+developer'))
    await sound(page, 'members-found')
    await page.getByRole('link', { name: 'Show all' }).click()
    await page.getByText('gideon@people.example').waitFor()
    expect(errors).toEqual([])
    await context.close()
  })
})
